"""Puts nodes that no Go file declares into the graph: notes, summaries, documents, and what they are about.

The graph's copy is there for questions and exports. It is brought up to date by comparing all of a sort with what the
graph has, as there are thousands of them, not millions; a mark tells where there is nothing to compare. An edge to code
that the graph does not have is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from golore.graph.identity import graph_identity, keep_identity
from golore.graph.model import EDGE_KINDS, Edge, EdgeKind, Node
from golore.graph.slices import Slice, difference, read_edges, read_mark
from golore.graph.store import Store


class Projection(NamedTuple):
    """All nodes of one label, and all edges that begin at them. `mark` names everything that these were made from."""

    label: str
    nodes: Collection[Node]
    edges: Mapping[EdgeKind, Collection[Edge]]
    mark: str


def is_projected(store: Store, label: str, mark: str) -> bool:
    """Whether the graph has what this mark stands for. A graph that was loaded anew has nothing and no marks."""
    return read_mark(store, _mark_of(label)) == mark


def project(store_directory: Path, projection: Projection, *, wait: float | None = None) -> int:
    """Write the difference, if there is any; how many rows that were. Raises `StoreBusy` where a learn goes on for
    longer than the wait."""
    opened = (
        Store.open(store_directory, write=True) if wait is None else Store.open(store_directory, write=True, wait=wait)
    )
    with opened as store:
        if store.is_empty or is_projected(store, projection.label, projection.mark):
            return 0
        kinds = [kind for kind in EDGE_KINDS if kind.source == projection.label]
        old, new = Slice(), Slice()
        old.nodes[projection.label] += store.nodes(projection.label)
        new.nodes[projection.label] += projection.nodes
        for kind in kinds:
            old.edges[kind] += read_edges(store, kind)
            new.edges[kind] += _with_targets(store, kind, projection.edges.get(kind, ()), projection.nodes)
        delta = difference(old, new, {_mark_of(projection.label): projection.mark})
        identity = graph_identity(store_directory)
        store.apply(delta)
        keep_identity(store_directory, identity)
        return len(delta) - len(delta.marks)


def _with_targets(store: Store, kind: EdgeKind, edges: Collection[Edge], nodes: Iterable[Node]) -> list[Edge]:
    if kind.target == kind.source:
        known = {node[0] for node in nodes}
    else:
        wanted = sorted({edge.target for edge in edges})
        statement = f"UNWIND $ids AS i MATCH (n:{kind.target} {{id: i}}) RETURN n.id"
        known = {row[0] for row in store.rows(statement, {"ids": wanted})} if wanted else set[str]()
    return [edge for edge in edges if edge.target in known]


def _mark_of(label: str) -> str:
    return f"projected {label}"
