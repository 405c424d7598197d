"""Writes the graph as GraphML, for Gephi, yEd and other programs: every node, then every edge, as they are read.

Nodes have numbers as ids, because nodes of different labels may share an id; the id of the graph is the attribute `id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TextIO
from xml.sax.saxutils import escape

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS
from golore.graph.safety.visible_text import visible_block

_TYPES: Final = {"INT64": "long", "BOOL": "boolean"}
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def export_graphml(store: Store, out: TextIO) -> None:
    for line in _lines(store):
        out.write(line)


def _lines(store: Store) -> Iterator[str]:
    yield _HEAD
    yield from _keys("node", NODE_COLUMNS)
    yield from _keys("edge", EDGE_COLUMNS)
    yield '<graph edgedefault="directed">\n'
    numbers: dict[tuple[str, str], int] = {}
    for label in sorted(NODE_COLUMNS):
        names = [column.name for column in NODE_COLUMNS[label]]
        for node in store.nodes(label):
            number = numbers[label, node.id] = len(numbers)
            yield f'<node id="n{number}">{_data("node", "label", label)}'
            yield "".join(_data("node", name, value) for name, value in zip(names, node, strict=True))
            yield "</node>\n"
    for kind in sorted(EDGE_KINDS):
        names = [column.name for column in EDGE_COLUMNS[kind.label]]
        for edge in store.edges(kind):
            source, target = numbers[kind.source, edge.source], numbers[kind.target, edge.target]
            yield f'<edge source="n{source}" target="n{target}">{_data("edge", "label", kind.label)}'
            yield "".join(_data("edge", name, getattr(edge, name)) for name in names)
            yield "</edge>\n"
    yield "</graph>\n</graphml>\n"


def _keys(end: str, tables: dict[str, tuple[Any, ...]]) -> Iterator[str]:
    types = {"label": "string"}
    for columns in tables.values():
        types.update((column.name, _TYPES.get(column.type, "string")) for column in columns)
    for name, type in sorted(types.items()):
        yield f'<key id="{end}.{name}" for="{end}" attr.name="{name}" attr.type="{type}"/>\n'


def _data(end: str, name: str, value: object) -> str:
    """An attribute; empty ones are left out. XML has no control characters: they become visible escapes."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, tuple):
        value = " ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    shown = escape(visible_block(str(value)))
    return f'<data key="{end}.{name}">{shown}</data>' if shown else ""
