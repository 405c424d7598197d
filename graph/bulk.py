"""The load of a whole graph at once, into a new database file.

Rows are spooled to Parquet files as they come, so that the memory they take does not grow with the repository, and
copied in by the engine at the end: one COPY for each pair of tables, since appending to a loaded one rewrites it.
Nothing here touches the current database; making the new one current is `store`'s affair.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from golore.graph.engine import EngineFailure, Session, loading_error, require_room
from golore.graph.errors import StoreError
from golore.graph.model import EDGE_KINDS, Edge, EdgeKind, Node
from golore.graph.schema import (
    EDGE_COLUMNS,
    META_TABLE,
    NODE_COLUMNS,
    SCHEMA_VERSION,
    Column,
    create_statements,
    edge_columns_of,
    node_columns_of,
)

_BATCH: Final = 16_384
"""Rows turned into columns together: many small row groups would slow the COPY, large ones hold memory."""
_POOL_FLOOR: Final = 512 << 20
_POOL_PER_ROW: Final = 400
"""A COPY of edges needs room for all rows of its table: about 170 bytes each were measured."""


class _Spool:
    """The Parquet file of one table."""

    def __init__(self, path: Path, columns: Iterable[Column]) -> None:
        pa = self._arrow = _arrow()
        types = {"STRING": pa.string(), "INT64": pa.int64(), "BOOL": pa.bool_(), "STRING[]": pa.list_(pa.string())}
        self._schema: Any = pa.schema([(column.name, types[column.type]) for column in columns])
        self._writer: Any = importlib.import_module("pyarrow.parquet").ParquetWriter(
            path, self._schema, compression="snappy", use_dictionary=False, write_statistics=False
        )
        self.path = path
        self.rows = 0

    def write(self, columns: list[list[Any]]) -> None:
        pa = self._arrow
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.rows += len(columns[0])

    def close(self) -> None:
        self._writer.close()


class BulkLoad:
    """Collects rows; `build` makes the database of them. Use it through `Store.bulk_load`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._nodes: dict[str, list[Node]] = {label: [] for label in NODE_COLUMNS}
        self._edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in EDGE_KINDS}
        self._spools: dict[str | EdgeKind, _Spool] = {}
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()

    def nodes(self, label: str, rows: Iterable[Node]) -> None:
        pending = self._nodes[label]
        pending.extend(rows)
        if len(pending) >= _BATCH:
            self._flush_nodes(label)

    def edges(self, kind: EdgeKind, rows: Iterable[Edge]) -> None:
        pending = self._edges[kind]
        pending.extend(rows)
        if len(pending) >= _BATCH:
            self._flush_edges(kind)

    def build(self, database: Path, marks: Mapping[str, str]) -> None:
        """Write the database file, complete and without a log beside it."""
        for label in self._nodes:
            self._flush_nodes(label)
        for kind in self._edges:
            self._flush_edges(kind)
        for spool in self._spools.values():
            spool.close()
        require_room(database, sum(spool.rows for spool in self._spools.values()))
        most = max((spool.rows for spool in self._spools.values()), default=0)
        try:
            pool = _POOL_FLOOR + _POOL_PER_ROW * most
            with contextlib.closing(Session(database, write=True, pool=pool, checkpoint_on_close=True)) as session:
                self._copy(session, marks)
        except EngineFailure as failure:
            raise loading_error(database, str(failure)) from failure
        self.discard()
        with database.open("rb") as file:
            os.fsync(file.fileno())

    def discard(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _copy(self, session: Session, marks: Mapping[str, str]) -> None:
        for statement in create_statements():
            session.run(statement)
        for label in NODE_COLUMNS:
            if label in self._spools:
                session.run(f"COPY {label} FROM {_quoted(self._spools[label].path)}")
        for kind in EDGE_KINDS:
            if kind in self._spools:
                ends = f"(from='{kind.source}', to='{kind.target}')"
                session.run(f"COPY {kind.label} FROM {_quoted(self._spools[kind].path)} {ends}")
        notes = {**marks, "schema": str(SCHEMA_VERSION)}
        for name, value in notes.items():
            session.run(f"CREATE (:{META_TABLE} {{id: $id, value: $value}})", id=name, value=value)

    def _flush_nodes(self, label: str) -> None:
        rows = self._nodes[label]
        if rows:
            self._nodes[label] = []
            self._write(label, label, NODE_COLUMNS[label], node_columns_of(label, rows))

    def _flush_edges(self, kind: EdgeKind) -> None:
        rows = self._edges[kind]
        if rows:
            self._edges[kind] = []
            ends = (Column("source", "STRING"), Column("target", "STRING"))
            columns = (*ends, *EDGE_COLUMNS[kind.label])
            self._write(kind, "-".join(kind), columns, edge_columns_of(kind, rows))

    def _write(self, key: str | EdgeKind, name: str, columns: tuple[Column, ...], values: list[list[Any]]) -> None:
        try:
            if key not in self._spools:
                self._spools[key] = _Spool(self._directory / f"{name}.parquet", columns)
            self._spools[key].write(values)
        except OSError as failure:
            raise StoreError(
                f"The rows of the graph cannot be written to {self._directory}: {failure.strerror or failure}. "
                "Make room or check the permissions, and try again."
            ) from failure


def _arrow() -> Any:
    """Loaded late, since it takes a tenth of a second that only a load needs; it ships no types."""
    return importlib.import_module("pyarrow")


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
