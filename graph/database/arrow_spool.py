"""Writes the rows of a new database to Arrow files: one for each table and writing process.

Rows are converted to columns and written as they arrive, so that memory use does not grow with the repository and
several processes can write at once. `bulk_load` copies the files into a database. They are mapped into memory to be
read, so nothing has to be decoded, neither by the engine nor by what is made of the rows meanwhile.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from golore.graph.database.arrow import import_arrow
from golore.graph.errors import StoreError
from golore.graph.model.edge_columns import EdgeColumns, EdgeTables, TextColumn
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, Column, node_columns_of

_BATCH: Final = 16_384
_NODE_BATCH: Final = 4_096
"""Edges and nodes to collect before they are written: many small batches slow the COPY, large ones take memory, and a
node takes several times the memory of an edge."""
_RECURRING: Final = "RECURRING"
"""Type of a column of texts that recur. It is written as a dictionary, which is smaller, and quicker to look up."""

Table = str | EdgeKind
"""A node label or an edge kind."""


def table_name(table: Table) -> str:
    return table if isinstance(table, str) else "-".join(table)


def spool_files(directory: Path, table: Table) -> list[Path]:
    """The files with the rows of a table, in the directory of a load."""
    return sorted(directory.glob(f"{table_name(table)}.*.arrow"))


def spooled_rows(directory: Path, table: Table) -> Any:
    """The rows of a table as a `pyarrow.Table`, or None if there are none. All spools must be closed."""
    pa = import_arrow()
    parts = [pa.ipc.open_stream(pa.memory_map(str(path))).read_all() for path in spool_files(directory, table)]
    return pa.concat_tables(parts) if parts else None


class Spools:
    """The files of one process, in the directory of a load. `writer` distinguishes the processes."""

    def __init__(self, directory: Path, writer: str) -> None:
        self._directory = directory
        self._writer = writer
        self._nodes: dict[str, list[Node]] = {label: [] for label in NODE_COLUMNS}
        self.edges_by_kind: Final = EdgeTables()
        """The edges that are not in a file yet. Who adds some calls `write_full_columns` afterwards."""
        self._files: dict[Table, ArrowFile] = {}

    def nodes(self, label: str, rows: Iterable[Node]) -> None:
        pending = self._nodes[label]
        pending.extend(rows)
        if len(pending) >= _NODE_BATCH:
            self._flush_nodes(label)

    def edges(self, kind: EdgeKind, rows: Iterable[Edge]) -> None:
        columns = self.edges_by_kind.of(kind)
        for row in rows:
            columns.add_row(row)
        self._flush_edges(columns, _BATCH)

    def write_full_columns(self) -> None:
        """Write those edges of which there are enough for a batch."""
        for columns in self.edges_by_kind.by_kind.values():
            self._flush_edges(columns, _BATCH)

    def batch(self, table: Table, batch: Any) -> None:
        """Write a record batch of pyarrow, which must have the columns of the table. Raises `ValueError` if it does
        not."""
        columns = NODE_COLUMNS[table] if isinstance(table, str) else _edge_columns(table)
        with self._naming_errors():
            self._file(table, columns).write_batch(batch)

    def close(self) -> dict[Table, int]:
        """Finish the files. Returns the number of rows per table."""
        for label in self._nodes:
            self._flush_nodes(label)
        for columns in self.edges_by_kind.by_kind.values():
            self._flush_edges(columns, 1)
        for spool in self._files.values():
            spool.close()
        return {table: spool.rows for table, spool in self._files.items()}

    def _flush_nodes(self, label: str) -> None:
        rows = self._nodes[label]
        if rows:
            self._nodes[label] = []
            self._write(label, NODE_COLUMNS[label], node_columns_of(label, rows))

    def _flush_edges(self, edges: EdgeColumns, least: int) -> None:
        if len(edges) >= least:
            self._write(edges.kind, _edge_columns(edges.kind), edges.columns())
            edges.clear()

    def _write(self, table: Table, columns: tuple[Column, ...], values: Sequence[TextColumn | list[Any]]) -> None:
        with self._naming_errors():
            self._file(table, columns).write(values)

    def _file(self, table: Table, columns: tuple[Column, ...]) -> ArrowFile:
        if table not in self._files:
            path = self._directory / f"{table_name(table)}.{self._writer}.arrow"
            self._files[table] = ArrowFile(path, spool_schema(columns))
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


def _edge_columns(kind: EdgeKind) -> tuple[Column, ...]:
    properties = EDGE_COLUMNS[kind.label]
    types = {column.name: _RECURRING if column.type == "STRING" else column.type for column in properties}
    ends = (Column("source", _RECURRING), Column("target", _RECURRING))
    return (*ends, *(Column(name, type) for name, type in types.items()))


def spool_schema(columns: Iterable[Column]) -> Any:
    """The Arrow schema of a table in a spool file."""
    pa = import_arrow()
    types = {
        "STRING": pa.string(),
        "INT64": pa.int64(),
        "BOOL": pa.bool_(),
        "STRING[]": pa.list_(pa.string()),
        _RECURRING: pa.dictionary(pa.int32(), pa.string()),
    }
    return pa.schema([(column.name, types[column.type]) for column in columns])


class ArrowFile:
    """A new file with the rows of one table."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._arrow = import_arrow()
        self._schema = schema
        self._file: Any = self._arrow.OSFile(str(path), "wb")
        self._writer: Any = self._arrow.ipc.new_stream(self._file, schema)
        self.rows = 0

    def write(self, columns: Sequence[TextColumn | list[Any]]) -> None:
        pa = self._arrow
        arrays = [
            self._dictionary(values) if isinstance(values, TextColumn) else pa.array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self.rows += len(arrays[0])

    def _dictionary(self, column: TextColumn) -> Any:
        pa = self._arrow
        size = len(column.positions)
        positions = struct.pack(f"{size}i", *column.positions)  # three times as fast as through an array
        indices = pa.Array.from_buffers(pa.int32(), size, [None, pa.py_buffer(positions)])
        return pa.DictionaryArray.from_arrays(indices, pa.array(column.texts, pa.string()), safe=False)

    def write_batch(self, batch: Any) -> None:
        if batch.schema.names != self._schema.names:
            raise ValueError(f"wrong columns: {batch.schema.names}")
        self._writer.write_batch(batch.cast(self._schema))
        self.rows += batch.num_rows

    def close(self) -> None:
        self._writer.close()
        self._file.close()
