"""The part of a graph that the facts of some files come from (see `WholeGraph`), so that one of several processes that
each collect the facts of other files need not convert the whole graph.

Edges of other files are left out in Arrow, which takes a tenth of the time of making Python objects of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from golore.graph.database.arrow import import_arrow
from golore.graph.database.graph_tables import ArrowTables
from golore.graph.model.edge_kinds import USES, EdgeKind

_USES: Final = tuple(EdgeKind(label, "Symbol", "Symbol") for label in USES)
_OTHERS: Final = (EdgeKind("TESTS", "Symbol", "Symbol"), EdgeKind("IMPLEMENTS", "Symbol", "Symbol"))
_OUTWARD: Final = (EdgeKind("IMPLEMENTS", "Symbol", "External"), EdgeKind("INVOKES", "Symbol", "External"))


class ShareTables(ArrowTables):
    """Tables with the symbols of a share of the files, the edges that their facts come from, and the symbols at the
    other ends of these. `share`: the paths of all files of some directories."""

    def __init__(self, tables: ArrowTables, share: Collection[str]) -> None:
        self._tables = tables
        self._arrow = import_arrow("pyarrow.compute")
        self._edges: dict[EdgeKind, Any] = {}
        symbols = tables.node_table("Symbol", ("kind", "file"))
        self._symbols = self._arrow.array([], self._arrow.int32())
        if symbols is not None:
            self._select(symbols, share)

    def node_table(self, label: str, names: Sequence[str]) -> Any:
        table = self._tables.node_table(label, names)
        if label != "Symbol" or table is None:
            return table
        taken = table.take(self._symbols)
        # A dictionary would still have the texts of all symbols.
        for index, field in enumerate(taken.schema):
            if self._arrow.types.is_dictionary(field.type):
                decoded = taken.column(index).cast(field.type.value_type)
                taken = taken.set_column(index, field.name, decoded)
        return taken

    def node_columns(self, label: str, names: Sequence[str]) -> list[list[Any]]:
        numbers, *columns = super().node_columns(label, names)
        return [self._symbols.to_pylist() if label == "Symbol" else numbers, *columns]

    def edge_table(self, kind: EdgeKind, names: Sequence[str] = ()) -> Any:
        table = self._tables.edge_table(kind, names)
        return table if table is None or kind not in self._edges else table.filter(self._edges[kind])

    def number(self, kinds: Iterable[EdgeKind]) -> None:
        self._tables.number(kinds)

    def _select(self, symbols: Any, share: Collection[str]) -> None:
        compute = self._arrow.compute
        kinds, files = (symbols.column(index).combine_chunks() for index in range(2))
        own = compute.is_in(files.cast("string"), value_set=self._arrow.array(share, "string"))
        in_test = compute.ends_with(files.cast("string"), "_test.go")
        is_method = compute.equal(kinds.cast("string"), "imethod")
        ends = [compute.indices_nonzero(own).cast("int32")]
        for kind in (*_USES, *_OTHERS, *_OUTWARD):
            table = self._tables.edge_table(kind)
            if table is None:
                continue
            source, target = (table.column(index).combine_chunks() for index in range(2))
            if kind in _OUTWARD:
                is_kept = own.take(source) if kind.label == "IMPLEMENTS" else compute.is_valid(source)
            elif kind in _OTHERS:
                is_kept = compute.or_(own.take(source), own.take(target))
            else:
                # Helpers in test files lead to the tests that use a file.
                is_kept = compute.and_(in_test.take(source), in_test.take(target))
                is_kept = compute.or_(is_kept, own.take(target))
                if kind.label == "CALLS":
                    is_kept = compute.or_(is_kept, compute.or_(own.take(source), is_method.take(target)))
            self._edges[kind] = is_kept
            ends.append(source.filter(is_kept))
            if kind not in _OUTWARD:
                ends.append(target.filter(is_kept))
        self._symbols = self._arrow.concat_arrays(ends).unique().sort()
