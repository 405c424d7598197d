"""Writes the rows of a new database to Parquet files: one for each table and writing process.

Rows are converted to columns and written as they arrive, so that memory use does not grow with the repository and
several processes can write at once. `bulk_load` copies the files into a database.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from golore.graph.database.arrow import import_arrow
from golore.graph.errors import StoreError
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, Column, edge_columns_of, node_columns_of

_BATCH: Final = 16_384
_NODE_BATCH: Final = 4_096
"""Edges and nodes to collect before they are written: many small row groups slow the COPY, large ones take memory, and
a node takes several times the memory of an edge."""
_ENDS: Final = (Column("source", "STRING"), Column("target", "STRING"))

Table = str | EdgeKind
"""A node label or an edge kind."""


def table_name(table: Table) -> str:
    return table if isinstance(table, str) else "-".join(table)


def spool_files(directory: Path, table: Table) -> list[Path]:
    """The files with the rows of a table, in the directory of a load."""
    return sorted(directory.glob(f"{table_name(table)}.*.parquet"))


class Spools:
    """The files of one process, in the directory of a load. `writer` distinguishes the processes."""

    def __init__(self, directory: Path, writer: str) -> None:
        self._directory = directory
        self._writer = writer
        self._nodes: dict[str, list[Node]] = {label: [] for label in NODE_COLUMNS}
        self._edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in EDGE_KINDS}
        self._files: dict[Table, _Spool] = {}

    def nodes(self, label: str, rows: Iterable[Node]) -> None:
        pending = self._nodes[label]
        pending.extend(rows)
        if len(pending) >= _NODE_BATCH:
            self._flush_nodes(label)

    def edges(self, kind: EdgeKind, rows: Iterable[Edge]) -> None:
        pending = self._edges[kind]
        pending.extend(rows)
        if len(pending) >= _BATCH:
            self._flush_edges(kind)

    def batch(self, table: Table, batch: Any) -> None:
        """Write a record batch of pyarrow, which must have the columns of the table. Raises `ValueError` if it does
        not."""
        ends = () if isinstance(table, str) else _ENDS
        columns = NODE_COLUMNS[table] if isinstance(table, str) else EDGE_COLUMNS[table.label]
        with self._naming_errors():
            self._file(table, (*ends, *columns)).write_batch(batch)

    def close(self) -> dict[Table, int]:
        """Finish the files. Returns the number of rows per table."""
        for label in self._nodes:
            self._flush_nodes(label)
        for kind in self._edges:
            self._flush_edges(kind)
        for spool in self._files.values():
            spool.close()
        return {table: spool.rows for table, spool in self._files.items()}

    def _flush_nodes(self, label: str) -> None:
        rows = self._nodes[label]
        if rows:
            self._nodes[label] = []
            self._write(label, NODE_COLUMNS[label], node_columns_of(label, rows))

    def _flush_edges(self, kind: EdgeKind) -> None:
        rows = self._edges[kind]
        if rows:
            self._edges[kind] = []
            self._write(kind, (*_ENDS, *EDGE_COLUMNS[kind.label]), edge_columns_of(kind, rows))

    def _write(self, table: Table, columns: tuple[Column, ...], values: list[list[Any]]) -> None:
        with self._naming_errors():
            self._file(table, columns).write(values)

    def _file(self, table: Table, columns: tuple[Column, ...]) -> _Spool:
        if table not in self._files:
            path = self._directory / f"{table_name(table)}.{self._writer}.parquet"
            self._files[table] = _Spool(path, columns)
        return self._files[table]

    @contextmanager
    def _naming_errors(self) -> Generator[None]:
        try:
            yield
        except OSError as failure:
            raise StoreError(
                f"The rows of the graph cannot be written to {self._directory}: {failure.strerror or failure}. "
                "Make room or check the permissions, and try again."
            ) from failure


def spool_schema(columns: Iterable[Column]) -> Any:
    """The Arrow schema of a table in a spool file."""
    pa = import_arrow()
    types = {"STRING": pa.string(), "INT64": pa.int64(), "BOOL": pa.bool_(), "STRING[]": pa.list_(pa.string())}
    return pa.schema([(column.name, types[column.type]) for column in columns])


class _Spool:
    """The Parquet file of one table."""

    def __init__(self, path: Path, columns: Iterable[Column]) -> None:
        pa = self._arrow = import_arrow()
        self._schema: Any = spool_schema(columns)
        self._writer: Any = pa.parquet.ParquetWriter(
            path, self._schema, compression="snappy", use_dictionary=False, write_statistics=False
        )
        self.rows = 0

    def write(self, columns: list[list[Any]]) -> None:
        pa = self._arrow
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.rows += len(columns[0])

    def write_batch(self, batch: Any) -> None:
        if batch.schema.names != self._schema.names:
            raise ValueError(f"wrong columns: {batch.schema.names}")
        self._writer.write_batch(batch.cast(self._schema))
        self.rows += batch.num_rows

    def close(self) -> None:
        self._writer.close()
