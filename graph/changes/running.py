"""What runs when a test runs: everything that it may reach, by rapid type analysis.

Starting at some declarations, calls and functions used as values are followed. A call through an interface reaches the
methods of those types only of which the code reached so far puts values into interfaces (`CONVERTS`). Code outside
the repository calls the methods of an external interface if it knows the interface (see `_KNOWS`). A package variable
brings in what its initialiser, and the `init` functions that set it, use. A function that is stored in a field or
variable runs only if the field or variable is read (`RUNS_IF`).

Many tests are followed at once: every fact, such as "this declaration is reached", has a set of bits, one for each test
that it holds for, and two facts that together lead to a third one do so for the tests that both hold for. So what tests
have in common is followed once.

Over-estimates: which interface a value is put into does not matter. To follow that, as `analysis.reachability` does,
took 1.8 times as long on Kubernetes and excluded almost no test (`benchmarks/RESULTS.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeVar

from golore.graph.changes.part import Goals
from golore.graph.changes.program import NOWHERE, PRINTING, Program
from golore.graph.changes.standard_library import callers_of, is_standard

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
"""For interfaces of these packages, the beginnings of the packages that call their methods. For others, see
`standard_library`."""


class Running(NamedTuple):
    """`found`: the runs, by position, that reach a goal. `unknown`: those that were not followed to the end."""

    found: frozenset[int]
    unknown: frozenset[int]
    visits: int


def run_from(program: Program, starts: Sequence[Iterable[int]], goals: Goals, most: int) -> Running:
    """Follow several runs, given by the declarations that each starts with, until each has reached a goal, all is
    followed, or `most` declarations were visited."""
    return _Run(program, goals).follow(starts, most)


class _Run:
    """Facts have bits, one for each run that they hold for.

    What declarations certainly lead to is followed first. Only then is it found out which methods are called through
    interfaces, for all of it at once, because that takes longer; and so on in turns.
    """

    def __init__(self, program: Program, goals: Goals) -> None:
        self._program = program
        self._goals = goals
        self._alive = self._found = 0
        """The runs that have not reached a goal yet, and those that have."""
        self._reached: dict[int, int] = {}
        self._pending: dict[int, int] = {}
        """The part of `_reached` that was not visited yet. Both are by place (see `Program.place`)."""
        self._queue: list[int] = []
        """A heap of pending places: those that lead to others come before them, so that few are visited twice."""
        self._types: dict[int, int] = {}
        """The types of which values are in interfaces."""
        self._called: dict[int, int] = {}
        """The interface methods that are called."""
        self._outside: dict[frozenset[str], int] = {}
        """The external packages that are called."""
        self._read: dict[int, int] = {}
        """The fields and variables that are read."""
        self._awaits: dict[_Await, int] = {}
        """What is used if one of these is read, with these."""
        self._new_types: dict[int, int] = {}
        self._new_called: dict[int, int] = {}
        self._new_outside: dict[frozenset[str], int] = {}
        self._new_read: dict[int, int] = {}
        self._new_awaits: dict[_Await, int] = {}
        """The parts of these five of which nothing has followed yet."""
        self._awaiting: dict[int, list[_Await]] = {}
        """By field or variable, what is in `_awaits` for it."""
        self._methods: dict[int, list[tuple[int, int]]] = {}
        """By interface method, the types in `_types` that have it, each with its method."""
        self._knowing: dict[str, int] = {}
        """By external package with interfaces: where a package that knows them is called."""
        self._methods_outside: dict[str, list[tuple[int, int]]] = {}
        """By the same package, the types in `_types` that satisfy its interfaces, each with a method."""

    def follow(self, starts: Sequence[Iterable[int]], most: int) -> Running:
        self._alive = (1 << len(starts)) - 1
        for position, numbers in enumerate(starts):
            for number in numbers:
                self._reach(number, 1 << position)
        queue, pending = self._queue, self._pending
        visits = 0
        while queue and self._alive and visits < most:
            place = heappop(queue)
            bits = pending.pop(place) & self._alive
            if bits:
                visits += 1
                self._visit(place, bits)
            while not queue and self._has_news():
                self._dispatch()
        return Running(_positions(self._found), _positions(self._alive if queue else 0), visits)

    def _reach(self, number: int, bits: int) -> None:
        """A declaration is reached."""
        if number in self._goals.numbers:
            self._found |= bits & self._alive
            self._alive &= ~bits
            return
        place = self._program.place(number)
        if place != NOWHERE:
            self._add((place,), bits)

    def _add(self, places: Iterable[int], bits: int) -> None:
        reached, pending, goals = self._reached, self._pending, self._goals.places
        for place in places:
            known = reached.get(place)
            if known is None:
                new = reached[place] = bits
            else:
                new = bits & ~known
                if not new:
                    continue
                reached[place] = known | new
            waiting = pending.get(place)
            if waiting is not None:
                pending[place] = waiting | new
            elif place in goals:
                self._found |= new & self._alive
                self._alive &= ~new
            else:
                pending[place] = new
                heappush(self._queue, place)

    # -- the rules: what follows when a declaration runs

    def _visit(self, place: int, bits: int) -> None:
        leads_to, converts, requires, reads, outside, is_reflective, awaits = self._program.onward(place, self._goals)
        self._add(leads_to, bits)
        for type in converts:
            _note(self._types, self._new_types, type, bits)
        for required in requires:
            _note(self._called, self._new_called, required, bits)
        for field in reads:
            _note(self._read, self._new_read, field, bits)
        for one in awaits:
            _note(self._awaits, self._new_awaits, one, bits)
        if outside:
            _note(self._outside, self._new_outside, outside, bits)
        if is_reflective:
            for member in self._program.reflected(place):
                self._use(member, bits)

    def _has_news(self) -> bool:
        return bool(self._new_types or self._new_called or self._new_outside or self._new_read or self._new_awaits)

    def _dispatch(self) -> None:
        """Add what follows from two facts together, as far as that is new: methods that are called through interfaces,
        and functions that are stored and read."""
        types, called, outside = self._new_types, self._new_called, self._new_outside
        read, awaits = self._new_read, self._new_awaits
        self._new_types, self._new_called, self._new_outside, self._new_read, self._new_awaits = {}, {}, {}, {}, {}
        for one, bits in awaits.items():
            self._await(one, bits & self._alive, is_first=bits == self._awaits[one])
        for field, bits in read.items():
            for one in self._awaiting.get(field, ()):
                self._use(one[0], self._awaits[one] & bits & self._alive)
        for packages, bits in outside.items():
            self._call_outside(packages, bits & self._alive)
        for required, bits in called.items():
            for type, method in self._methods.get(required, ()):
                both = self._types[type] & bits & self._alive
                if both:
                    self._reach(method, both)
        for type, bits in types.items():
            self._convert(type, bits & self._alive, is_first=bits == self._types[type])

    def _await(self, one: _Await, bits: int, *, is_first: bool) -> None:
        target, places = one
        read = 0
        for place in places:
            if is_first:
                self._awaiting.setdefault(place, []).append(one)
            read |= self._read.get(place, 0)
        self._use(target, read & bits)

    def _use(self, target: int, bits: int) -> None:
        """Functions that use this may be called, because a place that they are stored in is read, or reflection uses
        it itself."""
        if not bits:
            return
        kind = self._program.steps.kind(target)
        if kind == "field":
            _note(self._read, self._new_read, target, bits)
            return
        if kind == "imethod":
            _note(self._called, self._new_called, target, bits)
        self._reach(target, bits)

    def _convert(self, type: int, bits: int, *, is_first: bool) -> None:
        part = self._program.type_part(type)
        for required, method in part.methods.items():
            if is_first:
                self._methods.setdefault(required, []).append((type, method))
            both = self._called.get(required, 0) & bits
            if both:
                self._reach(method, both)
        for package, method in part.outside:
            if is_first:
                self._methods_outside.setdefault(package, []).append((type, method))
            both = self._calls_to(package) & bits
            if both:
                self._reach(method, both)

    def _call_outside(self, packages: frozenset[str], bits: int) -> None:
        for package, before in self._knowing.items():
            new = bits & ~before
            if new and any(_knows(one, package) for one in packages):
                self._knowing[package] = before | new
                for type, method in self._methods_outside.get(package, ()):
                    both = self._types[type] & new
                    if both:
                        self._reach(method, both)

    def _calls_to(self, package: str) -> int:
        """Where an external package is called that knows the interfaces of this one."""
        known = self._knowing.get(package)
        if known is None:
            known = 0
            for packages, bits in self._outside.items():
                if any(_knows(one, package) for one in packages):
                    known |= bits
            self._knowing[package] = known
        return known


_Key = TypeVar("_Key")
_Await = tuple[int, tuple[int, ...]]


def _note(known: dict[_Key, int], new: dict[_Key, int], key: _Key, bits: int) -> None:
    """Let a fact hold for more runs."""
    before = known.get(key, 0)
    added = bits & ~before
    if added:
        known[key] = before | added
        new[key] = new.get(key, 0) | added


@lru_cache(maxsize=1 << 14)
def _knows(package: str, interfaces: str) -> bool:
    """Whether an external package may call the methods of the interfaces of another one."""
    callers = _KNOWS.get(interfaces)
    if callers is not None:
        return any(package == one or (one and package.startswith(one)) for one in callers)
    among = callers_of(interfaces)
    return among is None or package in among or not is_standard(package)


def _positions(bits: int) -> frozenset[int]:
    """The positions of the bits that are set."""
    text = f"{bits:b}"
    return frozenset(len(text) - 1 - at for at, digit in enumerate(text) if digit == "1")
