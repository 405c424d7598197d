"""Whole tables of a graph, column by column: from the database, or from the rows that are about to be loaded into it.

What is made of the whole graph, such as all cards, can so be made while the engine loads the rows.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from golore.graph.database.arrow import import_arrow
from golore.graph.database.parquet_spool import Table, spool_files
from golore.graph.model.edge_kinds import EdgeKind


class GraphTables(Protocol):
    """`Store` and `SpooledGraph`. A node is identified by a number, which is valid for this object only."""

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        """The numbers of all nodes of a label, then these columns. The order of the nodes is not defined."""
        ...

    def edge_columns(self, kind: EdgeKind, names: Sequence[str] = ()) -> list[list[Any]]:
        """The numbers of the sources and of the targets of all edges of a kind, then these columns."""
        ...


class SpooledGraph:
    """The rows that a `BulkLoad` has collected in a directory. All spools must be closed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._arrow = import_arrow()
        self._compute: Any = importlib.import_module("pyarrow.compute")
        self._ids: dict[str, Any] = {}

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        table = self._read(label, names)
        if table is None:
            return [[] for _ in range(len(names) + 1)]
        return [list(range(table.num_rows)), *(self._values(table.column(name)) for name in names)]

    def edge_columns(self, kind: EdgeKind, names: Sequence[str] = ()) -> list[list[Any]]:
        found: list[list[Any]] = [[] for _ in range(len(names) + 2)]
        ends = (("source", kind.source), ("target", kind.target))
        for table in self._parts(kind, ("source", "target", *names)):  # one at a time: the ids of both ends are long
            numbers = [self._numbers(table.column(end), label).to_pylist() for end, label in ends]
            for column, values in zip(
                found, (*numbers, *(self._values(table.column(name)) for name in names)), strict=True
            ):
                column += values
        return found

    def _values(self, column: Any) -> list[Any]:
        """The values of a column. Equal texts are one object: most kinds, paths and lines recur."""
        if not self._arrow.types.is_string(column.type) or column.null_count:
            return column.to_pylist()
        encoded = column.combine_chunks().dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        return [texts[at] for at in encoded.indices.to_pylist()]

    def _numbers(self, ids: Any, label: str) -> Any:
        """The numbers of these nodes."""
        if label not in self._ids:
            self._ids[label] = self._read(label, ("id",)).column("id").combine_chunks()
        return self._compute.index_in(ids, value_set=self._ids[label])

    def _read(self, table: Table, names: Sequence[str]) -> Any:
        """The columns of a table, or None if it has no rows."""
        parts = list(self._parts(table, names))
        return self._arrow.concat_tables(parts) if parts else None

    def _parts(self, table: Table, names: Sequence[str]) -> Iterator[Any]:
        for path in spool_files(self._directory, table):
            # Not `read_table`, which imports `pyarrow.dataset`, and that numpy.
            with self._arrow.parquet.ParquetFile(path) as file:
                yield file.read(columns=list(names), use_threads=False)
