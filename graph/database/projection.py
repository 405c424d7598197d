"""Puts nodes that no Go file declares into the graph: notes, summaries, documents, and what they are about.

The graph's copy is there for questions and exports. It is brought up to date by comparing all of a sort with what the
graph has, as there are thousands of them, not millions, or some, where it is known which have changed; a mark tells
where there is nothing to compare. An edge to code that the graph does not have is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph, difference, read_edges, read_meta, read_nodes
from golore.graph.errors import StoreBusy
from golore.graph.files.identity import graph_identity, record_same_identity
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node

_MUCH: Final = 1 << 17
"""Bytes of log that make an open take half as long again."""


class Projection(NamedTuple):
    """All nodes of one label, and all edges that begin at them; or with `ids`, what is to be of these nodes, and the
    others stay as they are. `mark` names everything that these were made from."""

    label: str
    nodes: Collection[Node]
    edges: Mapping[EdgeKind, Collection[Edge]]
    mark: str
    ids: Collection[str] | None = None


def is_projected(store: Store, label: str, mark: str) -> bool:
    """Whether the graph has what this mark stands for. A graph that was loaded anew has nothing and no marks."""
    return projection_meta(store, label) == mark


def projection_meta(store: Store, label: str) -> str:
    return read_meta(store, _mark_of(label))


def project(store_directory: Path, projection: Projection, *, wait: float | None = None) -> int:
    """Write the difference, if there is any; how many rows that were. Raises `StoreBusy` where a learn goes on for
    longer than the wait."""
    return project_since(store_directory, projection.label, lambda _: projection, wait=wait)


def project_since(
    store_directory: Path, label: str, make: Callable[[str], Projection], *, wait: float | None = None
) -> int:
    """The same for what is made when nobody else can write, from the mark that the graph has."""
    opened = (
        Store.open(store_directory, write=True) if wait is None else Store.open(store_directory, write=True, wait=wait)
    )
    with opened as store:
        if store.is_empty:
            return 0
        mark = projection_meta(store, label)
        projection = make(mark)
        if projection.mark == mark:
            return 0
        delta = difference(*_slices(store, projection), {_mark_of(label): projection.mark})
        identity = graph_identity(store_directory)
        store.apply(delta)
        record_same_identity(store_directory, identity)
        return len(delta) - len(delta.meta)


def _slices(store: Store, projection: Projection) -> tuple[Subgraph, Subgraph]:
    """What the graph has, and what it is to have."""
    old, new = Subgraph(), Subgraph()
    label, ids = projection.label, projection.ids
    old.nodes[label] += store.nodes(label) if ids is None else read_nodes(store, label, ids)
    new.nodes[label] += projection.nodes
    kinds = [kind for kind in EDGE_KINDS if kind.source == label]
    leading = {} if ids is None else store.edges_out_of(label, [node[0] for node in old.nodes[label]])
    for kind in kinds:
        old.edges[kind] += read_edges(store, kind) if ids is None else leading.get(kind, ())
        new.edges[kind] += _with_targets(store, kind, projection.edges.get(kind, ()), projection)
    return old, new


def _with_targets(store: Store, kind: EdgeKind, edges: Collection[Edge], projection: Projection) -> list[Edge]:
    known: set[str] = set()
    wanted = {edge.target for edge in edges}
    if kind.target == kind.source:
        known = {node[0] for node in projection.nodes}
        # What this is all about has no more nodes of the label than it says.
        wanted = set[str]() if projection.ids is None else wanted.difference(known, projection.ids)
    if wanted:
        statement = f"UNWIND $ids AS i MATCH (n:{kind.target} {{id: i}}) RETURN n.id"
        known |= {row[0] for row in store.rows(statement, {"ids": sorted(wanted)})}
    return [edge for edge in edges if edge.target in known]


def _mark_of(label: str) -> str:
    return f"projected {label}"


def fold_log(store_directory: Path) -> None:
    """Fold what was put into a graph since it was loaded into its file, where that is much: every open reads it all."""
    with suppress(StoreBusy), Store.open(store_directory, write=True, wait=0) as store:
        if not store.is_empty and store.log_bytes > _MUCH:
            identity = graph_identity(store_directory)
            store.checkpoint()
            record_same_identity(store_directory, identity)
