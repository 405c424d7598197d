"""What runs before any test: what an initialiser reaches, by rapid type analysis (see `type_flow`).

Follows less than `running`: functions only if they are called or in a variable, not if they are other values; and code
outside the repository calls nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import NamedTuple

from golore.graph.analysis.type_flow import ANYWHERE, TypeFlow
from golore.graph.changes.program import Program


class EarlyRunning(NamedTuple):
    reached: frozenset[int]
    has_goal: bool


def run_early(
    program: Program,
    starts: Iterable[int],
    most: int,
    goals: Collection[int] = (),
    towards: Mapping[int, int] = MappingProxyType({}),
) -> EarlyRunning:
    """Follow what runs, until a goal is reached, all is followed, or `most` declarations were visited.

    `towards`: declarations that may lead to a goal, with their distances from it; they are visited first, the nearest
    before others.
    """
    return _Run(program, towards).follow(starts, goals, most)


class _Run:
    def __init__(self, program: Program, towards: Mapping[int, int]) -> None:
        self._program = program
        self._towards = towards
        self._reached: set[int] = set()
        self._flow = TypeFlow[int](lambda type, _: program.type_part(type).methods)
        self._read: set[int] = set()
        """Fields."""
        self._awaiting: dict[int, list[int]] = {}
        """What is used only if a field or variable is read, by that, as long as nobody does."""
        self._near: list[tuple[int, int]] = []
        """A heap: the nearest to a goal first."""
        self._far: list[int] = []

    def follow(self, starts: Iterable[int], goals: Collection[int], most: int) -> EarlyRunning:
        self._add(starts)
        reached, near, far = self._reached, self._near, self._far
        while near or far:
            number = heappop(near)[1] if near else far.pop()
            if number in reached:
                continue
            reached.add(number)
            if number in goals:
                return EarlyRunning(frozenset(reached), True)
            if len(reached) > most:
                break
            self._visit(number)
        return EarlyRunning(frozenset(reached), False)

    def _add(self, numbers: Iterable[int]) -> None:
        reached, towards = self._reached, self._towards
        for number in numbers:
            if number in reached:
                continue
            distance = towards.get(number)
            if distance is None:
                self._far.append(number)
            else:
                heappush(self._near, (distance, number))

    def _visit(self, number: int) -> None:
        program = self._program
        part = program.part(number)
        self._add(part.runs)
        self._add(part.types)
        if number in self._awaiting:
            self._use(self._awaiting.pop(number))
        self._read_fields(part.reads)
        for target, places in part.awaits:
            if any(place == number or place in self._read or place in self._reached for place in places):
                self._use((target,))
            else:
                for place in places:
                    self._awaiting.setdefault(place, []).append(target)
        if part.holds:
            self._add(program.held_early(number))
        for type in part.converts:
            for _, methods in self._flow.arrive(type, ANYWHERE):
                self._add(methods)
        for required in part.requires:
            self._add(self._flow.call(ANYWHERE, required))
        if part.is_reflective:
            for type in part.types:
                self._use(program.exported_members(type))

    def _read_fields(self, fields: Iterable[int]) -> None:
        for field in fields:
            if field not in self._read:
                self._read.add(field)
                if field in self._awaiting:
                    self._use(self._awaiting.pop(field))

    def _use(self, targets: Iterable[int]) -> None:
        """Functions that use these may be called, because the places that they are stored in are read."""
        for target in targets:
            kind = self._program.steps.kind(target)
            if kind == "field":
                self._read_fields((target,))
                continue
            if kind == "imethod":
                self._add(self._flow.call(ANYWHERE, target))
            self._add((target,))
