"""What runs when a test runs: everything that it may reach, by rapid type analysis.

Starting at some declarations, calls and functions used as values are followed. A call through an interface reaches the
methods of those types only of which the code reached so far puts values into interfaces (`CONVERTS`). Code outside
the repository calls the methods of an external interface if it knows the interface (see `_KNOWS`). A package variable
brings in what its initialiser, and the `init` functions that set it, use.

Over-estimates: which interface a value is put into does not matter. Not followed: calls through interfaces without a
name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

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
    program: Program, starts: Iterable[int], goals: Collection[int] = (), most: int = 1 << 30, *, early: bool = False
) -> Running:
    """Follow what runs, until a goal is reached, all is followed, or `most` declarations were visited.

    `early`: what runs before any test. Functions are then followed only if they are called, not as values.
    """
    return _Run(program, goals, most, early=early).follow(starts)


class _Run:
    def __init__(self, program: Program, goals: Collection[int], most: int, *, early: bool) -> None:
        self._program = program
        self._goals = goals
        self._most = most
        self._is_early = early
        self._reached: set[int] = set()
        self._types: dict[int, None] = {}
        self._required: set[int] = set()
        self._outside: set[str] = set()
        self._known: dict[str, bool] = {}
        self._pending: list[int] = []

    def follow(self, starts: Iterable[int]) -> Running:
        self._pending = list(starts)
        reached, goals = self._reached, self._goals
        while self._pending:
            number = self._pending.pop()
            if number in reached:
                continue
            reached.add(number)
            if number in goals:
                return Running(frozenset(reached), True, True)
            if len(reached) > self._most:
                return Running(frozenset(reached), False, False)
            self._visit(number)
        return Running(frozenset(reached), False, True)

    def _visit(self, number: int) -> None:
        part = self._program.part(number)
        pending = self._pending
        pending += part.runs
        pending += part.types
        if not self._is_early:
            pending += part.holds
            if self._program.steps.kind(number) == "var":
                pending += self._program.initialisers(number)
        for type in part.converts:
            if type not in self._types:
                self._add_type(type)
        for required in part.requires:
            if required not in self._required:
                self._required.add(required)
                for type in self._types:
                    found = self._program.type_part(type).methods.get(required)
                    if found is not None:
                        pending.append(found)
        if part.is_reflective:
            for type in part.types:
                pending += self._program.exported_methods(type)
        if not part.outside <= self._outside:
            self._outside |= part.outside
            self._known.clear()
            for type in self._types:
                self._call_from_outside(type)

    def _add_type(self, type: int) -> None:
        self._types[type] = None
        part = self._program.type_part(type)
        self._pending += (method for required, method in part.methods.items() if required in self._required)
        self._call_from_outside(type)

    def _call_from_outside(self, type: int) -> None:
        outside = self._program.type_part(type).outside if not self._is_early else ()
        self._pending += (method for package, method in outside if self._is_called_outside(package))

    def _is_called_outside(self, package: str) -> bool:
        known = self._known.get(package)
        if known is None:
            callers = _KNOWS.get(package)
            known = self._known[package] = bool(self._outside) and (
                callers is None or any(_begins(name, callers) for name in self._outside)
            )
        return known


def _begins(package: str, callers: tuple[str, ...]) -> bool:
    return any(package == caller or (caller and package.startswith(caller)) for caller in callers)
