"""`CHANGES_WITH` edges: one for each pair of files that changed together often enough.

Counts are whole commits, not weights that decay, so that a new commit changes only the pairs that it touches. The same
commits are ignored as in `co_change`. All pairs of the history are stored in `cache.db`, also those of files that are
not in the graph now, because such files may come back.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Generator, Iterable
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from itertools import chain, combinations
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph, difference, read_edges, read_meta
from golore.graph.files.cache_tables import CacheTables, open_tables, read_table_meta, transaction
from golore.graph.files.identity import graph_identity, record_equivalent_state
from golore.graph.files.manifest import read_manifest
from golore.graph.history.co_change import History, telling_commits
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge

MIN_SHARED_COMMITS: Final = 2
"""Fewest shared commits that make a pair."""
MIN_SHARED_FRACTION: Final = 0.1
"""Smallest share that the shared commits must have in all commits of one of the two files."""
CHANGES_WITH: Final = EdgeKind("CHANGES_WITH", "File", "File")
_DIGEST_KEY: Final = "projected CHANGES_WITH"
_RULES_VERSION: Final = "2"
"""Version of the rules that make a pair. Pairs that were counted with another version are counted again."""
_COUNTED_KEY: Final = "pairs counted"
_PROJECTED_KEY: Final = "pairs projected"
_TABLES: Final = CacheTables(
    version="1",
    meta="coupled_notes",
    tables={
        "coupled_pairs": "(first TEXT NOT NULL, second TEXT NOT NULL, evidence TEXT NOT NULL, "
        "PRIMARY KEY(first, second)) WITHOUT ROWID"
    },
    indexes=("CREATE INDEX coupled_pairs_by_second ON coupled_pairs(second)",),
)


class Pair(NamedTuple):
    """Two files in the order of their paths, and the number of commits that changed both (`shared`) and each."""

    first: str
    second: str
    shared: int
    of_first: int
    of_second: int

    @property
    def evidence(self) -> str:
        return f"{self.shared} of {self.of_first}, {self.of_second}"


def pairs_in(history: History | None) -> list[Pair]:
    """The sorted pairs that pass `MIN_SHARED_COMMITS` and `MIN_SHARED_FRACTION` for at least one of the two files.

    Cards use the same limits.
    """
    changed_together = [sorted(set(changed)) for _, changed in telling_commits(history)]
    totals = Counter(chain.from_iterable(changed_together))
    shared = Counter(chain.from_iterable(combinations(paths, 2) for paths in changed_together))
    often = [
        Pair(first, second, number, totals[first], totals[second])
        for (first, second), number in shared.items()
        if number >= MIN_SHARED_COMMITS
    ]
    return sorted([pair for pair in often if pair.shared >= MIN_SHARED_FRACTION * min(pair.of_first, pair.of_second)])


class Pairs:
    """The stored pairs of a history, in `cache.db`. Open them with `open_pairs`."""

    def __init__(self, connection: sqlite3.Connection, directory: Path) -> None:
        self._connection = connection
        self._directory = directory

    def are_counted_at(self, head: str) -> bool:
        return self._meta(_COUNTED_KEY) == f"{_RULES_VERSION} {head}"

    def replace(self, pairs: Iterable[Pair], head: str) -> None:
        connection = self._connection
        with transaction(connection):
            connection.execute("DELETE FROM coupled_pairs")
            rows = ((pair.first, pair.second, pair.evidence) for pair in pairs)
            connection.executemany("INSERT INTO coupled_pairs VALUES (?, ?, ?)", rows)
            self._set_meta(_COUNTED_KEY, f"{_RULES_VERSION} {head}")

    def all(self) -> list[Edge]:
        return self._edges("SELECT first, second, evidence FROM coupled_pairs ORDER BY first, second")

    def pairs_of(self, path: str) -> list[Edge]:
        """The pairs that include this file."""
        statement = "SELECT first, second, evidence FROM coupled_pairs WHERE first = ? UNION ALL "
        statement += "SELECT first, second, evidence FROM coupled_pairs WHERE second = ?"
        return self._edges(statement, path, path)

    @property
    def are_projected(self) -> bool:
        """Whether the current graph received these pairs after they were counted. Its files may have changed since."""
        return self._meta(_PROJECTED_KEY) == self._projected_value()

    def record_projected(self) -> None:
        with transaction(self._connection):
            self._set_meta(_PROJECTED_KEY, self._projected_value())

    def _projected_value(self) -> str:
        manifest = read_manifest(self._directory)
        return f"{self._meta(_COUNTED_KEY)} {manifest.graph if manifest else ''}"

    def _edges(self, statement: str, *values: str) -> list[Edge]:
        rows = self._connection.execute(statement, values)
        return [Edge(first, second, (), evidence) for first, second, evidence in rows]

    def _meta(self, name: str) -> str:
        return read_table_meta(self._connection, _TABLES, name)

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO coupled_notes VALUES (?, ?)", (name, value))


@contextmanager
def open_pairs(directory: Path) -> Generator[Pairs]:
    connection = open_tables(directory, _TABLES, write=True)
    assert connection is not None
    with closing(connection):
        yield Pairs(connection, directory)


def rows_of_pairs(files: AbstractSet[str], edges: Collection[Edge]) -> MoreRows:
    """The rows of these pairs for a graph that is being loaded. `files`: all files of the graph."""
    digest = _projection_digest(edges, files)
    existing = [edge for edge in edges if edge.source in files and edge.target in files]
    return MoreRows({}, {CHANGES_WITH: existing}, {_DIGEST_KEY: digest} if digest else {})


def project_pairs(directory: Path, pairs: Pairs) -> int:
    """Update all `CHANGES_WITH` edges of the graph. Returns the number of changed edges."""
    edges = pairs.all()
    if pairs.are_projected or not edges:
        with Store.open(directory, write=False) as store:
            is_done = read_meta(store, _DIGEST_KEY) == _projection_digest(edges, _files(store))
        if is_done:
            pairs.record_projected()
            return 0
    with Store.open(directory, write=True) as store:
        if store.is_empty:
            return 0
        identity = graph_identity(directory)
        # There is almost always something to write at this point, and each open reads the log.
        store.open_for_writing()
        files = _files(store)
        projection_digest = _projection_digest(edges, files)
        changed = 0
        if read_meta(store, _DIGEST_KEY) != projection_digest:
            old, new = Subgraph(), Subgraph()
            old.edges[CHANGES_WITH] += read_edges(store, CHANGES_WITH)
            new.edges[CHANGES_WITH] += [edge for edge in edges if edge.source in files and edge.target in files]
            delta = difference(old, new, {_DIGEST_KEY: projection_digest})
            changed = len(delta) - len(delta.meta)
            store.apply(delta)
            record_equivalent_state(directory, identity)
    pairs.record_projected()
    return changed


def project_pairs_of(directory: Path, pairs: Pairs, paths: Collection[str]) -> int:
    """Add the edges of files that are in the graph again. Returns the number of added edges."""
    edges = {(edge.source, edge.target): edge for path in paths for edge in pairs.pairs_of(path)}
    if not edges:
        return 0
    with Store.open(directory, write=True) as store:
        ends = sorted({end for pair in edges for end in pair})
        existing = {row[0] for row in store.rows("UNWIND $ids AS i MATCH (f:File {id: i}) RETURN f.id", {"ids": ends})}
        known: set[tuple[str, str]] = set()
        for path in paths:
            for link in ("-[:CHANGES_WITH]->", "<-[:CHANGES_WITH]-"):
                rows = store.rows(f"MATCH (a:File {{id: $id}}){link}(b:File) RETURN b.id", {"id": path})
                known.update((min(path, other), max(path, other)) for (other,) in rows)
        added = [edge for pair, edge in sorted(edges.items()) if existing.issuperset(pair) and pair not in known]
        if added:
            identity = graph_identity(directory)
            store.apply(GraphDelta(edges_added={CHANGES_WITH: added}))
            record_equivalent_state(directory, identity)
        return len(added)


def _projection_digest(edges: Collection[Edge], files: Collection[str]) -> str:
    """Digest of the pairs and of the graph's files; empty if there are no pairs, as in a graph that never had any."""
    if not edges:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("".join(f"{edge.source}\0{edge.target}\0{edge.evidence}\n" for edge in edges).encode())
    digest.update("\n".join(sorted(files)).encode())
    return digest.hexdigest()


def _files(store: Store) -> set[str]:
    return {row[0] for row in store.rows("MATCH (f:File) RETURN f.id")}
