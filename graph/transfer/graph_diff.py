"""The differences between two graphs, such as two snapshots: nodes and edges that were added, removed or changed.

Both graphs are read in id order and compared while reading; neither is held in memory. Nodes are matched by id, edges
by their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import read_transaction
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.entities import Edge, Node, Symbol
from golore.graph.model.tables import NODE_COLUMNS
from golore.graph.transfer.jsonl_export import encoded_rows

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
_POSITION_FIELDS: Final = frozenset(("line", "end_line", "start", "end", "sites"))


class Difference(NamedTuple):
    """`kind` is the kind of a symbol, otherwise empty. `how` is `ADDED`, `REMOVED` or `CHANGED`. For an edge, `id` and
    `target` are its ends. `fields` are the changed fields, each with its old and its new value."""

    type: str
    label: str
    kind: str
    how: str
    id: str
    target: str = ""
    fields: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def is_moved(self) -> bool:
        """Whether only its position in the file changed."""
        return bool(self.fields) and all(name in _POSITION_FIELDS for name, _, _ in self.fields)


def differences(before: Store, after: Store) -> Iterator[Difference]:
    """The differences of nodes by label and id, then of edges by kind and ends."""
    for label in sorted(NODE_COLUMNS):
        for old, new in _unequal_pairs(before.nodes(label), after.nodes(label), _node_key):
            yield _difference("node", label, old, new)
    for kind in sorted(EDGE_KINDS):
        for old, new in _unequal_pairs(before.edges(kind), after.edges(kind), _edge_key):
            yield _difference("edge", kind.label, old, new)


def knowledge_differences(before: Knowledge | None, after: Knowledge | None) -> Iterator[Difference]:
    """Rows that were added or removed; a changed row is both."""
    old, new = _all_rows(before), _all_rows(after)
    for table, row in sorted(old ^ new):
        yield Difference("knowledge", table, "", REMOVED if (table, row) in old else ADDED, row)


_Row = TypeVar("_Row", Node, Edge)


def _unequal_pairs(
    before: Iterable[_Row], after: Iterable[_Row], key: Callable[[_Row], tuple[str, ...]]
) -> Iterator[tuple[_Row | None, _Row | None]]:
    """The rows that differ between two sorted sequences, as pairs; None if one side has no such row."""
    old_rows, new_rows = iter(before), iter(after)
    old, new = next(old_rows, None), next(new_rows, None)
    while old is not None or new is not None:
        if new is None or (old is not None and key(old) < key(new)):
            yield old, None
            old = next(old_rows, None)
        elif old is None or key(new) < key(old):
            yield None, new
            new = next(new_rows, None)
        else:
            if old != new:
                yield old, new
            old, new = next(old_rows, None), next(new_rows, None)


def _node_key(node: Node) -> tuple[str, ...]:
    return (node.id,)


def _edge_key(edge: Edge) -> tuple[str, ...]:
    return (edge.source, edge.target)


def _difference(type: str, label: str, old: Node | Edge | None, new: Node | Edge | None) -> Difference:
    row = new if new is not None else old
    assert row is not None
    how = CHANGED if old is not None and new is not None else ADDED if old is None else REMOVED
    kind = row.kind if isinstance(row, Symbol) else ""
    fields: tuple[tuple[str, Any, Any], ...] = ()
    if old is not None and new is not None:
        pairs = zip(old._fields, old, new, strict=True)
        fields = tuple((name, was, now) for name, was, now in pairs if was != now)
    ends = (row.source, row.target) if isinstance(row, Edge) else (row.id, "")
    return Difference(type, label, kind, how, *ends, fields)


def _all_rows(knowledge: Knowledge | None) -> set[tuple[str, str]]:
    if knowledge is None:
        return set()
    with read_transaction(knowledge):
        return set(encoded_rows(knowledge))
