"""Numbers of all files of a repository, computed once for each state of the graph: for the start page and the map.

The risk of a file grows with its importance, with how often it changed recently, and with the share of its functions
that no test reaches. It says where to be careful, not that anything is wrong.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from math import log1p
from typing import Final, NamedTuple

from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import all_current
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbol_columns, symbol_from, symbols
from golore.graph.queries.store_counts import count_store

_CALLED: Final = 8


class FileNumbers(NamedTuple):
    """`rank` is its importance, `busy` grows with recent commits, `tested` of its `functions` are reached by tests.
    `quality` is that of its summary: `reviewed`, `draft` or `structural`."""

    path: str
    package: str
    lines: int
    test: bool
    generated: bool
    rank: float
    commits: int
    busy: float
    functions: int
    tested: int
    quality: str

    @property
    def untested(self) -> float:
        """The share of its functions that no test is known to reach."""
        return 1.0 - self.tested / self.functions if self.functions else 0.0

    @property
    def risk(self) -> float:
        if self.test or self.generated or not self.functions:
            return 0.0
        return log1p(self.rank) * (1.0 + self.busy) * (0.25 + self.untested) * log1p(self.lines / 100)


class PackageNumbers(NamedTuple):
    """A package that is not an external test. `imports`: package → number of files that import it, without tests."""

    id: str
    name: str
    dir: str
    doc: str
    imports: dict[str, int]


class CalledFunction(NamedTuple):
    """An exported function that is no helper of tests, with the number of declarations that call it, without those in
    tests."""

    symbol: Ref
    callers: int


@dataclass(frozen=True, slots=True)
class Overview:
    """`files` by path, `packages` by id. `called` are the exported functions that are called most. `has_history`:
    commits were read, so that a file without any has not changed."""

    files: tuple[FileNumbers, ...]
    packages: dict[str, PackageNumbers]
    called: tuple[CalledFunction, ...]
    symbols: int
    has_history: bool
    mains: dict[str, Ref]
    """the function `main` of each program, by package"""
    test_packages: int
    """external test packages, which are not among `packages`"""
    unresolved: int
    """uses that could not be resolved"""
    missing: int
    """packages that files of the repository import, and whose source is not available"""
    composed: str
    """the structural summary of the repository"""

    def programs(self) -> list[tuple[PackageNumbers, int]]:
        """The programs, each with the number of packages it is made of, the largest first."""
        found = [(one, self._size(one.id)) for one in self.packages.values() if one.name == "main"]
        return sorted(found, key=lambda item: (-item[1], item[0].dir))

    def _size(self, program: str) -> int:
        seen = {program}
        pending = [program]
        while pending:
            package = self.packages.get(pending.pop())
            for imported in package.imports if package is not None else ():
                if imported not in seen:
                    seen.add(imported)
                    pending.append(imported)
        return len(seen)

    def riskiest(self, most: int) -> list[FileNumbers]:
        found = sorted((one for one in self.files if one.risk > 0), key=lambda one: (-one.risk, one.path))
        return found[:most]


def read_overview(store: Store) -> Overview:
    # By rows: results by column would load pyarrow, 45 MB, into a process that needs it for nothing else.
    functions = _by_file(store, "MATCH (s:Symbol) WHERE s.kind IN ['func', 'method'] RETURN s.file, count(*)")
    tested = _by_file(
        store,
        "MATCH (:Symbol)-[:TESTS]->(s:Symbol) WHERE s.kind IN ['func', 'method'] "
        "RETURN s.file, count(DISTINCT offset(id(s)))",
    )
    ranks = _ranks(store)
    qualities = _qualities(store)
    files: list[FileNumbers] = []
    rows = store.rows("MATCH (f:File) RETURN f.id, f.package, f.lines, f.test, f.generated")
    for path, package, lines, test, generated in sorted(rows):
        rank, commits, busy = ranks.get(path, (0.0, 0, 0.0))
        files.append(
            FileNumbers(
                path,
                package,
                lines,
                test,
                generated,
                rank,
                commits,
                busy,
                functions[path],
                tested[path],
                qualities.get(path, "structural"),
            )
        )
    (total,), *_ = store.rows("MATCH (s:Symbol) RETURN count(*)")
    has_history = any(one.commits for one in files)
    return Overview(
        tuple(files),
        _packages(store),
        _called(store),
        total,
        has_history,
        _mains(store),
        _number(store, "MATCH (p:Package) WHERE p.test RETURN count(*)"),
        count_store(store).unresolved_sites,
        _number(store, "MATCH (e:External) WHERE e.kind = 'package' AND e.source = 'missing' RETURN count(*)"),
        structural_summary(store, "repository", REPOSITORY_ID),
    )


def _number(store: Store, statement: str) -> int:
    return next(iter(store.rows(statement)))[0]


def _mains(store: Store) -> dict[str, Ref]:
    statement = (
        "MATCH (s:Symbol) WHERE s.name = 'main' AND s.kind = 'func' AND NOT s.file ENDS WITH '_test.go' "
        f"RETURN {symbol_columns('s')}"
    )
    found = sorted(map(symbol_from, store.rows(statement)), key=lambda one: (one.file, one.line), reverse=True)
    return {one.package: one for one in found}


def _packages(store: Store) -> dict[str, PackageNumbers]:
    rows = store.rows("MATCH (p:Package) WHERE NOT p.test RETURN p.id, p.name, p.dir, p.doc ORDER BY p.id")
    found = {id: PackageNumbers(id, name, directory, doc, {}) for id, name, directory, doc in rows}
    statement = "MATCH (f:File)-[:IMPORTS]->(p:Package) WHERE NOT f.test RETURN f.package, p.id, count(*)"
    for source, target, number in sorted(store.rows(statement)):
        if source in found:
            found[source].imports[target] = number
    return found


def _called(store: Store) -> tuple[CalledFunction, ...]:
    statement = (
        "MATCH (p:Package)-[:CONTAINS]->(f:File)-[:CONTAINS]->(s:Symbol)<-[:CALLS]-(a:Symbol) "
        "WHERE s.kind = 'func' AND s.exported AND NOT f.test AND NOT p.test AND NOT p.name ENDS WITH 'test' "
        "AND NOT s.signature =~ '.*[*]testing[.][TBF][^A-Za-z0-9_].*' AND NOT s.signature CONTAINS 'testing.TB' "
        "AND NOT a.file ENDS WITH '_test.go' "
        "RETURN s.id, count(*) AS callers ORDER BY callers DESC, s.id LIMIT 40"
    )
    rows = list(store.rows(statement))
    callers: dict[str, int] = {row[0]: row[1] for row in rows}
    # Declarations of one function for several systems have the same callers.
    first = {symbol.qualified_name: symbol for symbol in reversed(symbols(store, list(callers)))}
    found = sorted(first.values(), key=lambda symbol: (-callers[symbol.id], symbol.id))
    return tuple(CalledFunction(symbol, callers[symbol.id]) for symbol in found[:_CALLED])


def _by_file(store: Store, statement: str) -> Counter[str]:
    return Counter({row[0]: row[1] for row in store.rows(statement)})


def _ranks(store: Store) -> dict[str, tuple[float, int, float]]:
    card_store = open_card_store(store.directory, write=False)
    if card_store is None:
        return {}
    with closing(card_store):
        return card_store.ranks()


def _qualities(store: Store) -> dict[str, str]:
    if not Knowledge.exists(store.directory):
        return {}
    with Knowledge.open(store.directory) as knowledge:
        return {record.subject: record.quality for record in all_current(knowledge, "file")}
