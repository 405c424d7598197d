"""Copies nodes that no Go file declares into the graph: notes, summaries and documents, with their edges to code.

The copy serves queries and exports. An update compares all nodes of a label with those in the graph, because there are
thousands of them and not millions; if it is known which changed, only those. A stored mark shows when there is nothing
to compare. An edge to code that the graph does not have is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph, difference, read_edges, read_meta, read_nodes
from golore.graph.errors import StoreBusy
from golore.graph.files.identity import graph_identity, record_equivalent_state
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node

_FOLD_BYTES: Final = 1 << 17
"""Bytes of log that make an open take 1.5 times as long."""


class Projection(NamedTuple):
    """All nodes of one label, and all edges that start at them. With `ids`, only the nodes with these ids and their
    edges; the others stay unchanged. `mark` identifies everything that the projection was made from."""

    label: str
    nodes: Collection[Node]
    edges: Mapping[EdgeKind, Collection[Edge]]
    inputs_key: str
    ids: Collection[str] | None = None


def is_projected(store: Store, label: str, mark: str) -> bool:
    """Whether the graph contains the projection with this mark. A newly loaded graph has no projections."""
    return projection_key(store, label) == mark


def projection_key(store: Store, label: str) -> str:
    """The mark of the projection in the graph; empty if there is none."""
    return read_meta(store, meta_name(label))


def project(store_directory: Path, projection: Projection, *, wait: float | None = None) -> int:
    """Write the difference between the projection and the graph. Returns the number of rows written. Raises `StoreBusy`
    if another process writes to the store for longer than `wait` seconds."""
    return project_from_stored_key(store_directory, projection.label, lambda _: projection, wait=wait)


def project_from_stored_key(
    store_directory: Path, label: str, make: Callable[[str], Projection], *, wait: float | None = None
) -> int:
    """Like `project`, but calls `make` with the mark in the graph to get the projection, while no other process can
    write."""
    opened = (
        Store.open(store_directory, write=True) if wait is None else Store.open(store_directory, write=True, wait=wait)
    )
    with opened as store:
        if store.is_empty:
            return 0
        mark = projection_key(store, label)
        projection = make(mark)
        if projection.inputs_key == mark:
            return 0
        delta = difference(*_old_and_new(store, projection), {meta_name(label): projection.inputs_key})
        identity = graph_identity(store_directory)
        store.apply(delta)
        record_equivalent_state(store_directory, identity)
        return len(delta) - len(delta.meta)


def _old_and_new(store: Store, projection: Projection) -> tuple[Subgraph, Subgraph]:
    """The projected part of the graph, as it is and as it should be."""
    old, new = Subgraph(), Subgraph()
    label, ids = projection.label, projection.ids
    old.nodes[label] += store.nodes(label) if ids is None else read_nodes(store, label, ids)
    new.nodes[label] += projection.nodes
    kinds = [kind for kind in EDGE_KINDS if kind.source == label]
    outgoing = {} if ids is None else store.edges_out_of(label, [node[0] for node in old.nodes[label]])
    for kind in kinds:
        old.edges[kind] += read_edges(store, kind) if ids is None else outgoing.get(kind, ())
        new.edges[kind] += _with_targets(store, kind, projection.edges.get(kind, ()), projection)
    return old, new


def _with_targets(store: Store, kind: EdgeKind, edges: Collection[Edge], projection: Projection) -> list[Edge]:
    known: set[str] = set()
    wanted = {edge.target for edge in edges}
    if kind.target == kind.source:
        known = {node[0] for node in projection.nodes}
        # A complete projection lists all nodes of its label, so there is no other target to look up.
        wanted = set[str]() if projection.ids is None else wanted.difference(known, projection.ids)
    if wanted:
        statement = f"UNWIND $ids AS i MATCH (n:{kind.target} {{id: i}}) RETURN n.id"
        known |= {row[0] for row in store.rows(statement, {"ids": sorted(wanted)})}
    return [edge for edge in edges if edge.target in known]


def meta_name(label: str) -> str:
    """The name of the meta row with the mark of a projection."""
    return f"projected {label}"


def fold_log(store_directory: Path) -> None:
    """Fold the log of the graph into the database file if it is long, because every open reads all of it. Does nothing
    if the store is busy."""
    with suppress(StoreBusy), Store.open(store_directory, write=True, wait=0) as store:
        if not store.is_empty and store.log_bytes > _FOLD_BYTES:
            identity = graph_identity(store_directory)
            store.checkpoint()
            record_equivalent_state(store_directory, identity)
