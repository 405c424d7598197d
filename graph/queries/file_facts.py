"""What the graph knows about one file, for its card: who uses it, what it satisfies, which tests reach it.

`WholeGraph` reads the graph once, column by column, for the cards of all files; `SingleFile` queries what lies around
one file. Both yield the same facts. Only what comes from other files counts: the rest can be read in the file itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import RELATIONS, USES

_NONE: Final[Mapping[str, int]] = {}
Row = list[Any]
_SYMBOL: Final = "{0}.kind, {0}.name, {0}.qualified_name, {0}.file, {0}.line, {0}.exported, {0}.package"
_OUTSIDE: Final = "{0}.kind, {0}.name, {0}.id, {0}.package"


class CardSymbol(NamedTuple):
    """A declaration, as cards name it: `local` as in its own package (Memory.Save), `short` as in others, with the
    package's name (store.Memory.Save). One outside the repository has no file."""

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


class Packages:
    """Makes `CardSymbol` of rows; needs the packages' names, which need not be the last part of their paths."""

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
    """A use of something that the file declares, from another file; `sites` are lines of that one, as "12 40"."""

    label: str
    target: CardSymbol
    source: CardSymbol
    sites: str

    @property
    def line(self) -> int:
        """Where it is first used, or else where the user is declared."""
        return int(self.sites.partition(" ")[0]) if self.sites else self.source.line


class Reach(NamedTuple):
    """A method of the file that may stand behind calls of an interface's method: so many callers, as candidates."""

    method: CardSymbol
    through: CardSymbol
    callers: int


class UnresolvedName(NamedTuple):
    """Uses in the file that could not be settled."""

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
    """tests from other files, with what of this file they reach"""
    exercised: tuple[tuple[CardSymbol, CardSymbol], ...]
    """tests in this file, with what of other files they reach"""
    satisfies: tuple[tuple[CardSymbol, CardSymbol], ...]
    """types of this file and interfaces"""
    satisfied: tuple[tuple[CardSymbol, CardSymbol], ...]
    """interfaces of this file and types"""
    reached: tuple[Reach, ...]
    calls: Mapping[str, int]
    """how often it calls into other files"""
    unresolved: tuple[UnresolvedName, ...]
    doubts: tuple[tuple[str, int], ...]
    """names of its methods, with how many uses elsewhere bear them and could be uses of anything"""


class _FactsBuilder:
    """The facts of one file while they are collected."""

    __slots__ = ("calls", "exercised", "reached", "satisfied", "satisfies", "symbols", "tests", "unresolved", "uses")

    def __init__(self) -> None:
        self.symbols: list[CardSymbol] = []
        self.uses: list[Use] = []
        self.tests: list[tuple[CardSymbol, CardSymbol]] = []
        self.exercised: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfies: list[tuple[CardSymbol, CardSymbol]] = []
        self.satisfied: list[tuple[CardSymbol, CardSymbol]] = []
        self.reached: list[Reach] = []
        self.calls: Counter[str] = Counter()
        self.unresolved: list[UnresolvedName] = []

    def settled(
        self, path: str, about: tuple[str, str, bool, bool], doubts: Mapping[str, Mapping[str, int]]
    ) -> FileFacts:
        digest, package, test, generated = about
        names = sorted({symbol.name for symbol in self.symbols if symbol.kind in ("method", "imethod")})
        elsewhere = [(name, sum(n for file, n in doubts.get(name, _NONE).items() if file != path)) for name in names]
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
            self.calls,
            tuple(sorted(self.unresolved)),
            tuple((name, number) for name, number in elsewhere if number),
        )

    def add_edge(self, label: str, source: CardSymbol, target: CardSymbol, sites: str | None, path: str) -> None:
        """One edge between this file and another."""
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
    """The whole graph in memory. `files` gives digest, package, test and generated by path."""

    def __init__(self, store: Store) -> None:
        rows = store.columns("MATCH (f:File) RETURN f.id, f.digest, f.package, f.test, f.generated")
        self.files: dict[str, tuple[str, str, bool, bool]] = {
            path: (digest, package, test, generated) for path, digest, package, test, generated in _rows(rows)
        }
        packages = Packages(store)
        self._symbols = _all_symbols(store, packages)
        self._loose: defaultdict[str, _FactsBuilder] = defaultdict(_FactsBuilder)
        self.uses: dict[tuple[str, str], int] = {}
        """how often one file uses another"""
        for symbol in self._symbols.values():
            self._loose[symbol.file].symbols.append(symbol)
        callers: Counter[int] = Counter()
        for label in USES:
            self._add_uses(store, label, callers)
        self._count_uses()
        self._add_tests(store)
        self._add_interfaces(store, callers, packages)
        columns = store.columns("MATCH (u:Unresolved) RETURN u.file, u.name, u.reason, u.sites, size(u.candidates)")
        self._doubts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for file, name, reason, sites, candidates in _rows(columns):
            self._loose[file].unresolved.append(UnresolvedName(name, reason, len(sites.split())))
            if not candidates:
                self._doubts[name][file] += len(sites.split())

    def facts(self, path: str) -> FileFacts:
        return self._loose[path].settled(path, self.files[path], self._doubts)

    def _add_uses(self, store: Store, label: str, callers: Counter[int]) -> None:
        symbols, loose, is_call = self._symbols, self._loose, label == "CALLS"
        for source_at, target_at, sites in _edges(store, label):
            source, target = symbols[source_at], symbols[target_at]
            if is_call and target.kind == "imethod":
                callers[target_at] += 1
            if source.file != target.file:
                loose[target.file].uses.append(Use(label, target, source, sites))

    def _count_uses(self) -> None:
        """File by file, which is quicker than edge by edge."""
        for used, one in list(self._loose.items()):
            for user, number in Counter([use.source.file for use in one.uses]).items():
                self.uses[user, used] = number
            for user, number in Counter([use.source.file for use in one.uses if use.label == "CALLS"]).items():
                self._loose[user].calls[used] = number

    def _add_tests(self, store: Store) -> None:
        for source_at, target_at, _ in _edges(store, "TESTS"):
            test, target = self._symbols[source_at], self._symbols[target_at]
            if test.file != target.file:
                self._loose[target.file].tests.append((test, target))
                self._loose[test.file].exercised.append((test, target))

    def _add_interfaces(self, store: Store, callers: Counter[int], packages: Packages) -> None:
        symbols = self._symbols
        outside = store.columns(
            f"MATCH (a:Symbol)-[:IMPLEMENTS]->(b:External) RETURN offset(id(a)), {_OUTSIDE.format('b')}"
        )
        for at, *row in _rows(outside):
            self._loose[symbols[at].file].satisfies.append((symbols[at], packages.outside(*row)))
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
            self._loose[kind.file].satisfies.append((kind, interface))
            if interface.file != kind.file:
                self._loose[interface.file].satisfied.append((interface, kind))
            for at in methods.get(interface.qualified_name, ()):
                twins = by_name.get(f"{kind.qualified_name}.{symbols[at].name}", ())
                for method in [twin for twin in twins if twin.file == kind.file] or twins:
                    self._loose[method.file].reached.append(Reach(method, symbols[at], callers[at]))


class SingleFile:
    """One file at a time, by look-ups from its symbols: milliseconds, whatever the size of the repository."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._packages = Packages(store)
        self._called: dict[str, list[tuple[CardSymbol, int]]] = {}

    def facts(self, path: str) -> FileFacts | None:
        """None where the graph has no such file."""
        statement = "MATCH (f:File {id: $id}) RETURN f.digest, f.package, f.test, f.generated"
        rows = list(self._store.rows(statement, {"id": path}))
        if not rows:
            return None
        loose = _FactsBuilder()
        methods: defaultdict[str, dict[str, CardSymbol]] = defaultdict(dict)
        own: dict[str, CardSymbol] = {}
        for id, owner, *columns in self._declared(path):
            own[id] = symbol = self._packages.named(*columns)
            loose.symbols.append(symbol)
            if symbol.kind == "method":
                methods[owner][symbol.name] = symbol
        self._add_inbound(loose, own, path)
        self._add_outbound(loose, own, path)
        for owner, named in methods.items():
            for asked, callers in self._asked_of(owner):
                if asked.name in named:
                    loose.reached.append(Reach(named[asked.name], asked, callers))
        statement = "MATCH (u:Unresolved) WHERE u.file = $file RETURN u.name, u.reason, u.sites"
        for name, reason, sites in self._store.rows(statement, {"file": path}):
            loose.unresolved.append(UnresolvedName(name, reason, len(sites.split())))
        digest, package, test, generated = rows[0]
        return loose.settled(path, (digest, package, test, generated), self._doubts(loose))

    def _doubts(self, loose: _FactsBuilder) -> dict[str, Counter[str]]:
        names = sorted({symbol.name for symbol in loose.symbols if symbol.kind in ("method", "imethod")})
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        statement = (
            "MATCH (u:Unresolved) WHERE u.name IN $names AND size(u.candidates) = 0 RETURN u.name, u.file, u.sites"
        )
        for name, file, sites in self._store.rows(statement, {"names": names}) if names else ():
            found[name][file] += len(sites.split())
        return found

    def _declared(self, path: str) -> Iterator[Row]:
        """The file's declarations, and the members of its types that stand in it too: id, owner, then the symbol."""
        columns = f"s.id, s.owner, {_SYMBOL.format('s')}"
        statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {columns}"
        top = list(self._store.rows(statement, {"id": path}))
        yield from top
        for row in top:
            if row[2] in ("struct", "interface", "type"):
                statement = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {columns}"
                members = self._store.rows(statement, {"id": row[0]})
                yield from (member for member in members if member[2] in ("field", "imethod"))

    def _add_inbound(self, loose: _FactsBuilder, own: Mapping[str, CardSymbol], path: str) -> None:
        """Uses of what the file declares. One question for all declarations, and one for each type's members: the
        engine looks through whole tables when it is asked for two steps of containment at once."""
        link = f"(b:Symbol)<-[e:{'|'.join(RELATIONS)}]-(a:Symbol) RETURN b.id, label(e), e.sites, {_SYMBOL.format('a')}"
        asked = [(f"MATCH (f:File {{id: $id}})-[:CONTAINS]->{link}", path, False)]
        types = (id for id, symbol in own.items() if symbol.kind in ("struct", "interface", "type"))
        asked += [(f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->{link}", id, True) for id in types]
        for statement, start, is_type in asked:
            for id, label, sites, *other in self._store.rows(statement, {"id": start}):
                target = own.get(id)
                if target is None or is_type != (target.kind in ("field", "imethod")):
                    continue  # a type's methods are declarations of their files
                source = self._packages.named(*other)
                if source.file != path:
                    loose.add_edge(label, source, target, sites, path)

    def _add_outbound(self, loose: _FactsBuilder, own: Mapping[str, CardSymbol], path: str) -> None:
        start = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)"
        inside = f"{start}-[e:CALLS|TESTS|IMPLEMENTS]->(a:Symbol) RETURN b.id, label(e), {_SYMBOL.format('a')}"
        for id, label, *other in self._store.rows(inside, {"id": path}):
            target = self._packages.named(*other)
            if label == "IMPLEMENTS":
                loose.satisfies.append((own[id], target))
            elif target.file != path:
                loose.add_edge(label, own[id], target, "", path)
        # From the file itself, the engine would look through all that lies outside.
        outside = f"MATCH (b:Symbol {{id: $id}})-[:IMPLEMENTS]->(a:External) RETURN {_OUTSIDE.format('a')}"
        for id, symbol in own.items():
            if symbol.kind in ("struct", "type"):
                rows = self._store.rows(outside, {"id": id})
                loose.satisfies += [(symbol, self._packages.outside(*other)) for other in rows]

    def _asked_of(self, owner: str) -> list[tuple[CardSymbol, int]]:
        """The methods of the interfaces that a type satisfies, with the number of their callers, if any."""
        found: list[tuple[CardSymbol, int]] = []
        for (interface,) in self._store.rows(
            "MATCH (o:Symbol {id: $id})-[:IMPLEMENTS]->(i:Symbol) RETURN i.id", {"id": owner}
        ):
            if interface not in self._called:
                self._called[interface] = list(self._called_methods(interface))
            found += self._called[interface]
        return found

    def _called_methods(self, interface: str) -> Iterator[tuple[CardSymbol, int]]:
        columns = _SYMBOL.format("s")
        members = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN s.id, {columns}"
        for id, *row in list(self._store.rows(members, {"id": interface})):
            statement = "MATCH (b:Symbol {id: $id})<-[:CALLS]-(a:Symbol) RETURN count(*)"
            callers = next(iter(self._store.rows(statement, {"id": id})))[0]
            if callers:
                yield self._packages.named(*row), callers


def _all_symbols(store: Store, packages: Packages) -> dict[int, CardSymbol]:
    columns = store.columns(f"MATCH (s:Symbol) RETURN offset(id(s)), {_SYMBOL.format('s')}")
    return {row[0]: packages.named(*row[1:]) for row in _rows(columns)}


def _edges(store: Store, label: str) -> Iterable[tuple[Any, ...]]:
    """The places of both ends in the table of symbols, and the lines."""
    return _rows(
        store.columns(f"MATCH (a:Symbol)-[e:{label}]->(b:Symbol) RETURN offset(id(a)), offset(id(b)), e.sites")
    )


def _rows(columns: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    return zip(*columns, strict=True)
