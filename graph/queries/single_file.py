"""The facts of one file, by queries that start at its symbols (see `file_facts`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import contained
from golore.graph.model.edge_kinds import RELATIONS, USES
from golore.graph.queries.file_facts import (
    EXTERNAL_COLUMNS,
    FILE_COLUMNS,
    MEMBERS,
    SYMBOL_COLUMNS,
    UNNAMED_CALLS,
    CardSymbol,
    CardSymbolFactory,
    FactsBuilder,
    FileFacts,
    Reach,
    Row,
    is_plain,
    is_test_function,
)

_MOST_USES: Final = 2_000
"""Uses that one query may return, with the names of both ends. Tens of thousands filled a pool of 48 MB."""


class _CalledMethod(NamedTuple):
    """A method of an interface with the number of its callers and the tests among them."""

    method: CardSymbol
    callers: int
    tests: tuple[CardSymbol, ...]


class SingleFile:
    """One file at a time, by queries that start at its symbols: milliseconds at any size of the repository."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._packages = CardSymbolFactory(store)
        self._called_by_interface: dict[str, list[_CalledMethod]] = {}
        self._is_plain: dict[str, bool] = {}
        self._users_in_tests: dict[str, list[tuple[str, CardSymbol]]] = {}
        self._generated: frozenset[str] | None = None
        self._unnamed: defaultdict[str, Counter[str]] | None = None

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if the graph has no such file."""
        statement = f"MATCH (f:File {{id: $id}}) RETURN {FILE_COLUMNS}"
        rows = list(self._store.rows(statement, {"id": path}))
        if not rows:
            return None
        builder = FactsBuilder()
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
            for interface, called in self._interface_methods(owner):
                if called.method.name in named:
                    builder.reached.append(Reach(named[called.method.name], *called))
                    self._mark_plain(builder, interface, called.method.qualified_name.rpartition(".")[0])
            for outside, required in self._outside_interfaces(owner):
                builder.outside += [(named[name], outside) for name in required if name in named]
        digest, package, test, generated, origin = rows[0]
        row = (digest, package, test, generated, origin)
        return builder.build(path, row, self._doubts(builder), self._unnamed_calls(), self._generated_files())

    def _generated_files(self) -> frozenset[str]:
        if self._generated is None:
            self._generated = frozenset(
                path for (path,) in self._store.rows("MATCH (f:File) WHERE f.generated RETURN f.id")
            )
        return self._generated

    def _mark_plain(self, builder: FactsBuilder, id: str, qualified_name: str) -> None:
        if id not in self._is_plain:
            methods = "MATCH (i:Symbol {id: $id})-[:CONTAINS]->(m:Symbol) RETURN m.signature"
            signatures = [signature for (signature,) in self._store.rows(methods, {"id": id})]
            self._is_plain[id] = is_plain(signatures) and not any(
                True
                for label in ("Symbol", "External")
                for _ in self._store.rows(
                    f"MATCH (i:Symbol {{id: $id}})-[:EMBEDS]->(e:{label}) RETURN e.id", {"id": id}
                )
            )
        if self._is_plain[id]:
            builder.plain.add(qualified_name)

    def _doubts(self, builder: FactsBuilder) -> dict[str, Counter[str]]:
        names = sorted({symbol.name for symbol in builder.symbols if symbol.kind in MEMBERS})
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        statement = (
            "MATCH (u:Unresolved) WHERE u.name IN $names AND size(u.candidates) = 0 RETURN u.name, u.file, u.sites"
        )
        for name, file, sites in self._store.rows(statement, {"names": names}) if names else ():
            found[name][file] += len(sites.split())
        return found

    def _unnamed_calls(self) -> dict[str, Counter[str]]:
        if self._unnamed is None:
            self._unnamed = defaultdict(Counter)
            for file, name, sites in self._store.rows(UNNAMED_CALLS):
                self._unnamed[name][file] += len(sites.split())
        return self._unnamed

    def _declared(self, path: str) -> Iterator[Row]:
        """The file's declarations, and the fields and interface methods of its types: id, owner, symbol columns."""
        columns = f"s.id, s.owner, {SYMBOL_COLUMNS.format('s')}"
        statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {columns}"
        declared = list(self._store.rows(statement, {"id": path}))
        yield from declared
        for level in contained(self._store, path, [row[0] for row in declared], columns):
            yield from (row[1:] for row in level if row[3] in ("field", "imethod"))

    def _add_inbound(
        self, builder: FactsBuilder, own: Mapping[str, CardSymbol], owners: Iterable[str], path: str
    ) -> None:
        """Add the uses of the file's declarations. One query for all declarations and one for the members of each
        owner: for two steps of containment and a use at once, the engine would scan whole tables. The engine keeps a
        result in its pool, so the declarations of a file that much depends on are queried one by one."""
        uses = f"<-[e:{'|'.join(RELATIONS)}]-(a:Symbol) "
        columns = f"RETURN b.id, label(e), e.sites, a.id, {SYMBOL_COLUMNS.format('a')}"
        testing: dict[str, CardSymbol] = {}
        of_file = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(b:Symbol){uses}"
        if next(iter(self._store.rows(f"{of_file} RETURN count(*)", {"id": path})))[0] <= _MOST_USES:
            queries = [(f"{of_file} {columns}", path, False)]
        else:
            ids = [id for id, symbol in own.items() if symbol.kind not in ("field", "imethod")]
            queries = [(f"MATCH (b:Symbol {{id: $id}}){uses} {columns}", id, False) for id in ids]
        of_members = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(b:Symbol){uses} {columns}"
        queries += [(of_members, id, True) for id in owners]
        for statement, start, is_type in queries:
            for id, label, sites, source_id, *other in list(self._store.rows(statement, {"id": start})):
                target = own.get(id)
                if target is None or is_type != (target.kind in ("field", "imethod")):
                    continue  # a type's methods are declarations of their own files
                source = self._packages.named(*other)
                if source.file != path:
                    builder.add_edge(label, source, target, sites, path)
                    if label == "IMPLEMENTS":
                        self._mark_plain(builder, id, target.qualified_name)
                    if label in USES and source.test:
                        testing[source_id] = source
        if testing and not path.endswith("_test.go"):
            builder.test_users = self._tests_of(testing)

    def _tests_of(self, users: Mapping[str, CardSymbol]) -> set[CardSymbol]:
        """The tests among these declarations of test files, by id, and those that use the others (see `TestUses`)."""
        known = dict(users)
        pending = list(users)
        while pending:
            helpers = [id for id in pending if not is_test_function(known[id])]
            self._read_users_in_tests([id for id in helpers if id not in self._users_in_tests])
            further = {id: user for helper in helpers for id, user in self._users_in_tests[helper] if id not in known}
            known.update(further)
            pending = list(further)
        return {symbol for symbol in known.values() if is_test_function(symbol)}

    def _read_users_in_tests(self, helpers: Iterable[str]) -> None:
        statement = (
            f"MATCH (b:Symbol {{id: $id}})<-[:{'|'.join(USES)}]-(a:Symbol) WHERE a.file ENDS WITH '_test.go' "
            f"RETURN a.id, {SYMBOL_COLUMNS.format('a')}"
        )
        for helper in helpers:
            rows = self._store.rows(statement, {"id": helper})
            self._users_in_tests[helper] = [(id, self._packages.named(*row)) for id, *row in rows]

    def _add_outbound(self, builder: FactsBuilder, own: Mapping[str, CardSymbol], path: str) -> None:
        start = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)"
        columns = f"b.id, label(e), a.id, {SYMBOL_COLUMNS.format('a')}"
        inside = f"{start}-[e:CALLS|TESTS|IMPLEMENTS]->(a:Symbol) RETURN {columns}"
        for id, label, target_id, *other in list(self._store.rows(inside, {"id": path})):
            target = self._packages.named(*other)
            if label == "IMPLEMENTS":
                builder.satisfies.append((own[id], target))
                self._mark_plain(builder, target_id, target.qualified_name)
                if target.file == path:
                    builder.satisfied.append((target, own[id]))
            elif target.file != path:
                builder.add_edge(label, own[id], target, "", path)
        # With a pattern that starts at the file, the engine would scan all external nodes.
        outside = f"MATCH (b:Symbol {{id: $id}})-[:IMPLEMENTS]->(a:External) RETURN {EXTERNAL_COLUMNS.format('a')}"
        for id, symbol in own.items():
            if symbol.kind in ("struct", "type"):
                rows = self._store.rows(outside, {"id": id})
                builder.satisfies += [(symbol, self._packages.outside(*other)) for other in rows]

    def _interface_methods(self, owner: str) -> list[tuple[str, _CalledMethod]]:
        """The interfaces that a type satisfies, by id, each with its methods that have callers."""
        methods: list[tuple[str, _CalledMethod]] = []
        statement = "MATCH (o:Symbol {id: $id})-[:IMPLEMENTS]->(i:Symbol) RETURN i.id"
        for (interface,) in list(self._store.rows(statement, {"id": owner})):
            if interface not in self._called_by_interface:
                self._called_by_interface[interface] = list(self._called_methods(interface))
            methods += [(interface, called) for called in self._called_by_interface[interface]]
        return methods

    def _outside_interfaces(self, owner: str) -> Iterator[tuple[CardSymbol, list[str]]]:
        """The external interfaces that a type satisfies, each with the names of its methods."""
        statement = (
            "MATCH (o:Symbol {id: $id})-[e:IMPLEMENTS]->(i:External) "
            f"RETURN e.evidence, {EXTERNAL_COLUMNS.format('i')}"
        )
        for evidence, *row in self._store.rows(statement, {"id": owner}):
            yield self._packages.outside(*row), evidence.split()[1:]

    def _called_methods(self, interface: str) -> Iterator[_CalledMethod]:
        columns = SYMBOL_COLUMNS.format("s")
        members = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN s.id, {columns}"
        for id, *row in list(self._store.rows(members, {"id": interface})):
            statement = "MATCH (b:Symbol {id: $id})<-[:CALLS]-(a:Symbol) RETURN count(*)"
            callers = next(iter(self._store.rows(statement, {"id": id})))[0]
            if callers:
                yield _CalledMethod(self._packages.named(*row), callers, self._test_callers(id))

    def _test_callers(self, id: str) -> tuple[CardSymbol, ...]:
        statement = (
            "MATCH (b:Symbol {id: $id})<-[:CALLS]-(a:Symbol) WHERE a.file ENDS WITH '_test.go' "
            f"RETURN {SYMBOL_COLUMNS.format('a')}"
        )
        found = (self._packages.named(*row) for row in self._store.rows(statement, {"id": id}))
        return tuple(sorted(symbol for symbol in found if is_test_function(symbol)))
