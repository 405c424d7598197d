"""What differs between two graphs, such as two snapshots of one: nodes and edges that came, went or changed.

Both are read in the order of their ids and compared as they come; no graph is held. A node is the same one where its id
is, an edge where its ends are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import frozen
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.entities import Edge, Node, Symbol
from golore.graph.model.tables import NODE_COLUMNS
from golore.graph.transfer.jsonl_export import held_rows

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
_PLACES: Final = frozenset(("line", "end_line", "start", "end", "sites"))


class Difference(NamedTuple):
    """`kind` tells symbols apart; `fields` are those that changed, each with what it was and what it is."""

    type: str
    label: str
    kind: str
    how: str
    id: str
    target: str = ""
    fields: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def is_moved(self) -> bool:
        """Whether nothing but its place in the file is another."""
        return bool(self.fields) and all(name in _PLACES for name, _, _ in self.fields)


def differences(before: Store, after: Store) -> Iterator[Difference]:
    """Nodes by label and id, then edges by kind and ends."""
    for label in sorted(NODE_COLUMNS):
        for old, new in _joined(before.nodes(label), after.nodes(label), _node_key):
            yield _difference("node", label, old, new)
    for kind in sorted(EDGE_KINDS):
        for old, new in _joined(before.edges(kind), after.edges(kind), _edge_key):
            yield _difference("edge", kind.label, old, new)


def knowledge_differences(before: Knowledge | None, after: Knowledge | None) -> Iterator[Difference]:
    """Rows that came and rows that went; one that changed is both."""
    old, new = _rows(before), _rows(after)
    for table, row in sorted(old ^ new):
        yield Difference("knowledge", table, "", REMOVED if (table, row) in old else ADDED, row)


_Row = TypeVar("_Row", Node, Edge)


def _joined(
    before: Iterable[_Row], after: Iterable[_Row], key: Callable[[_Row], tuple[str, ...]]
) -> Iterator[tuple[_Row | None, _Row | None]]:
    """Pairs of rows that are not the same, from two sorted sequences."""
    olds, news = iter(before), iter(after)
    old, new = next(olds, None), next(news, None)
    while old is not None or new is not None:
        if new is None or (old is not None and key(old) < key(new)):
            yield old, None
            old = next(olds, None)
        elif old is None or key(new) < key(old):
            yield None, new
            new = next(news, None)
        else:
            if old != new:
                yield old, new
            old, new = next(olds, None), next(news, None)


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


def _rows(knowledge: Knowledge | None) -> set[tuple[str, str]]:
    if knowledge is None:
        return set()
    with frozen(knowledge):
        return set(held_rows(knowledge))
