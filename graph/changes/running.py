"""What runs when a test runs: everything that it may reach, by rapid type analysis (see `type_flow`).

Starting at some declarations, calls and functions used as values are followed. A call through an interface reaches the
methods of those types only of which the code reached so far puts values into interfaces (`CONVERTS`). Code outside
the repository calls the methods of an external interface if it knows the interface (see `_KNOWS`). A package variable
brings in what its initialiser, and the `init` functions that set it, use.

Over-estimates: which interface a value is put into does not matter. To follow that, as `analysis.reachability` does,
took 1.8 times as long on Kubernetes and excluded almost no test (`benchmarks/RESULTS.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Final, NamedTuple

from golore.graph.analysis.type_flow import ANYWHERE, TypeFlow
from golore.graph.changes.program import PRINTING, Program

_KNOWS: Final = {
    "": (PRINTING,),
    "fmt": (PRINTING,),
    "errors": ("errors", PRINTING),
    "sort": ("sort", "container/heap"),
    "container/heap": ("container/heap",),
    "flag": ("flag",),
    "encoding": ("encoding/", "flag", "log/slog", "expvar", "text/template", "html/template"),
    "encoding/json": ("encoding/json", "log/slog", "expvar"),
    "encoding/xml": ("encoding/xml",),
    "encoding/gob": ("encoding/gob", "net/rpc"),
    "net/http": ("net/http",),
    "database/sql": ("database/sql",),
    "database/sql/driver": ("database/sql",),
    "expvar": ("expvar",),
    "image": ("image",),
}
"""For interfaces of these packages, the beginnings of the packages that call their methods. Any other external
interface may be called by any external package."""


class Running(NamedTuple):
    """`is_complete`: all was followed, or one of the goals was found."""

    reached: frozenset[int]
    has_goal: bool
    is_complete: bool


def run_from(
    program: Program,
    starts: Iterable[int],
    goals: Collection[int] = (),
    towards: Mapping[int, int] = MappingProxyType({}),
    most: int = 1 << 30,
    *,
    early: bool = False,
    straight: bool = False,
) -> Running:
    """Follow what runs, until a goal is reached, all is followed, or `most` declarations were visited.

    `towards`: declarations that may lead to a goal, with their distances from it; they are visited first, the nearest
    before others, and with `straight`, nothing else is.
    `early`: what runs before any test.
    Functions are then followed only if they are called or in a variable, not if they are other values.
    """
    return _Run(program, goals, towards, most, early=early).follow(starts, straight=straight)


class _Run:
    def __init__(
        self, program: Program, goals: Collection[int], towards: Mapping[int, int], most: int, *, early: bool
    ) -> None:
        self._program = program
        self._goals = goals
        self._towards = towards
        self._most = most
        self._is_early = early
        self._reached: set[int] = set()
        self._flow = TypeFlow[int](lambda type, _: program.type_part(type).methods)
        self._outside: set[str] = set()
        self._waiting: dict[str, list[int]] = {}
        """The methods that code outside may call, by the package of the interface, as long as none knows it."""
        self._near: list[tuple[int, int]] = []
        """A heap: the nearest to a goal first."""
        self._far: list[int] = []

    def follow(self, starts: Iterable[int], *, straight: bool) -> Running:
        self._add(starts)
        reached, goals, near, far = self._reached, self._goals, self._near, self._far
        while near or (far and not straight):
            number = heappop(near)[1] if near else far.pop()
            if number in reached:
                continue
            reached.add(number)
            if number in goals:
                return Running(frozenset(reached), True, True)
            if len(reached) > self._most:
                return Running(frozenset(reached), False, False)
            self._visit(number)
        return Running(frozenset(reached), False, not far)

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
        kind = program.steps.kind
        is_variable = kind(number) == "var"
        if not self._is_early:
            self._add(part.holds)
            if is_variable:
                self._add(program.initialisers(number))
        elif is_variable:
            self._add(part.holds)
        else:
            self._add(one for one in part.holds if kind(one) == "var")
        for type in part.converts:
            for _, methods in self._flow.arrive(type, ANYWHERE):
                self._add(methods)
                self._add_outside(type)
        for required in part.requires:
            self._add(self._flow.call(ANYWHERE, required))
        if part.is_reflective:
            for type in part.types:
                self._add(program.exported_methods(type))
        if not part.outside <= self._outside:
            self._outside |= part.outside
            for package in [one for one in self._waiting if self._is_called_outside(one)]:
                self._add(self._waiting.pop(package))

    def _add_outside(self, type: int) -> None:
        for package, method in self._program.type_part(type).outside if not self._is_early else ():
            if self._is_called_outside(package):
                self._add((method,))
            else:
                self._waiting.setdefault(package, []).append(method)

    def _is_called_outside(self, package: str) -> bool:
        callers = _KNOWS.get(package)
        if callers is None:
            return bool(self._outside)
        return any(_begins(name, callers) for name in self._outside)


def _begins(package: str, callers: tuple[str, ...]) -> bool:
    return any(package == caller or (caller and package.startswith(caller)) for caller in callers)
