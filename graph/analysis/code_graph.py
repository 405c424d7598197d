"""The declarations of a repository and what each of them uses, in memory: what analyses of the whole graph work on.

Declarations are numbers, in the order of their ids. Edges to code outside the repository are left out, except for what
decides whether it may call back: the methods of external interfaces that types satisfy.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Final, NamedTuple

from golore.graph.analysis.import_graph import PackageEntry, imported, read_imports
from golore.graph.database.store import Store
from golore.graph.queries.unnamed_interfaces import arity_of, fits, methods_of

OUTSIDE: Final = -1
"""The place of all interfaces that the repository does not declare (see `CONVERTS`)."""
TYPE_KINDS: Final = frozenset(("struct", "interface", "type", "alias"))
_OUTSIDE_TOKEN: Final = "any"
_FROM_OUTSIDE_TOKEN: Final = "<any"


class Declared(NamedTuple):
    """A declaration, a field or an interface method."""

    id: str
    kind: str
    name: str
    qualified_name: str
    package: str
    file: str
    line: int
    owner: int
    """The type of a method, a field or an interface method; -1 for others."""
    exported: bool
    signature: str
    test: bool
    """Whether it is declared in a test file."""


class Conversion(NamedTuple):
    """A declaration converts `source`, a type, an interface or a generic declaration, to `target`. Either end may be
    `OUTSIDE`."""

    source: int
    target: int


class UnresolvedName(NamedTuple):
    name: str
    reason: str
    is_outside: bool
    """Whether it can only be a declaration outside the repository."""


class CodeGraph:
    """Made by `read_code_graph`. Edges are lists by the number of their source."""

    def __init__(self, declared: list[Declared], packages: dict[str, PackageEntry]) -> None:
        self.declared = declared
        self.packages = packages
        self.number = {one.id: number for number, one in enumerate(declared)}
        self.calls: list[list[int]] = [[] for _ in declared]
        self.references: list[list[int]] = [[] for _ in declared]
        self.embeds: list[list[int]] = [[] for _ in declared]
        self.implements: list[list[int]] = [[] for _ in declared]
        self.invokes: dict[int, list[str]] = {}
        """The methods of unnamed interfaces that a declaration calls, by their ids (see `INVOKES`)."""
        self.conversions: dict[int, list[Conversion]] = {}
        self.unresolved: dict[int, list[UnresolvedName]] = {}
        self.called_from_outside: dict[int, frozenset[str]] = {}
        """For each type, the names of the methods that external interfaces require of it."""
        self.embeds_outside: set[int] = set()
        """Types and interfaces that embed a type that the repository does not declare."""
        self.imports: dict[str, set[str]] = {}
        """The packages that each package imports, except in test files."""
        self.test_imports: dict[str, set[str]] = {}
        """The packages that each package imports in test files."""
        self._method_sets: dict[int, dict[str, int]] = {}
        self._implemented: dict[int, frozenset[int]] = {}

    @cached_property
    def members(self) -> dict[int, dict[str, int]]:
        """The methods, fields and interface methods of each type, by name."""
        found: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for number, one in enumerate(self.declared):
            if one.owner >= 0:
                found[one.owner][one.name] = number
        return dict(found)

    @cached_property
    def by_package(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self.declared):
            found[one.package].append(number)
        return dict(found)

    @cached_property
    def methods_by_name(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self.declared):
            if one.kind in ("method", "func", "field", "imethod"):
                found[one.name].append(number)
        return dict(found)

    def method_set(self, type: int) -> dict[str, int]:
        """The methods of a type by name, own and promoted; also those of an embedded interface."""
        known = self._method_sets.get(type)
        if known is None:
            known = self._method_sets[type] = self._collect_methods(type)
        return known

    def _collect_methods(self, type: int) -> dict[str, int]:
        found: dict[str, int] = {}
        hidden: set[str] = set()
        level, seen = [type], {type}
        while level:
            names: dict[str, int] = {}
            for holder in level:
                names.update(self.members.get(holder, {}))
            found |= {
                name: member
                for name, member in names.items()
                if name not in hidden and self.declared[member].kind in ("method", "imethod")
            }
            hidden.update(names)
            level = [one for holder in level for one in self.embeds[holder] if one not in seen]
            seen.update(level)
        return found

    def unnamed_method(self, type: int, required: str) -> int | None:
        """The method of a type that a call of a method of an unnamed interface may run; None if it has another arity,
        or lacks another method of the interface."""
        found = self.method_set(type).get(required.rpartition(".")[2])
        if found is None:
            return None
        one = self.declared[found]
        if not fits(required, one.name, self.packages[one.package].path, arity_of(one.name, one.signature)):
            return None
        names = {name.rpartition(".")[2] for name in methods_of(required)}
        return found if type in self.embeds_outside or names <= self.method_set(type).keys() else None

    def satisfies(self, type: int, interface: int) -> bool:
        """Whether values of a type can be in an interface: by the graph, or where that cannot say, by method names."""
        if interface in self._implemented_by(type):
            return True
        if self._has_implementers[interface] and type not in self._generic:
            return False
        return self.method_set(interface).keys() <= self.method_set(type).keys()

    def _implemented_by(self, type: int) -> frozenset[int]:
        known = self._implemented.get(type)
        if known is None:
            known = self._implemented[type] = frozenset(self.implements[type])
        return known

    @cached_property
    def _has_implementers(self) -> list[bool]:
        found = [False] * len(self.declared)
        for interfaces in self.implements:
            for interface in interfaces:
                found[interface] = True
        return found

    @cached_property
    def _generic(self) -> set[int]:
        """Types with type parameters, for which the graph has no `IMPLEMENTS` edges, and those that embed one."""
        found = {
            number
            for number, one in enumerate(self.declared)
            if one.kind in TYPE_KINDS and _is_generic(one.name, one.signature)
        }
        pending = list(found)
        outer: defaultdict[int, list[int]] = defaultdict(list)
        for number, parts in enumerate(self.embeds):
            for part in parts:
                outer[part].append(number)
        while pending:
            for one in outer[pending.pop()]:
                if one not in found:
                    found.add(one)
                    pending.append(one)
        return found


def _is_generic(name: str, signature: str) -> bool:
    """`type Name[T any] struct`: a bracket follows the name, but not the length of an array or an empty one."""
    rest = signature.partition(name)[2]
    return rest.startswith("[") and " " in rest.partition("]")[0]


def read_code_graph(store: Store) -> CodeGraph:
    declared, places = _read_declared(store)
    links = read_imports(store)
    graph = CodeGraph(declared, links.packages)
    for label, edges in (
        ("CALLS", graph.calls),
        ("REFERENCES", graph.references),
        ("EMBEDS", graph.embeds),
        ("IMPLEMENTS", graph.implements),
    ):
        statement = f"MATCH (a:Symbol)-[:{label}]->(b:Symbol) RETURN offset(id(a)), offset(id(b))"
        sources, targets = _two(store.columns(statement))
        for source, target in zip(sources, targets, strict=True):
            edges[places[source]].append(places[target])
    for number, id in store.rows("MATCH (a:Symbol)-[:INVOKES]->(b:External) RETURN offset(id(a)), b.id"):
        graph.invokes.setdefault(places[number], []).append(id)
    _read_conversions(store, graph, places)
    _read_outside(store, graph)
    _read_unresolved(store, graph)
    graph.imports = imported(one for one in links.imports if not one.test)
    graph.test_imports = imported(one for one in links.imports if one.test)
    return graph


def _two(columns: list[list[int]]) -> tuple[list[int], list[int]]:
    return (columns[0], columns[1]) if columns else ([], [])


def _read_declared(store: Store) -> tuple[list[Declared], dict[int, int]]:
    """The declarations in the order of their ids, and their numbers by the engine's offsets."""
    statement = (
        "MATCH (s:Symbol) RETURN s.id, s.kind, s.name, s.qualified_name, s.package, s.file, s.line, s.owner, "
        "s.exported, s.signature, offset(id(s))"
    )
    rows = sorted(store.rows(statement))
    numbers = {row[0]: number for number, row in enumerate(rows)}
    declared = [
        Declared(id, kind, name, full, package, file, line, numbers.get(owner, -1), exported, signature, is_test(file))
        for id, kind, name, full, package, file, line, owner, exported, signature, _ in rows
    ]
    return declared, {row[-1]: number for number, row in enumerate(rows)}


def is_test(file: str) -> bool:
    return file.endswith("_test.go")


def _read_conversions(store: Store, graph: CodeGraph, places: dict[int, int]) -> None:
    statement = "MATCH (a:Symbol)-[e:CONVERTS]->(b:Symbol) RETURN offset(id(a)), offset(id(b)), e.evidence"
    for by, subject, evidence in store.rows(statement):
        found = graph.conversions.setdefault(places[by], [])
        source = places[subject]
        for token in evidence.split():
            if token == _FROM_OUTSIDE_TOKEN:
                found.append(Conversion(OUTSIDE, source))
            elif token == _OUTSIDE_TOKEN:
                found.append(Conversion(source, OUTSIDE))
            elif token in graph.number:
                found.append(Conversion(source, graph.number[token]))


def _read_outside(store: Store, graph: CodeGraph) -> None:
    names: defaultdict[int, set[str]] = defaultdict(set)
    for id, evidence in store.rows("MATCH (a:Symbol)-[e:IMPLEMENTS]->(:External) RETURN a.id, e.evidence"):
        names[graph.number[id]].update(evidence.split()[1:])
    graph.called_from_outside = {type: frozenset(methods) for type, methods in names.items()}
    for (id,) in store.rows("MATCH (a:Symbol)-[:EMBEDS]->(:External) RETURN DISTINCT a.id"):
        graph.embeds_outside.add(graph.number[id])


def _read_unresolved(store: Store, graph: CodeGraph) -> None:
    for source, name, reason, candidates in store.rows(
        "MATCH (u:Unresolved) RETURN u.source, u.name, u.reason, u.candidates ORDER BY u.id"
    ):
        number = graph.number.get(source)
        if number is not None:
            graph.unresolved.setdefault(number, []).append(UnresolvedName(name, reason, bool(candidates)))
