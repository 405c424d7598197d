"""Declarations as parts of a running program: what each may run, which values it makes, and what it calls outside.

Everything is read from the graph, once for each declaration, and kept for the duration of one question. Symbols are
numbers (see `symbol_steps`). What a mention of a type means for calls through interfaces is decided by `running`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.graph.database.store import Store
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
_VALUES: Final = TYPES - {"interface"}
_MOST_INITIALISERS: Final = 300
_MOST_EMBEDDED: Final = 50


class Part(NamedTuple):
    """What a declaration uses. `runs`: what it calls. `holds`: functions and variables that it names as values.
    `types`: those that it names. `converts`: those of which it puts values into interfaces. `requires`: the interface
    methods that it calls. `outside`: the external packages that it calls (see `PRINTING`)."""

    runs: tuple[int, ...]
    holds: tuple[int, ...]
    types: tuple[int, ...]
    converts: tuple[int, ...]
    requires: tuple[int, ...]
    outside: frozenset[str]
    is_reflective: bool


class TypePart(NamedTuple):
    """The methods of a type that others may call without naming them.

    `methods`: by the interface method through which they are called. `outside`: those of external interfaces, each with
    the package of the interface.
    """

    methods: dict[int, int]
    outside: tuple[tuple[str, int], ...]


class Program:
    """The declarations of an open store. Create one for each question."""

    def __init__(self, store: Store, steps: Steps) -> None:
        self.steps = steps
        self.dispatch = InterfaceDispatch(steps)
        self._store = store
        self._parts: dict[int, Part] = {}
        self._types: dict[int, TypePart] = {}
        self._initialisers: dict[int, tuple[int, ...]] = {}
        self._candidates: dict[int, list[int]] | None = None
        self._unnamed: dict[int, dict[int, int]] | None = None

    def part(self, number: int) -> Part:
        known = self._parts.get(number)
        if known is None:
            known = self._parts[number] = self._read_part(number)
        return known

    def type_part(self, type: int) -> TypePart:
        known = self._types.get(type)
        if known is None:
            known = self._types[type] = self._read_type(type)
        return known

    def initialisers(self, variable: int) -> tuple[int, ...]:
        """The `init` functions, and variables with calls, that may set the variable: they name it, or call a function
        that names it."""
        known = self._initialisers.get(variable)
        if known is None:
            known = self._initialisers[variable] = tuple(self._find_initialisers(variable))
        return known

    def exported_methods(self, type: int) -> list[int]:
        """The methods of a type that reflection finds, also those of embedded types."""
        steps = self.steps
        level, seen = [type], {type}
        found: list[int] = []
        while level and len(seen) < _MOST_EMBEDDED:
            for holder in level:
                members = steps.outbound(holder, "CONTAINS")
                found += [one for one in members if steps.kind(one) == "method" and steps.ref(one).name[:1].isupper()]
            embedded = [one for holder in level for one in steps.outbound(holder, "EMBEDS")]
            level = [one for one in embedded if one not in seen and not steps.is_external(one)]
            seen.update(level)
        return found

    def unresolved_candidates(self, number: int) -> list[int]:
        """The possible targets of uses in a declaration that could not be resolved."""
        if self._candidates is None:
            self._candidates = {}
            statement = "MATCH (u:Unresolved) WHERE size(u.candidates) > 0 RETURN u.source, u.candidates"
            for source, ids in self._store.rows(statement):
                user = self.steps.symbol(source)
                targets = [target for id in ids if (target := self.steps.symbol(id)) is not None]
                if user is not None and targets:
                    self._candidates.setdefault(user, []).extend(targets)
        return self._candidates.get(number, [])

    def is_initialiser(self, number: int) -> bool:
        """Whether Go runs it before any test: an `init` function, or the value of a package variable."""
        steps = self.steps
        kind = steps.kind(number)
        return (kind == "func" and steps.ref(number).name == "init") or (kind == "var" and not steps.ref(number).owner)

    def _read_part(self, number: int) -> Part:
        steps = self.steps
        runs: list[int] = []
        requires: list[int] = []
        outside: set[str] = set()
        is_reflective = False
        requires += steps.outbound(number, "INVOKES")
        for called in steps.outbound(number, "CALLS"):
            if steps.kind(called) == "imethod":
                requires.append(called)
            if not steps.is_external(called):
                runs.append(called)
                continue
            symbol = steps.ref(called)
            outside.add(symbol.package)
            if not _SILENT.match(symbol.id):
                outside.add(PRINTING)
            is_reflective = is_reflective or _REFLECTIVE.match(symbol.id) is not None
        holds: list[int] = []
        types: list[int] = []
        for named in steps.outbound(number, "REFERENCES"):
            kind = steps.kind(named)
            if kind in TYPES:
                types.append(named)
            elif steps.is_external(named):
                if kind in CALLABLE:
                    outside |= {steps.ref(named).package, PRINTING}
            elif kind in CALLABLE or kind == "var":
                holds.append(named)
        types += steps.outbound(number, "EMBEDS")
        inside = tuple(one for one in types if not steps.is_external(one))
        holds += self.unresolved_candidates(number)
        converts = tuple(one for one in steps.outbound(number, "CONVERTS") if steps.kind(one) in _VALUES)
        return Part(tuple(runs), tuple(holds), inside, converts, tuple(requires), frozenset(outside), is_reflective)

    def _read_type(self, type: int) -> TypePart:
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
        methods |= self._unnamed_methods().get(type, {})
        if any(package == "" for package, _ in outside):
            outside += self._error_methods(type)
        return TypePart(methods, tuple(outside))

    def _unnamed_methods(self) -> dict[int, dict[int, int]]:
        """For each type, its methods by the methods of unnamed interfaces that they may be called through."""
        if self._unnamed is None:
            self._unnamed = {}
            for required in self.steps.unnamed_methods():
                for method in self.steps.fitting(required):
                    for type in self.dispatch.holders(method):
                        if self.dispatch.may_satisfy(type, required):
                            self._unnamed.setdefault(type, {})[required] = method
        return self._unnamed

    def _error_methods(self, type: int) -> Iterator[tuple[str, int]]:
        """The methods of an error that the package `errors` calls, through interfaces without a name."""
        for name in ("Unwrap", "Is", "As"):
            found = self.dispatch.method_of(type, name)
            if found is not None:
                yield "errors", found

    def _find_initialisers(self, variable: int) -> Iterator[int]:
        level, seen = list(self.steps.inbound(variable, "REFERENCES")), {variable}
        while level and len(seen) < _MOST_INITIALISERS:
            further: list[int] = []
            for number in level:
                if number in seen:
                    continue
                seen.add(number)
                if self.is_initialiser(number):
                    yield number
                else:
                    further += self.steps.inbound(number, "CALLS")
            level = further
