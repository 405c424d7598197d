"""Nodes and edges as Arrow tables, with lists as lists: line numbers are numbers, not text as in the database."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, get_type_hints

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_LABELS, EDGE_PROPERTIES
from golore.graph.model.entities import Edge
from golore.graph.model.tables import NODE_TYPES

_ENDS: Final = ("source", "source_label", "target", "target_label")


def arrow_table(store: Store, label: str) -> Any:
    """The nodes or edges of a label as a `pyarrow.Table`. Raises `UsageError` for a label that does not exist."""
    if label in NODE_TYPES:
        return _table(get_type_hints(NODE_TYPES[label]), list(zip(*store.nodes(label), strict=True)))
    if label not in EDGE_LABELS:
        raise UsageError(f"There is no label {label!r}. Use one of {', '.join((*NODE_TYPES, *EDGE_LABELS))}.")
    hints = get_type_hints(Edge)
    names = EDGE_PROPERTIES[label]
    rows = (
        (edge.source, kind.source, edge.target, kind.target, *(getattr(edge, name) for name in names))
        for kind in EDGE_KINDS
        if kind.label == label
        for edge in store.edges(kind)
    )
    types = {**dict.fromkeys(_ENDS, str), **{name: hints[name] for name in names}}
    return _table(types, list(zip(*rows, strict=True)))


def _table(hints: dict[str, Any], columns: Sequence[Iterable[Any]]) -> Any:
    pa = importlib.import_module("pyarrow")
    types: dict[Any, Any] = {
        str: pa.string(),
        int: pa.int64(),
        bool: pa.bool_(),
        tuple[str, ...]: pa.list_(pa.string()),
        tuple[int, ...]: pa.list_(pa.int64()),
    }
    schema: Any = pa.schema([(name, types[hint]) for name, hint in hints.items()])
    given = columns or [()] * len(hints)
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(given, schema, strict=True)], schema=schema
    )
