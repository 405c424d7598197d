"""Declarations as parts of a running program: what each may run, which values it makes, and what it calls outside.

Everything is read from the program file where that is valid, else from the graph, once for each declaration, and kept
for the duration of one question. Symbols are numbers (see `symbol_steps`). What a mention of a type means for calls
through interfaces is decided by `running`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from golore.graph.changes.knots import NO_KNOT
from golore.graph.changes.part import Goals, Onward, Part, Role, TypePart, leads_to, onward_of
from golore.graph.changes.program_drift import NO_DRIFT, program_drift
from golore.graph.changes.program_file import open_program_file
from golore.graph.changes.standard_library import takes_values
from golore.graph.changes.unresolved_candidates import unresolved_candidates
from golore.graph.database.store import Store
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, symbols_where
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.questions import CALLABLE, TYPES
from golore.graph.queries.symbol_steps import Steps

PRINTING: Final = ""
"""Among the packages that a declaration calls: one of them may print values, or handle errors."""
_SILENT: Final = re.compile(
    r"(?:testing|reflect|strings|bytes|sync|sync/atomic|time|strconv|unicode|unicode/utf8|unicode/utf16|math|math/bits"
    r"|os|runtime|cmp|slices|maps|path|path/filepath|regexp|unsafe)\.(?!(?:T|B|F|TB|common)\.Logf?$)"
)
"""External functions that print no values of other packages, `Log` and `Logf` of tests excepted. A failing test prints
values, too, but then it has run."""
_REFLECTIVE: Final = re.compile(
    r"(?:text|html)/template\.Template\.Execute|reflect\.(?:Value|Type)\.Method|net/rpc\.(?:Server\.)?Register"
)
"""External functions that call methods by their names."""
NOWHERE: Final = -1
"""The place of what is barren (see `knots`)."""
GOAL: Final = -2
"""The place of all goals."""
_VALUES: Final = TYPES - {"interface"}
_MOST_INITIALISERS: Final = 300
_MOST_EMBEDDED: Final = 50


class Program:
    """The declarations of an open store. Create one for each question."""

    def __init__(self, store: Store, steps: Steps) -> None:
        self.steps = steps
        self.dispatch = InterfaceDispatch(steps)
        self._store = store
        self._parts: dict[int, Part] = {}
        self._onward: dict[int, Onward] = {}
        self._held_early: dict[int, list[int]] = {}
        self._types: dict[int, TypePart] = {}
        self._initialisers: dict[int, tuple[int, ...]] = {}
        self._awaits: dict[str, list[tuple[str, str]]] | None = None
        """All `RUNS_IF` edges, if they were read at once."""
        self._candidates: Mapping[int, list[int]] | None = None
        self._unnamed: Mapping[int, Mapping[int, int]] | None = None
        adjacency = steps.adjacency
        self._first = 0 if adjacency is None else adjacency.total
        """Numbers from here on are not in the file."""
        self._file = None if adjacency is None else open_program_file(store.directory, adjacency.generation)
        self._knots = 0 if self._file is None else self._file.total_knots
        self._drift = NO_DRIFT
        if self._file is not None:
            self._drift = program_drift(store, steps, self._file, self)
        self._awaited = frozenset[int]() if self._file is None else self._file.awaited() | self._drift.awaited

    def part(self, number: int) -> Part:
        known = self._parts.get(number)
        if known is None:
            if self._file is not None and number < self._first and number not in self._drift.parts:
                known = self._drift.without_gone(self._file.part(number))
            else:
                known = self.read_part(number)
            self._parts[number] = known
        return known

    def held_early(self, number: int) -> list[int]:
        """The functions and variables that a declaration names and that run before any test: functions only if they
        are in a variable."""
        known = self._held_early.get(number)
        if known is None:
            kind = self.steps.kind
            is_variable = kind(number) == "var"
            known = [one for one in self.part(number).holds if is_variable or kind(one) == "var"]
            self._held_early[number] = known
        return known

    # -- knots, for following many runs

    def place(self, number: int) -> int:
        """The knot of a declaration, or a number of its own from `_knots` on; `NOWHERE` if it is barren."""
        if self._file is None or number >= self._first:
            return self._knots + number
        knot = self._file.knots[number]
        if knot == NO_KNOT:
            return self._knots + number if number in self._drift.fertile else NOWHERE
        return self._knots + number if knot in self._drift.untied else knot

    def onward(self, place: int, goals: Goals) -> Onward:
        """What follows from a place. If it leads to one of the goals, it leads to `GOAL`."""
        is_knot = place < self._knots
        if self._file is not None and is_knot and place not in self._drift.knots:
            known = self._onward.get(place)
            if known is None:
                known = self._onward[place] = self._file.onward(place)
            return known
        members = self._file.members(place) if self._file is not None and is_knot else [place - self._knots]
        parts = list(map(self.part, members))
        targets = {one for part in parts for one in leads_to(part)}
        targets.update(one for member in members for one in self.initialisers(member))
        places = (GOAL,) if not targets.isdisjoint(goals.numbers) else {*map(self.place, targets)} - {NOWHERE, place}
        return onward_of(parts, places, self._awaited.intersection(members) if self._file is not None else members)

    def reflected(self, place: int) -> list[int]:
        """The methods and fields that reflection may use at a place."""
        if self._file is None or place >= self._knots:
            members = [place - self._knots]
        else:
            members = [one for one in (*self._file.reflective(), *self._drift.parts) if self.place(one) == place]
        parts = [part for part in map(self.part, members) if part.is_reflective]
        return [member for part in parts for type in part.types for member in self.exported_members(type)]

    def goals(self, numbers: Collection[int]) -> Goals:
        """The declarations with what leads to them, as far as the file knows: all of it that is barren."""
        found = set(numbers)
        pending = list(numbers)
        while pending and self._file is not None:
            number = pending.pop()
            for user in self._file.leading(number) if number < self._first else ():
                if user not in found and user not in self._drift.parts and user not in self._drift.variables:
                    found.add(user)
                    pending.append(user)
        return Goals(frozenset(found), frozenset((GOAL, *map(self.place, found))) - {NOWHERE})

    # -- types and variables

    def type_part(self, type: int) -> TypePart:
        known = self._types.get(type)
        if known is None:
            if self._file is not None and type < self._first and type not in self._drift.types:
                known = self._file.type_part(type)
            else:
                known = self.read_type_part(type)
            unnamed = self.unnamed_methods().get(type)
            if unnamed:
                known = known._replace(methods={**known.methods, **unnamed})
            self._types[type] = known
        return known

    def initialisers(self, variable: int) -> Sequence[int]:
        """The `init` functions, and variables with calls, that may set the variable: an `init` function that names it,
        or what sets it, or calls a function that does, directly or not. None for what is no variable."""
        if self._file is not None and variable < self._first and variable not in self._drift.variables:
            return self._file.initialisers(variable)
        known = self._initialisers.get(variable)
        if known is None:
            known = self._initialisers[variable] = tuple(self.find_initialisers(variable))
        return known

    def exported_members(self, type: int) -> list[int]:
        """The methods and fields of a type that reflection finds, also those of embedded types."""
        steps = self.steps
        level, seen = [type], {type}
        found: list[int] = []
        while level and len(seen) < _MOST_EMBEDDED:
            for holder in level:
                members = [one for one in steps.outbound(holder, "CONTAINS") if steps.kind(one) in ("method", "field")]
                found += [one for one in members if steps.ref(one).name[:1].isupper()]
            embedded = [one for holder in level for one in steps.outbound(holder, "EMBEDS")]
            level = [one for one in embedded if one not in seen and not steps.is_external(one)]
            seen.update(level)
        return found

    def role(self, number: int) -> int:
        """One of `Role`."""
        if self._file is not None and number < self._first and number not in self._drift.parts:
            return self._file.roles[number]
        return self.read_role(number)

    def tests(self) -> list[Ref]:
        """All tests of the repository."""
        if self._file is None:
            return symbols_where(self._store, "s.kind = 'func' AND s.file ENDS WITH '_test.go'")
        changed = [*self._drift.parts, *(one for id in self.steps.drift.new if (one := self.steps.symbol(id)))]
        numbers = [one for one in self._file.tests() if one not in self._drift.parts]
        numbers += [one for one in changed if one not in self._drift.gone and self.read_role(one) == Role.TEST]
        return sorted(map(self.steps.ref, numbers), key=by_location)

    # -- the rules: what the graph says of a declaration

    def read_role(self, number: int) -> Role:
        kind = self.steps.kind(number)
        if kind not in ("func", "var"):
            return Role.NONE
        symbol = self.steps.ref(number)
        if kind == "var":
            return Role.NONE if symbol.owner else Role.INITIALISER
        if symbol.test and is_test_name(symbol.name):
            return Role.TEST_MAIN if symbol.name == "TestMain" else Role.TEST
        return Role.INITIALISER if symbol.name == "init" else Role.NONE

    def read_part(self, number: int) -> Part:
        steps = self.steps
        runs: list[int] = []
        requires: list[int] = []
        outside: set[str] = set()
        is_reflective = False
        awaits = self._read_awaits(number)
        requires += steps.outbound(number, "INVOKES")
        for called in steps.outbound(number, "CALLS"):
            if called in awaits:
                continue
            if steps.kind(called) == "imethod":
                requires.append(called)
            if not steps.is_external(called):
                runs.append(called)
                continue
            symbol = steps.ref(called)
            if takes_values(symbol.package, symbol.id.removeprefix(f"{symbol.package}.")):
                outside.add(symbol.package)
            if not _SILENT.match(symbol.id):
                outside.add(PRINTING)
            is_reflective = is_reflective or _REFLECTIVE.match(symbol.id) is not None
        holds: list[int] = []
        types: list[int] = []
        reads: list[int] = []
        for named in steps.outbound(number, "REFERENCES"):
            kind = steps.kind(named)
            if named in awaits:
                continue
            if kind == "imethod":
                requires.append(named)
            if kind == "field":
                reads.append(named)
            elif kind in TYPES:
                types.append(named)
            elif steps.is_external(named):
                if kind in CALLABLE:
                    outside |= {steps.ref(named).package, PRINTING}
            elif kind in CALLABLE or kind == "var":
                holds.append(named)
        types += steps.outbound(number, "EMBEDS")
        inside = tuple(one for one in types if not steps.is_external(one))
        if self._candidates is None:
            self._candidates = unresolved_candidates(self._store, steps)
        holds += self._candidates.get(number, ())
        converts = tuple(one for one in steps.outbound(number, "CONVERTS") if steps.kind(one) in _VALUES)
        return Part(
            tuple(runs),
            tuple(holds),
            inside,
            converts,
            tuple(requires),
            tuple(reads),
            frozenset(outside),
            is_reflective,
            tuple((target, places) for target, places in awaits.items() if places),
        )

    def _read_awaits(self, number: int) -> dict[int, tuple[int, ...]]:
        """What a declaration uses only if fields or variables are read, with these (see `RUNS_IF`)."""
        steps = self.steps
        if not steps.outbound(number, "RUNS_IF"):
            return {}
        found: dict[int, tuple[int, ...]] = {}
        for id, evidence in self._stored_in(steps.ref(number).id):
            target = steps.symbol(id)
            if target is not None and steps.kind(target) not in TYPES:
                places = map(steps.symbol, evidence.split())
                found[target] = tuple(place for place in places if place is not None)
        return found

    def _stored_in(self, id: str) -> Iterable[tuple[str, str]]:
        """The targets of `RUNS_IF` edges from a declaration, with the evidence."""
        if self._awaits is not None:
            return self._awaits.get(id, ())
        statement = "MATCH (a:Symbol {id: $id})-[e:RUNS_IF]->(b:Symbol) RETURN b.id, e.evidence"
        return [(target, evidence) for target, evidence in self._store.rows(statement, {"id": id})]

    def read_all_awaits(self) -> None:
        """Read all `RUNS_IF` edges at once, for a caller that needs most of them."""
        self._awaits = {}
        for id, target, evidence in self._store.rows(
            "MATCH (a:Symbol)-[e:RUNS_IF]->(b:Symbol) RETURN a.id, b.id, e.evidence"
        ):
            self._awaits.setdefault(id, []).append((target, evidence))

    def read_type_part(self, type: int) -> TypePart:
        """Without unnamed interfaces."""
        steps = self.steps
        methods: dict[int, int] = {}
        outside: list[tuple[str, int]] = []
        has_outside = False
        for interface in steps.outbound(type, "IMPLEMENTS"):
            if steps.is_external(interface):
                has_outside = True
                continue
            for required in steps.outbound(interface, "CONTAINS"):
                found = self.dispatch.method_of(type, steps.ref(required).name)
                if found is not None and found != required:
                    methods[required] = found
        for interface, names in steps.outside_interfaces(type) if has_outside else ():
            for name in sorted(names):
                found = self.dispatch.method_of(type, name)
                if found is None:
                    continue
                outside.append((interface.package, found))
                required = steps.external(f"{interface.id}.{name}")
                if required is not None:
                    methods[required] = found
        if any(package == "" for package, _ in outside):
            outside += self._error_methods(type)
        return TypePart(methods, tuple(outside))

    def unnamed_methods(self) -> Mapping[int, Mapping[int, int]]:
        """For each type, its methods by the methods of unnamed interfaces that they may be called through."""
        if self._unnamed is None:
            is_valid = self._file is not None and self._drift.has_valid_unnamed
            self._unnamed = self._file.unnamed() if self._file is not None and is_valid else self.read_unnamed()
        return self._unnamed

    def read_unnamed(self) -> dict[int, dict[int, int]]:
        found: dict[int, dict[int, int]] = {}
        for required in self.steps.unnamed_methods():
            for method in self.steps.fitting(required):
                for type in self.dispatch.holders(method):
                    if self.dispatch.may_satisfy(type, required):
                        found.setdefault(type, {})[required] = method
        return found

    def _error_methods(self, type: int) -> Iterator[tuple[str, int]]:
        """The methods of an error that the package `errors` calls, through interfaces without a name."""
        for name in ("Unwrap", "Is", "As"):
            found = self.dispatch.method_of(type, name)
            if found is not None:
                yield "errors", found

    def find_initialisers(self, variable: int) -> Iterator[int]:
        if self.steps.kind(variable) != "var":
            return
        steps = self.steps
        named = [one for one in steps.inbound(variable, "REFERENCES") if steps.kind(one) == "func"]
        level = [*steps.inbound(variable, "SETS"), *filter(self._is_initialiser, named)]
        seen, distance = {variable}, 0
        while level and len(seen) < _MOST_INITIALISERS:
            further: list[int] = []
            for number in level:
                if number in seen:
                    continue
                seen.add(number)
                if not self._is_initialiser(number):
                    further += steps.inbound(number, "CALLS")
                elif distance < 2 or steps.kind(number) == "func" or steps.ref(number).name == "_":
                    # Other variables have initialisers for their own values: they register nothing.
                    yield number
            level, distance = further, distance + 1

    def set_early(self, reached: Iterable[int]) -> Iterator[int]:
        """The variables that may be set by what an initialiser reaches."""
        steps = self.steps
        for number in reached:
            yield from steps.outbound(number, "SETS")
            if self._is_initialiser(number):
                yield from (one for one in steps.outbound(number, "REFERENCES") if steps.kind(one) == "var")

    def _is_initialiser(self, number: int) -> bool:
        return self.role(number) == Role.INITIALISER
