"""Whole tables of a graph, column by column: from the database, or from the rows that are about to be loaded into it.

What is made of the whole graph, such as all cards, can so be made while the engine loads the rows. `number_rows` saves
tables for several processes, each of which would else have to look up the ids at both ends of all edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from golore.graph.database.arrow import import_arrow
from golore.graph.database.arrow_spool import Table, spooled_rows, table_name
from golore.graph.model.edge_kinds import EdgeKind

_ENDS: Final = ("source", "target")


class GraphTables(Protocol):
    """`Store`, `SpooledGraph` and `NumberedGraph`. A node is identified by a number, which is valid for this object
    only."""

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        """The numbers of all nodes of a label, then these columns. The order of the nodes is not defined."""
        ...

    def matching_nodes(
        self, label: str, names: Sequence[str], column: str, texts: Collection[str], prefix: str = ""
    ) -> list[list[Any]]:
        """These columns of the nodes of a label that have one of these texts in another column, or one that begins with
        `prefix`, if it is given."""
        ...

    def edge_columns(self, kind: EdgeKind, names: Sequence[str] = ()) -> list[list[Any]]:
        """The numbers of the sources and of the targets of all edges of a kind, then these columns."""
        ...

    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        """Like `edge_columns`, as a `pyarrow.Table`; None if there are no edges."""
        ...

    def number(self, kinds: Iterable[EdgeKind]) -> None:
        """Prepare to read the edges of these kinds, which is faster for all at once."""
        ...


class ArrowTables(ABC):
    """Tables of Arrow. A node's number is its position in the table of its label."""

    @abstractmethod
    def node_table(self, label: str, names: Sequence[str]) -> Any:
        """These columns of all nodes of a label, or None if there are none."""

    @abstractmethod
    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        """See `GraphTables`."""

    @abstractmethod
    def number(self, kinds: Iterable[EdgeKind]) -> None:
        """See `GraphTables`."""

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        table = self.node_table(label, names)
        if table is None:
            return [[] for _ in range(len(names) + 1)]
        return [list(range(table.num_rows)), *(_values(column) for column in table.columns)]

    def matching_nodes(
        self, label: str, names: Sequence[str], column: str, texts: Collection[str], prefix: str = ""
    ) -> list[list[Any]]:
        table = self.node_table(label, sorted({*names, column}))
        if table is None:
            return [[] for _ in names]
        arrow = import_arrow("pyarrow.compute")
        compute = arrow.compute
        mask = compute.is_in(table.column(column), value_set=arrow.array(texts, arrow.string()))
        if prefix:
            mask = compute.or_(mask, compute.starts_with(table.column(column), prefix))
        found = table.filter(mask)
        return [_values(found.column(name)) for name in names]

    def edge_columns(self, kind: EdgeKind, names: Sequence[str] = ()) -> list[list[Any]]:
        table = self.edge_table(kind, names)
        if table is None:
            return [[] for _ in range(len(names) + 2)]
        return [_values(column) for column in table.columns]


class _End(NamedTuple):
    """One end of all edges of a kind, in chunks of which each has its own dictionary; 0 is the source, 1 the target."""

    kind: EdgeKind
    position: int
    chunks: list[Any]


class SpooledGraph(ArrowTables):
    """The rows that a `BulkLoad` has collected in a directory. All spools must be closed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._arrow = import_arrow("pyarrow.compute")
        self._ids: dict[str, Any] = {}
        self._numbers: dict[EdgeKind, list[Any]] = {}

    def node_table(self, label: str, names: Sequence[str]) -> Any:
        rows = spooled_rows(self._directory, label)
        return None if rows is None else rows.select(list(names))

    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        self.number([kind])
        numbers = self._numbers[kind]
        if not numbers:
            return None
        columns = [*numbers, *(spooled_rows(self._directory, kind).select(list(names)).columns if names else ())]
        return self._arrow.table(columns, names=[*_ENDS, *names])

    def number(self, kinds: Iterable[EdgeKind]) -> None:
        """Look up the ids at both ends of all edges of these kinds, and keep the numbers. Each time takes a hash table
        of all ids."""
        pending: defaultdict[str, list[_End]] = defaultdict(list)
        for kind in kinds:
            if kind not in self._numbers:
                self._numbers[kind] = [None, None]
                table = spooled_rows(self._directory, kind)
                if table is None:
                    self._numbers[kind] = []
                    continue
                for position, label in enumerate((kind.source, kind.target)):
                    pending[label].append(_End(kind, position, table.column(position).chunks))
        for label, ends in pending.items():
            known = self._ids_of(label)
            # Ids are unique, so that the code of each is its position among the nodes.
            texts = [known, *(chunk.dictionary for end in ends for chunk in end.chunks)]
            codes = self._arrow.concat_arrays(texts).dictionary_encode().indices
            first = len(known)
            for kind, position, chunks in ends:
                numbers: list[Any] = []
                for chunk in chunks:
                    numbers.append(codes.slice(first, len(chunk.dictionary)).take(chunk.indices))
                    first += len(chunk.dictionary)
                self._numbers[kind][position] = self._arrow.concat_arrays(numbers)

    def _ids_of(self, label: str) -> Any:
        if label not in self._ids:
            self._ids[label] = self.node_table(label, ("id",)).column("id").combine_chunks()
        return self._ids[label]


def number_rows(
    graph: SpooledGraph,
    directory: Path,
    nodes: Mapping[str, Sequence[str]],
    edges: Mapping[EdgeKind, Sequence[str]],
) -> None:
    """Save these columns of a graph in a new directory, for `NumberedGraph`."""
    directory.mkdir()
    graph.number(edges)
    tables: dict[Table, Any] = {label: graph.node_table(label, names) for label, names in nodes.items()}
    tables |= {kind: graph.edge_table(kind, names) for kind, names in edges.items()}
    arrow = import_arrow()
    for name, table in tables.items():
        if table is not None:
            with arrow.OSFile(str(directory / table_name(name)), "wb") as file:
                encoded = _encoded(table)
                with arrow.ipc.new_file(file, encoded.schema) as writer:
                    writer.write_table(encoded)


class NumberedGraph(ArrowTables):
    """The tables that `number_rows` has saved. They are mapped into memory, so processes share them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._arrow = import_arrow("pyarrow.compute")

    def node_table(self, label: str, names: Sequence[str]) -> Any:
        return self._table(label, names)

    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        return self._table(kind, (*_ENDS, *names))

    def number(self, kinds: Iterable[EdgeKind]) -> None:
        """All edges are numbered."""

    def _table(self, name: Table, columns: Sequence[str]) -> Any:
        path = self._directory / table_name(name)
        if not path.exists():
            return None
        return self._arrow.ipc.open_file(self._arrow.memory_map(str(path))).read_all().select(list(columns))


def _encoded(table: Any) -> Any:
    """The table in one piece, with texts as dictionaries."""
    types = import_arrow().types
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if types.is_dictionary(field.type) or (types.is_string(field.type) and not column.null_count):
            column = _in_one_piece(column)
        else:
            column = column.combine_chunks()
        table = table.set_column(index, field.name, column)
    return table


def _in_one_piece(column: Any) -> Any:
    """A column of texts as a dictionary."""
    is_encoded = import_arrow().types.is_dictionary(column.type)
    return column.unify_dictionaries().combine_chunks() if is_encoded else column.combine_chunks().dictionary_encode()


def _values(column: Any) -> list[Any]:
    """The values of a column. Equal texts are one object: most kinds, paths and lines recur."""
    arrow = import_arrow()
    types = arrow.types
    if (types.is_int32(column.type) or types.is_int64(column.type)) and not column.null_count:
        found: list[Any] = []
        for chunk in column.chunks:
            found += _integers(chunk)
        return found
    if not (types.is_string(column.type) and not column.null_count) and not types.is_dictionary(column.type):
        return column.to_pylist()
    encoded = _in_one_piece(column)
    texts: list[Any] = encoded.dictionary.to_pylist()
    return [texts[at] for at in _integers(encoded.indices)]


def _integers(array: Any) -> list[int]:
    """The values of an array of integers without nulls, several times as fast as `to_pylist`."""
    first, end = array.offset, array.offset + len(array)
    form = "q" if array.type.bit_width == 64 else "i"
    return memoryview(array.buffers()[1]).cast(form)[first:end].tolist() if end > first else []
