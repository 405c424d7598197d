"""Loads a whole graph into a new database file.

Rows are spooled to files as they arrive (see `arrow_spool`), and the engine copies them in at the end: one COPY for
each node label and edge kind, because appending to a loaded table rewrites it. The current database is not touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from golore.graph.database.arrow_spool import Spools, Table, spooled_rows
from golore.graph.database.engine import EngineFailure, Session, loading_error, require_room
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import META_TABLE, NODE_COLUMNS, SCHEMA_VERSION, create_statements

_POOL_FLOOR: Final = 512 << 20
_POOL_PER_ROW: Final = 400
"""Bytes of buffer pool per row: a COPY of edges needs memory for all rows of its table, measured at 170 bytes each."""


class MoreRows(NamedTuple):
    """Rows that are made from the others of a load, such as documents with their edges to code."""

    nodes: Mapping[str, Collection[Node]] = {}
    edges: Mapping[EdgeKind, Collection[Edge]] = {}
    meta: Mapping[str, str] = {}


class WorkBeside(Protocol):
    """Work beside a load, from the rows that it has collected."""

    def more_rows(self) -> MoreRows:
        """More rows for the graph. Called when the others are loaded."""
        ...

    def wait(self) -> None:
        """Wait for the rest. Called before the graph becomes current and the collected rows are deleted."""
        ...


class BulkLoad:
    """Collects rows; `build` creates the database from them. `Store.bulk_load` also makes it current.

    Other processes may spool rows into `directory` as well; `count` adds the numbers of their rows.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        self._spools = Spools(directory, "own")
        self._is_complete = False
        self.rows: Final[Counter[Table]] = Counter()
        """Number of rows by table, as far as they have been counted."""
        self._wide_bytes = 0

    def nodes(self, label: str, rows: Iterable[Node]) -> None:
        self._spools.nodes(label, rows)

    def edges(self, kind: EdgeKind, rows: Iterable[Edge]) -> None:
        self._spools.edges(kind, rows)

    def batch(self, table: Table, batch: Any) -> None:
        """Add a record batch of pyarrow, which must have the columns of the table. Raises `ValueError` if it does
        not."""
        self._spools.batch(table, batch)

    def count(self, written: Mapping[Table, int]) -> None:
        """Add the numbers of rows that another process has spooled."""
        self.rows.update(written)

    def complete(self) -> None:
        """Close the spools of this process: no more rows will be added, and others can read them."""
        if not self._is_complete:
            self._is_complete = True
            self.count(self._spools.close())

    def reserve(self, size: int) -> None:
        """Make room in the buffer pool for rows that are much wider than others."""
        self._wide_bytes += size

    def build(
        self,
        database: Path,
        meta: Mapping[str, str],
        more: Callable[[], MoreRows] | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        """Write the database file, complete and without a log. `more` is called when all rows are loaded. `columns` are
        statements that add columns to the tables."""
        self.complete()
        require_room(database, self.rows.total())
        try:
            pool = _POOL_FLOOR + _POOL_PER_ROW * max(self.rows.values(), default=0) + self._wide_bytes
            # One thread: with two, a COPY takes as long, and a fifth more CPU.
            with contextlib.closing(Session(database, write=True, pool=pool, threads=1, is_bulk=True)) as session:
                # In one transaction, because each waits for the disk.
                for statement in ("BEGIN TRANSACTION", *create_statements(), *columns, "COMMIT"):
                    session.run(statement)
                self._copy(session, self.directory, {**meta, "schema": str(SCHEMA_VERSION)})
                if more is not None:
                    self._add(session, more())
        except EngineFailure as failure:
            raise loading_error(database, str(failure)) from failure
        with database.open("rb") as file:
            os.fsync(file.fileno())

    def discard(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _add(self, session: Session, more: MoreRows) -> None:
        directory = self.directory / "more"
        directory.mkdir()
        spools = Spools(directory, "own")
        for label, nodes in more.nodes.items():
            spools.nodes(label, nodes)
        for kind, edges in more.edges.items():
            spools.edges(kind, edges)
        spools.close()
        self._copy(session, directory, more.meta)

    def _copy(self, session: Session, directory: Path, meta: Mapping[str, str]) -> None:
        for label in NODE_COLUMNS:
            if (rows := spooled_rows(directory, label)) is not None:
                session.copy(f"COPY {label} FROM $rows", rows)
        for kind in EDGE_KINDS:
            if (rows := spooled_rows(directory, kind)) is not None:
                session.copy(f"COPY {kind.label} FROM $rows (from='{kind.source}', to='{kind.target}')", rows)
        if meta:
            pairs = [{"id": name, "value": value} for name, value in meta.items()]
            session.run(f"UNWIND $rows AS r CREATE (:{META_TABLE} {{id: r.id, value: r.value}})", rows=pairs)
