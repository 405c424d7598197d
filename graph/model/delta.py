"""The changes between two states of the graph: rows to remove, to add and to change.

`store.Store.apply` applies a delta in one transaction.
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


def _no_edges_before() -> dict[EdgeKind, Mapping[tuple[str, str], Edge]]:
    return {}


def _no_pairs() -> dict[EdgeKind, Sequence[tuple[str, str]]]:
    return {}


def _no_edges() -> dict[EdgeKind, Sequence[Edge]]:
    return {}


def _no_meta() -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class GraphDelta:
    """Nodes are grouped by label, edges by kind. Edges of a removed node are removed with it and need not be listed.
    `meta` holds rows to set in the meta table; they are not part of the graph.

    `nodes_before` has the previous values of changed nodes by id, and `edges_before` those of changed edges by source
    and target, as far as they are known: then only the columns that differ are written.
    """

    nodes_removed: Mapping[str, Sequence[str]] = field(default_factory=_no_ids)
    nodes_added: Mapping[str, Sequence[Node]] = field(default_factory=_no_nodes)
    nodes_changed: Mapping[str, Sequence[Node]] = field(default_factory=_no_nodes)
    edges_removed: Mapping[EdgeKind, Sequence[tuple[str, str]]] = field(default_factory=_no_pairs)
    edges_added: Mapping[EdgeKind, Sequence[Edge]] = field(default_factory=_no_edges)
    edges_changed: Mapping[EdgeKind, Sequence[Edge]] = field(default_factory=_no_edges)
    meta: Mapping[str, str] = field(default_factory=_no_meta)
    nodes_before: Mapping[str, Mapping[str, Node]] = field(default_factory=_no_nodes_before)
    edges_before: Mapping[EdgeKind, Mapping[tuple[str, str], Edge]] = field(default_factory=_no_edges_before)

    def __len__(self) -> int:
        """Number of rows that the delta touches. An empty delta is falsy and is never written."""
        parts: tuple[Iterable[Sequence[object]], ...] = (
            self.nodes_removed.values(),
            self.nodes_added.values(),
            self.nodes_changed.values(),
            self.edges_removed.values(),
            self.edges_added.values(),
            self.edges_changed.values(),
        )
        return sum(len(rows) for part in parts for rows in part) + len(self.meta)
