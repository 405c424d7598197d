"""The tables of the graph, derived from the named tuples in `entities`, and the migrations of older databases.

`create_statements()` creates a new database; `MIGRATIONS[n + 1]` updates a database from version n to n + 1. The
statements are plain Cypher that both engines accept. This module does not run them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast, get_type_hints

from golore.graph.model.edge_columns import accesses_of_text, lines_of_text, text_of_lines
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_PROPERTIES, EdgeKind
from golore.graph.model.entities import (
    Doc,
    Edge,
    External,
    File,
    Node,
    Note,
    Package,
    Repository,
    Summary,
    Symbol,
    Unresolved,
)

SCHEMA_VERSION: Final = 8

META_TABLE: Final = "Meta"
"""Key-value rows about the state of the store; not part of the graph."""
META_VALUE: Final = f"MATCH (m:{META_TABLE} {{id: $id}}) RETURN m.value"
"""The query for one meta row. One text for all of them, because the engine takes 2 ms to prepare another one."""

NODE_TYPES: Final[dict[str, type[Node]]] = {
    row.__name__: row for row in (Repository, Package, File, Symbol, External, Unresolved, Note, Summary, Doc)
}


class Column(NamedTuple):
    """`encode` converts a value of a row for the engine, `decode` converts it back; None means no conversion."""

    name: str
    type: str
    encode: Callable[[Any], object] | None = None
    decode: Callable[[Any], Any] | None = None


class _AccessTexts(dict[tuple[str, ...], str]):
    """Accesses → text, such as "read write"."""

    def __missing__(self, accesses: tuple[str, ...]) -> str:
        text = " ".join(accesses)
        if len(accesses) < 4:
            self[accesses] = text
        return text


_access_texts: Final = _AccessTexts()


def _column(name: str, hint: object) -> Column:
    if hint is str:
        return Column(name, "STRING")
    if hint is int:
        return Column(name, "INT64")
    if hint is bool:
        return Column(name, "BOOL")
    if hint == tuple[str, ...]:
        return Column(name, "STRING[]", list, tuple)
    if hint == tuple[int, ...]:
        return Column(name, "STRING", text_of_lines, lines_of_text)
    raise TypeError(f"no column type for {name}: {hint!r}")


def _columns(row: type) -> tuple[Column, ...]:
    return tuple(_column(name, hint) for name, hint in get_type_hints(row).items())


NODE_COLUMNS: Final = {label: _columns(row) for label, row in NODE_TYPES.items()}
_EDGE_COLUMNS: Final = {
    **{column.name: column for column in _columns(Edge)},
    "access": Column("access", "STRING", _access_texts.__getitem__, accesses_of_text),  # as text, like `sites`
}
EDGE_COLUMNS: Final = {label: tuple(_EDGE_COLUMNS[name] for name in names) for label, names in EDGE_PROPERTIES.items()}
_EDGE_POSITIONS: Final = {
    label: tuple(Edge._fields.index(name) for name in names) for label, names in EDGE_PROPERTIES.items()
}


def create_statements() -> tuple[str, ...]:
    """The whole schema, for an empty database."""
    meta = f"CREATE NODE TABLE {META_TABLE}(id STRING, value STRING, PRIMARY KEY(id))"
    return (meta, *map(_node_table, NODE_COLUMNS), *map(_edge_table, EDGE_COLUMNS))


def _node_table(label: str) -> str:
    columns = ", ".join(f"`{column.name}` {column.type}" for column in NODE_COLUMNS[label])
    return f"CREATE NODE TABLE {label}({columns}, PRIMARY KEY(id))"


def _edge_table(label: str) -> str:
    ends = ", ".join(f"FROM {kind.source} TO {kind.target}" for kind in EDGE_KINDS if kind.label == label)
    columns = "".join(f", `{column.name}` {column.type}" for column in EDGE_COLUMNS[label])
    return f"CREATE REL TABLE {label}({ends}{columns})"


MIGRATIONS: Final[dict[int, tuple[str, ...]]] = {
    2: (
        *map(_node_table, ("Note", "Summary", "Doc")),
        *map(_edge_table, ("CHANGES_WITH", "DESCRIBES", "SUMMARIZES", "SUPERSEDES")),
    ),
    3: ("ALTER TABLE REFERENCES ADD access STRING DEFAULT ''",),
    4: ("ALTER TABLE IMPORTS ADD evidence STRING DEFAULT ''",),
    5: (_edge_table("CONVERTS"),),
    6: ("ALTER TABLE File ADD origin STRING DEFAULT ''",),
    7: (_edge_table("INVOKES"),),
    8: (_edge_table("RUNS_IF"), _edge_table("SETS")),
}
"""Statements by the version they produce. Each entry runs in one transaction that also stores the version number."""


def node_columns_of(label: str, rows: Sequence[Node]) -> list[list[Any]]:
    """The rows as one list of encoded values per column."""
    return [_column_values(column, at, rows) for at, column in enumerate(NODE_COLUMNS[label])]


def edge_columns_of(kind: EdgeKind, rows: Sequence[Edge]) -> list[list[Any]]:
    """Like `node_columns_of`, for edges: sources, targets, then the columns of the label."""
    properties = zip(EDGE_COLUMNS[kind.label], _EDGE_POSITIONS[kind.label], strict=True)
    ends: list[list[Any]] = [list(map(itemgetter(0), rows)), list(map(itemgetter(1), rows))]
    return ends + [_column_values(column, at, rows) for column, at in properties]


def _column_values(column: Column, at: int, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    # Column by column: `zip(*rows)` takes ten times as long, because it advances thousands of iterators at once.
    values = map(itemgetter(at), rows)
    return list(values if column.encode is None else map(column.encode, values))


def node_from(label: str, values: Sequence[Any]) -> Node:
    """Build a node from values that the engine returned in column order."""
    make = cast("Callable[..., Node]", NODE_TYPES[label])
    pairs = zip(NODE_COLUMNS[label], values, strict=True)
    return make(*(value if column.decode is None else column.decode(value) for column, value in pairs))


def edges_from(kind: EdgeKind, rows: Iterable[Sequence[Any]]) -> Iterator[Edge]:
    """Build edges from rows of source, target and the columns of the label."""
    defaults = Edge("", "")
    columns = EDGE_COLUMNS[kind.label]
    at = {column.name: position for position, column in enumerate(columns, start=2)}
    sites, evidence, pointer, access = (at.get(name) for name in ("sites", "evidence", "pointer", "access"))
    for row in rows:
        yield Edge(
            row[0],
            row[1],
            defaults.sites if sites is None else lines_of_text(row[sites]),
            defaults.evidence if evidence is None else row[evidence],
            defaults.pointer if pointer is None else row[pointer],
            defaults.access if access is None else accesses_of_text(row[access]),
        )


def edge_from(kind: EdgeKind, source: str, target: str, values: Sequence[Any]) -> Edge:
    return next(edges_from(kind, ((source, target, *values),)))
