"""What changes between two states of the graph: rows to remove, to add and to change.

A delta is made by the learner and applied by `store.Store.apply` in one transaction. It says nothing about how the
difference was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Node


def _no_ids() -> dict[str, Sequence[str]]:
    return {}


def _no_nodes() -> dict[str, Sequence[Node]]:
    return {}


def _no_nodes_before() -> dict[str, Mapping[str, Node]]:
    return {}


def _no_pairs() -> dict[EdgeKind, Sequence[tuple[str, str]]]:
    return {}


def _no_edges() -> dict[EdgeKind, Sequence[Edge]]:
    return {}


def _no_marks() -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class GraphDelta:
    """Edges of a removed node go with it and need not be listed. `marks` are the learner's own notes on the graph's
    state, kept in the same transaction and not exported.

    `nodes_before` tells by id what changed nodes were, as far as it is known: then only what differs is written.
    """

    nodes_removed: Mapping[str, Sequence[str]] = field(default_factory=_no_ids)
    nodes_added: Mapping[str, Sequence[Node]] = field(default_factory=_no_nodes)
    nodes_changed: Mapping[str, Sequence[Node]] = field(default_factory=_no_nodes)
    edges_removed: Mapping[EdgeKind, Sequence[tuple[str, str]]] = field(default_factory=_no_pairs)
    edges_added: Mapping[EdgeKind, Sequence[Edge]] = field(default_factory=_no_edges)
    edges_changed: Mapping[EdgeKind, Sequence[Edge]] = field(default_factory=_no_edges)
    meta: Mapping[str, str] = field(default_factory=_no_marks)
    nodes_before: Mapping[str, Mapping[str, Node]] = field(default_factory=_no_nodes_before)

    def __len__(self) -> int:
        """How many rows it touches; an empty delta is false and is never written."""
        parts: tuple[Iterable[Sequence[object]], ...] = (
            self.nodes_removed.values(),
            self.nodes_added.values(),
            self.nodes_changed.values(),
            self.edges_removed.values(),
            self.edges_added.values(),
            self.edges_changed.values(),
        )
        return sum(len(rows) for part in parts for rows in part) + len(self.meta)
