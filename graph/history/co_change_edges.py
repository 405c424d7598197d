"""Files that change together, as edges of the graph: `CHANGES_WITH`, one for each pair that is worth a word.

Counts are whole commits, not weights that decay, so that a commit changes only the pairs that it touches. What commits
say of files is `coupling`'s affair: those that change very many files count here no more than there. All pairs of the
history are kept in `cache.db`, also of files that are not in the graph now, for they may come back.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Generator, Iterable
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph, difference, read_edges, read_meta
from golore.graph.files.cache_tables import CacheTables, open_tables, read_table_meta, transaction
from golore.graph.files.identity import graph_identity, record_same_identity
from golore.graph.files.manifest import read_manifest
from golore.graph.history.co_change import LARGEST, History
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge

OFTEN: Final = 2
"""Commits from which a shared history is worth a word, and their share of all of a file's."""
SHARE: Final = 0.1
CHANGES_WITH: Final = EdgeKind("CHANGES_WITH", "File", "File")
_MARK: Final = "projected CHANGES_WITH"
_EDITION: Final = "1"
"""Of what makes a pair; another one counts all of them anew."""
_COUNTED: Final = "pairs counted"
_PROJECTED: Final = "pairs projected"
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
    """Two files, the first one by name first, and in how many commits they changed: both of them, and each."""

    first: str
    second: str
    shared: int
    of_first: int
    of_second: int

    @property
    def evidence(self) -> str:
        return f"{self.shared} of {self.of_first}, {self.of_second}"


def pairs_in(history: History | None) -> list[Pair]:
    """Those that the card of at least one of the two would name, in order."""
    totals: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    for _, changed in history.commits if history is not None else ():
        if len(changed) <= LARGEST:
            paths = sorted(set(changed))
            totals.update(paths)
            shared.update(combinations(paths, 2))
    return [
        Pair(first, second, number, totals[first], totals[second])
        for (first, second), number in sorted(shared.items())
        if number >= max(OFTEN, SHARE * min(totals[first], totals[second]))
    ]


class Pairs:
    """The pairs of a history, in `cache.db`. Open them with `open_pairs`."""

    def __init__(self, connection: sqlite3.Connection, directory: Path) -> None:
        self._connection = connection
        self._directory = directory

    def are_of(self, head: str) -> bool:
        return self._meta(_COUNTED) == f"{_EDITION} {head}"

    def replace(self, pairs: Iterable[Pair], head: str) -> None:
        run = self._connection
        with transaction(run):
            run.execute("DELETE FROM coupled_pairs")
            rows = ((pair.first, pair.second, pair.evidence) for pair in pairs)
            run.executemany("INSERT INTO coupled_pairs VALUES (?, ?, ?)", rows)
            self._set_meta(_COUNTED, f"{_EDITION} {head}")

    def all(self) -> list[Edge]:
        return self._edges("SELECT first, second, evidence FROM coupled_pairs ORDER BY first, second")

    def at(self, path: str) -> list[Edge]:
        """Those that a file is one of."""
        statement = "SELECT first, second, evidence FROM coupled_pairs WHERE first = ? UNION ALL "
        statement += "SELECT first, second, evidence FROM coupled_pairs WHERE second = ?"
        return self._edges(statement, path, path)

    @property
    def are_projected(self) -> bool:
        """Whether the graph that there is got them when they were counted; files may have come and gone since."""
        return self._meta(_PROJECTED) == self._projected_name()

    def record_projected(self) -> None:
        with transaction(self._connection):
            self._set_meta(_PROJECTED, self._projected_name())

    def _projected_name(self) -> str:
        manifest = read_manifest(self._directory)
        return f"{self._meta(_COUNTED)} {manifest.graph if manifest else ''}"

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


def project_pairs(directory: Path, pairs: Pairs) -> int:
    """Bring all `CHANGES_WITH` edges of the graph up to date; how many changed."""
    edges = pairs.all()
    if pairs.are_projected or not edges:
        with Store.open(directory, write=False) as store:
            is_done = read_meta(store, _MARK) == _mark_of(edges, _files(store))
        if is_done:
            pairs.record_projected()
            return 0
    with Store.open(directory, write=True) as store:
        if store.is_empty:
            return 0
        identity = graph_identity(directory)
        # Hardly ever is there nothing to write now, and each open reads the log.
        store.open_for_change()
        files = _files(store)
        mark = _mark_of(edges, files)
        changed = 0
        if read_meta(store, _MARK) != mark:
            old, new = Subgraph(), Subgraph()
            old.edges[CHANGES_WITH] += read_edges(store, CHANGES_WITH)
            new.edges[CHANGES_WITH] += [edge for edge in edges if edge.source in files and edge.target in files]
            delta = difference(old, new, {_MARK: mark})
            changed = len(delta) - len(delta.meta)
            store.apply(delta)
            record_same_identity(directory, identity)
    pairs.record_projected()
    return changed


def project_pairs_of(directory: Path, pairs: Pairs, paths: Collection[str]) -> int:
    """Give files that have come back to the graph their edges again; how many."""
    edges = {(edge.source, edge.target): edge for path in paths for edge in pairs.at(path)}
    if not edges:
        return 0
    with Store.open(directory, write=True) as store:
        ends = sorted({end for pair in edges for end in pair})
        there = {row[0] for row in store.rows("UNWIND $ids AS i MATCH (f:File {id: i}) RETURN f.id", {"ids": ends})}
        known: set[tuple[str, str]] = set()
        for path in paths:
            for link in ("-[:CHANGES_WITH]->", "<-[:CHANGES_WITH]-"):
                rows = store.rows(f"MATCH (a:File {{id: $id}}){link}(b:File) RETURN b.id", {"id": path})
                known.update((min(path, other), max(path, other)) for (other,) in rows)
        added = [edge for pair, edge in sorted(edges.items()) if there.issuperset(pair) and pair not in known]
        if added:
            identity = graph_identity(directory)
            store.apply(GraphDelta(edges_added={CHANGES_WITH: added}))
            record_same_identity(directory, identity)
        return len(added)


def _mark_of(edges: Collection[Edge], files: Collection[str]) -> str:
    """Names the pairs and the files of the graph; empty where there are no pairs, as in a graph that never had any."""
    if not edges:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("".join(f"{edge.source}\0{edge.target}\0{edge.evidence}\n" for edge in edges).encode())
    digest.update("\n".join(sorted(files)).encode())
    return digest.hexdigest()


def _files(store: Store) -> set[str]:
    return {row[0] for row in store.rows("MATCH (f:File) RETURN f.id")}
