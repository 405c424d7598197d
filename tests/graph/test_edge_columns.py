from __future__ import annotations

from collections.abc import Iterable

import pytest
from golore.graph.model.edge_columns import EdgeColumns, EdgeTables, TextColumn, lines_of_text, text_of_lines
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_PROPERTIES, EdgeKind
from golore.graph.model.entities import Edge
from golore.graph.model.tables import edge_columns_of

FULL = Edge("a", "b", (3, 40), "static", True, ("read", "write"))


def columns_of(kind: EdgeKind, rows: Iterable[Edge]) -> EdgeColumns:
    columns = EdgeColumns(kind)
    for row in rows:
        columns.add_row(row)
    return columns


def as_stored(kind: EdgeKind, row: Edge) -> Edge:
    """The edge without the properties that its label does not have."""
    properties = EDGE_PROPERTIES[kind.label]
    return Edge(row.source, row.target)._replace(**{name: getattr(row, name) for name in properties})


@pytest.mark.parametrize("kind", EDGE_KINDS, ids="-".join)
def test_edges_of_every_kind_come_back_with_the_properties_of_their_label(kind: EdgeKind) -> None:
    rows = [FULL, Edge("a", "c"), Edge("b", "a", (7,), "call")]
    columns = columns_of(kind, rows)
    assert list(columns.rows()) == [as_stored(kind, row) for row in rows]
    assert len(columns) == 3


@pytest.mark.parametrize("kind", EDGE_KINDS, ids="-".join)
def test_columns_have_the_values_that_the_tables_have(kind: EdgeKind) -> None:
    rows = [FULL, Edge("a", "c"), Edge("b", "a", (7,), "call")]
    found = [
        column.values() if isinstance(column, TextColumn) else column for column in columns_of(kind, rows).columns()
    ]
    assert found == edge_columns_of(kind, rows)


def test_a_text_that_recurs_is_kept_once() -> None:
    column = TextColumn()
    for text in ("x", "y", "x", "x"):
        column.add(text)
    assert column.texts == ["x", "y"]
    assert column.positions == [0, 1, 0, 0]


def test_cleared_columns_begin_again() -> None:
    calls = EdgeKind("CALLS", "Symbol", "Symbol")
    columns = columns_of(calls, [FULL])
    columns.clear()
    columns.add_row(Edge("c", "d"))
    assert list(columns.rows()) == [Edge("c", "d")]


def test_the_columns_of_a_kind_are_made_once() -> None:
    tables = EdgeTables()
    calls = EdgeKind("CALLS", "Symbol", "Symbol")
    assert tables.of(calls) is tables.of(EdgeKind("CALLS", "Symbol", "Symbol"))
    assert list(tables.by_kind) == [calls]


@pytest.mark.parametrize("lines", [(), (1,), (1, 20, 300)])
def test_lines_come_back_from_their_text(lines: tuple[int, ...]) -> None:
    assert lines_of_text(text_of_lines(lines)) == lines
    assert lines_of_text(None) == ()
