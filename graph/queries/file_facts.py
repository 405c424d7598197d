"""What the graph knows about one file, for its card: who uses it, what it satisfies, which tests reach it.

`WholeGraph` reads the graph once, column by column, for the cards of all files; `SingleFile` queries the neighbourhood
of one file. Both return the same facts. Uses inside the file do not count: they can be read there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import RELATIONS, USES

MEMBERS: Final = ("method", "imethod", "field")
_NO_COUNTS: Final[Mapping[str, int]] = {}
Row = list[Any]
_SYMBOL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.qualified_name, {0}.file, {0}.line, {0}.exported, {0}.package"
_EXTERNAL_COLUMNS: Final = "{0}.kind, {0}.name, {0}.id, {0}.package"


class CardSymbol(NamedTuple):
    """A declaration as cards name it: `local` as in its own package (Memory.Save), `short` as in other packages
    (store.Memory.Save). An external one has no file."""

    kind: str
    name: str
    qualified_name: str
    file: str
    line: int
    exported: bool
    local: str
    short: str

    @property
    def test(self) -> bool:
        return self.file.endswith("_test.go")


class CardSymbolFactory:
    """Creates `CardSymbol`s from rows. Reads the packages' names, which may differ from the last part of their path."""

    def __init__(self, store: Store) -> None:
        self._known: dict[str, tuple[int, str]] = {
            id: (len(path) + 1, name) for id, path, name in store.rows("MATCH (p:Package) RETURN p.id, p.path, p.name")
        }

    def named(
        self, kind: str, name: str, qualified_name: str, file: str, line: int, exported: bool, package: str
    ) -> CardSymbol:
        start, short = self._known[package]
        local = qualified_name[start:]
        return CardSymbol(kind, name, qualified_name, file, line, exported, local, f"{short}.{local}")

    def outside(self, kind: str, name: str, id: str, package: str) -> CardSymbol:
        local = id.removeprefix(package).lstrip(".")
        short = f"{package.rpartition('/')[2]}.{local}" if package and local else local or id
        return CardSymbol(kind, name, id, "", 0, True, local, short)


class Use(NamedTuple):
    """A use of a declaration of the file in another file. `sites` are lines of the other file, as in "12 40"."""

    label: str
    target: CardSymbol
    source: CardSymbol
    sites: str

    @property
    def line(self) -> int:
        """The first site; if there is none, the line where the user is declared."""
        return int(self.sites.partition(" ")[0]) if self.sites else self.source.line


class Reach(NamedTuple):
    """A method of the file that may run when the interface method `through`, which has `callers` callers, is called."""

    method: CardSymbol
    through: CardSymbol
    callers: int


class UnresolvedName(NamedTuple):
    """The unresolved uses of a name in the file, with one reason: the number of their sites."""

    name: str
    reason: str
    sites: int


class FileFacts(NamedTuple):
    path: str
    digest: str
    package: str
    test: bool
    generated: bool
    symbols: tuple[CardSymbol, ...]
    uses: tuple[Use, ...]
    tests: tuple[tuple[CardSymbol, CardSymbol], ...]
    """tests in other files, with the declarations of this file that they reach"""
    tested: tuple[tuple[CardSymbol, CardSymbol], ...]
    """tests in this file, with the declarations of other files that they reach"""
    satisfies: tuple[tuple[CardSymbol, CardSymbol], ...]
    """types of this file, with the interfaces that they satisfy"""
    satisfied: tuple[tuple[CardSymbol, CardSymbol], ...]
    """interfaces of this file, with the types that satisfy them, also those of this file"""
    candidate_calls: tuple[Reach, ...]
    outside_calls: tuple[tuple[CardSymbol, CardSymbol], ...]
    """methods of this file, with the external interfaces that require them and that their types satisfy"""
    calls: Mapping[str, int]
    """other file → number of `CALLS` edges from this file"""
    unresolved: tuple[UnresolvedName, ...]
    same_named_unresolved: tuple[tuple[str, int], ...]
    """name of a method or field → number of unresolved uses of that name in other files, without candidates"""


class _FactsBuilder:
    """Collects the facts of one file."""

    __slots__ = (
        "calls",
        "exercised",
        "outside",
        "reached",
        "satisfied",
        "satisfies",
        "symbols",
        "tests",
        "unresolved",
        "uses",
    )

    def __init__(self) -> None:
        self.symbols: list[CardSymbol] = []
        self.uses: list[Use] = []
        self.tests: list[tuple[CardSymbol, CardSymbol]] = []
        self.exercised: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfies: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfied: list[tuple[CardSymbol, CardSymbol]] = []
        self.reached: list[Reach] = []
        self.outside: list[tuple[CardSymbol, CardSymbol]] = []
        self.calls: Counter[str] = Counter()
        self.unresolved: list[UnresolvedName] = []

    def build(
        self, path: str, file_row: tuple[str, str, bool, bool], doubts: Mapping[str, Mapping[str, int]]
    ) -> FileFacts:
        digest, package, test, generated = file_row
        names = sorted({symbol.name for symbol in self.symbols if symbol.kind in MEMBERS})
        elsewhere = [
            (name, sum(n for file, n in doubts.get(name, _NO_COUNTS).items() if file != path)) for name in names
        ]
        return FileFacts(
            path,
            digest,
            package,
            test,
            generated,
            tuple(sorted(self.symbols, key=lambda symbol: (symbol.line, symbol.name))),
            tuple(self.uses),
            tuple(sorted(set(self.tests))),
            tuple(sorted(set(self.exercised))),
            tuple(sorted(set(self.satisfies))),
            tuple(sorted(set(self.satisfied))),
            tuple(sorted(set(self.reached))),
            tuple(sorted(set(self.outside))),
            self.calls,
            tuple(sorted(self.unresolved)),
            tuple((name, number) for name, number in elsewhere if number),
        )

    def add_edge(self, label: str, source: CardSymbol, target: CardSymbol, sites: str | None, path: str) -> None:
        """Add an edge between the file `path` and another file."""
        if target.file == path:
            if label in USES:
                self.uses.append(Use(label, target, source, sites or ""))
            elif label == "TESTS":
                self.tests.append((source, target))
            elif label == "IMPLEMENTS":
                self.satisfied.append((target, source))
        elif source.file == path:
            if label == "CALLS":
                self.calls[target.file] += 1
            elif label == "TESTS":
                self.exercised.append((source, target))


class WholeGraph:
    """The whole graph in memory. `files` maps a path to the digest, package, test and generated of the file."""

    def __init__(self, store: Store) -> None:
        rows = store.columns("MATCH (f:File) RETURN f.id, f.digest, f.package, f.test, f.generated")
        self.files: dict[str, tuple[str, str, bool, bool]] = {
            path: (digest, package, test, generated) for path, digest, package, test, generated in _rows(rows)
        }
        packages = CardSymbolFactory(store)
        self._symbols = _all_symbols(store, packages)
        self._builders: defaultdict[str, _FactsBuilder] = defaultdict(_FactsBuilder)
        self.uses: dict[tuple[str, str], int] = {}
        """(user, used) → number of uses of one file by another"""
        for symbol in self._symbols.values():
            self._builders[symbol.file].symbols.append(symbol)
        callers: Counter[int] = Counter()
        for label in USES:
            self._add_uses(store, label, callers)
        self._count_uses()
        self._add_tests(store)
        self._add_interfaces(store, callers, packages)
        columns = store.columns("MATCH (u:Unresolved) RETURN u.file, u.name, u.reason, u.sites, size(u.candidates)")
        self._doubts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for file, name, reason, sites, candidates in _rows(columns):
            self._builders[file].unresolved.append(UnresolvedName(name, reason, len(sites.split())))
            if not candidates:
                self._doubts[name][file] += len(sites.split())

    def facts(self, path: str) -> FileFacts:
        return self._builders[path].build(path, self.files[path], self._doubts)

    def _add_uses(self, store: Store, label: str, callers: Counter[int]) -> None:
        symbols, builders, is_call = self._symbols, self._builders, label == "CALLS"
        for source_at, target_at, sites in _edges(store, label):
            source, target = symbols[source_at], symbols[target_at]
            if is_call and target.kind == "imethod":
                callers[target_at] += 1
            if source.file != target.file:
                builders[target.file].uses.append(Use(label, target, source, sites))

    def _count_uses(self) -> None:
        """Count by file, which is quicker than by edge."""
        for used, builder in list(self._builders.items()):
            for user, number in Counter([use.source.file for use in builder.uses]).items():
                self.uses[user, used] = number
            for user, number in Counter([use.source.file for use in builder.uses if use.label == "CALLS"]).items():
                self._builders[user].calls[used] = number

    def _add_tests(self, store: Store) -> None:
        for source_at, target_at, _ in _edges(store, "TESTS"):
            test, target = self._symbols[source_at], self._symbols[target_at]
            if test.file != target.file:
                self._builders[target.file].tests.append((test, target))
                self._builders[test.file].exercised.append((test, target))

    def _add_interfaces(self, store: Store, callers: Counter[int], packages: CardSymbolFactory) -> None:
        symbols = self._symbols
        outside = store.columns(
            "MATCH (a:Symbol)-[e:IMPLEMENTS]->(b:External) "
            f"RETURN offset(id(a)), e.evidence, {_EXTERNAL_COLUMNS.format('b')}"
        )
        required: list[tuple[CardSymbol, str, CardSymbol]] = []
        for at, evidence, *row in _rows(outside):
            interface = packages.outside(*row)
            self._builders[symbols[at].file].satisfies.append((symbols[at], interface))
            required += [(symbols[at], name, interface) for name in evidence.split()[1:]]
        inside = store.columns("MATCH (a:Symbol)-[:IMPLEMENTS]->(b:Symbol) RETURN offset(id(a)), offset(id(b))")
        methods: defaultdict[str, list[int]] = defaultdict(list)
        by_name: defaultdict[str, list[CardSymbol]] = defaultdict(list)
        for at, symbol in symbols.items():
            if symbol.kind == "imethod" and callers[at]:
                methods[symbol.qualified_name.rpartition(".")[0]].append(at)
            elif symbol.kind == "method":
                by_name[symbol.qualified_name].append(symbol)
        for type_at, interface_at in _rows(inside):
            kind, interface = symbols[type_at], symbols[interface_at]
            self._builders[kind.file].satisfies.append((kind, interface))
            self._builders[interface.file].satisfied.append((interface, kind))
            for at in methods.get(interface.qualified_name, ()):
                for method in _methods_named(by_name, kind, symbols[at].name):
                    self._builders[method.file].reached.append(Reach(method, symbols[at], callers[at]))
        for kind, name, interface in required:
            for method in _methods_named(by_name, kind, name):
                self._builders[method.file].outside.append((method, interface))


class SingleFile:
    """One file at a time, by queries that start at its symbols: milliseconds at any size of the repository."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._packages = CardSymbolFactory(store)
        self._methods_by_interface: dict[str, list[tuple[CardSymbol, int]]] = {}

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if the graph has no such file."""
        statement = "MATCH (f:File {id: $id}) RETURN f.digest, f.package, f.test, f.generated"
        rows = list(self._store.rows(statement, {"id": path}))
        if not rows:
            return None
        builder = _FactsBuilder()
        methods: defaultdict[str, dict[str, CardSymbol]] = defaultdict(dict)
        own: dict[str, CardSymbol] = {}
        owners: dict[str, None] = {}
        for id, owner, *columns in self._declared(path):
            own[id] = symbol = self._packages.named(*columns)
            builder.symbols.append(symbol)
            if symbol.kind == "method":
                methods[owner][symbol.name] = symbol
            elif owner:
                owners[owner] = None
        self._add_inbound(builder, own, owners, path)
        self._add_outbound(builder, own, path)
        for owner, named in methods.items():
            for interface_method, callers in self._interface_methods(owner):
                if interface_method.name in named:
                    builder.reached.append(Reach(named[interface_method.name], interface_method, callers))
            for interface, required in self._outside_interfaces(owner):
                builder.outside += [(named[name], interface) for name in required if name in named]
        statement = "MATCH (u:Unresolved) WHERE u.file = $file RETURN u.name, u.reason, u.sites"
        for name, reason, sites in self._store.rows(statement, {"file": path}):
            builder.unresolved.append(UnresolvedName(name, reason, len(sites.split())))
        digest, package, test, generated = rows[0]
        return builder.build(path, (digest, package, test, generated), self._doubts(builder))

    def _doubts(self, builder: _FactsBuilder) -> dict[str, Counter[str]]:
        names = sorted({symbol.name for symbol in builder.symbols if symbol.kind in MEMBERS})
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        statement = (
            "MATCH (u:Unresolved) WHERE u.name IN $names AND size(u.candidates) = 0 RETURN u.name, u.file, u.sites"
        )
        for name, file, sites in self._store.rows(statement, {"names": names}) if names else ():
            found[name][file] += len(sites.split())
        return found

    def _declared(self, path: str) -> Iterator[Row]:
        """The file's declarations, and the fields and interface methods of its types: id, owner, symbol columns."""
        columns = f"s.id, s.owner, {_SYMBOL_COLUMNS.format('s')}"
        statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {columns}"
        yield from self._store.rows(statement, {"id": path})
        pattern = "MATCH (f:File {id: $id})-[:CONTAINS]->(:Symbol)"
        while True:
            members = list(self._store.rows(f"{pattern}-[:CONTAINS]->(s:Symbol) RETURN {columns}", {"id": path}))
            if not members:
                return
            yield from (member for member in members if member[2] in ("field", "imethod"))
            pattern += "-[:CONTAINS]->(:Symbol)"

    def _add_inbound(
        self, builder: _FactsBuilder, own: Mapping[str, CardSymbol], owners: Iterable[str], path: str
    ) -> None:
        """Add the uses of the file's declarations. One query for all declarations and one for the members of each
        owner: for two steps of containment and a use at once, the engine would scan whole tables."""
        link = (
            f"(b:Symbol)<-[e:{'|'.join(RELATIONS)}]-(a:Symbol) "
            f"RETURN b.id, label(e), e.sites, {_SYMBOL_COLUMNS.format('a')}"
        )
        queries = [(f"MATCH (f:File {{id: $id}})-[:CONTAINS]->{link}", path, False)]
        queries += [(f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->{link}", id, True) for id in owners]
        for statement, start, is_type in queries:
            for id, label, sites, *other in self._store.rows(statement, {"id": start}):
                target = own.get(id)
                if target is None or is_type != (target.kind in ("field", "imethod")):
                    continue  # a type's methods are declarations of their own files
                source = self._packages.named(*other)
                if source.file != path:
                    builder.add_edge(label, source, target, sites, path)

    def _add_outbound(self, builder: _FactsBuilder, own: Mapping[str, CardSymbol], path: str) -> None:
        start = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)"
        inside = f"{start}-[e:CALLS|TESTS|IMPLEMENTS]->(a:Symbol) RETURN b.id, label(e), {_SYMBOL_COLUMNS.format('a')}"
        for id, label, *other in self._store.rows(inside, {"id": path}):
            target = self._packages.named(*other)
            if label == "IMPLEMENTS":
                builder.satisfies.append((own[id], target))
                if target.file == path:
                    builder.satisfied.append((target, own[id]))
            elif target.file != path:
                builder.add_edge(label, own[id], target, "", path)
        # With a pattern that starts at the file, the engine would scan all external nodes.
        outside = f"MATCH (b:Symbol {{id: $id}})-[:IMPLEMENTS]->(a:External) RETURN {_EXTERNAL_COLUMNS.format('a')}"
        for id, symbol in own.items():
            if symbol.kind in ("struct", "type"):
                rows = self._store.rows(outside, {"id": id})
                builder.satisfies += [(symbol, self._packages.outside(*other)) for other in rows]

    def _interface_methods(self, owner: str) -> list[tuple[CardSymbol, int]]:
        """The methods of the interfaces that a type satisfies, with the number of their callers, if they have any."""
        methods: list[tuple[CardSymbol, int]] = []
        for (interface,) in self._store.rows(
            "MATCH (o:Symbol {id: $id})-[:IMPLEMENTS]->(i:Symbol) RETURN i.id", {"id": owner}
        ):
            if interface not in self._methods_by_interface:
                self._methods_by_interface[interface] = list(self._called_methods(interface))
            methods += self._methods_by_interface[interface]
        return methods

    def _outside_interfaces(self, owner: str) -> Iterator[tuple[CardSymbol, list[str]]]:
        """The external interfaces that a type satisfies, each with the names of its methods."""
        statement = (
            "MATCH (o:Symbol {id: $id})-[e:IMPLEMENTS]->(i:External) "
            f"RETURN e.evidence, {_EXTERNAL_COLUMNS.format('i')}"
        )
        for evidence, *row in self._store.rows(statement, {"id": owner}):
            yield self._packages.outside(*row), evidence.split()[1:]

    def _called_methods(self, interface: str) -> Iterator[tuple[CardSymbol, int]]:
        columns = _SYMBOL_COLUMNS.format("s")
        members = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN s.id, {columns}"
        for id, *row in list(self._store.rows(members, {"id": interface})):
            statement = "MATCH (b:Symbol {id: $id})<-[:CALLS]-(a:Symbol) RETURN count(*)"
            callers = next(iter(self._store.rows(statement, {"id": id})))[0]
            if callers:
                yield self._packages.named(*row), callers


def _methods_named(by_name: Mapping[str, list[CardSymbol]], kind: CardSymbol, name: str) -> list[CardSymbol]:
    """A type's own methods of that name: of twins those in the type's file, if there are any."""
    twins = by_name.get(f"{kind.qualified_name}.{name}", [])
    return [twin for twin in twins if twin.file == kind.file] or twins


def _all_symbols(store: Store, packages: CardSymbolFactory) -> dict[int, CardSymbol]:
    columns = store.columns(f"MATCH (s:Symbol) RETURN offset(id(s)), {_SYMBOL_COLUMNS.format('s')}")
    return {row[0]: packages.named(*row[1:]) for row in _rows(columns)}


def _edges(store: Store, label: str) -> Iterable[tuple[Any, ...]]:
    """The offsets of both ends in the table of symbols, and the sites."""
    return _rows(
        store.columns(f"MATCH (a:Symbol)-[e:{label}]->(b:Symbol) RETURN offset(id(a)), offset(id(b)), e.sites")
    )


def _rows(columns: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    return zip(*columns, strict=True)
