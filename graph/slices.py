"""The part of the graph that some packages make up, as the store has it, and what changes between two such parts.

A package owns its node, its files, its symbols, its unresolved uses, and every edge that begins in one of those.
`IMPLEMENTS` and the nodes outside the repository belong to no package; they are asked for by themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from golore.graph.delta import GraphDelta
from golore.graph.model import EDGE_KINDS, Edge, EdgeKind, External, Node
from golore.graph.schema import EDGE_COLUMNS, NODE_COLUMNS, edge_from, node_from
from golore.graph.store import Store

SHARED_LABELS = frozenset(("IMPLEMENTS",))
_OWNER = {"Package": "id", "File": "package", "Symbol": "package"}
"""The property by which a node tells its package."""


def _no_nodes() -> defaultdict[str, list[Node]]:
    return defaultdict(list)


def _no_edges() -> defaultdict[EdgeKind, list[Edge]]:
    return defaultdict(list)


@dataclass(frozen=True, slots=True)
class Slice:
    """Nodes by label and edges by kind."""

    nodes: defaultdict[str, list[Node]] = field(default_factory=_no_nodes)
    edges: defaultdict[EdgeKind, list[Edge]] = field(default_factory=_no_edges)

    def add(self, other: Slice) -> None:
        for label, rows in other.nodes.items():
            self.nodes[label] += rows
        for kind, rows in other.edges.items():
            self.edges[kind] += rows


def read_slice(store: Store, packages: Collection[str]) -> Slice:
    """What the store has of these packages."""
    found = Slice()
    given = {"ids": sorted(packages)}
    for label, owner in _OWNER.items():
        found.nodes[label] += _nodes(store, label, f"n.{owner} IN $ids", given)
    files = {"ids": [node[0] for node in found.nodes["File"]]}
    found.nodes["Unresolved"] += _nodes(store, "Unresolved", "n.file IN $ids", files)
    for kind in EDGE_KINDS:
        if kind.label in SHARED_LABELS:
            continue
        end, owner = ("b", "id") if kind.source == "Repository" else ("a", _OWNER[kind.source])
        found.edges[kind] += _edges(store, kind, f"{end}.{owner} IN $ids", given)
    return found


def read_edges(store: Store, kind: EdgeKind) -> list[Edge]:
    return _edges(store, kind, "", {})


def read_externals(store: Store, ids: Collection[str]) -> dict[str, External]:
    rows = _nodes(store, "External", "n.id IN $ids", {"ids": sorted(ids)})
    return {row.id: row for row in rows if isinstance(row, External)}


def still_used(store: Store, externals: Collection[str], without: Collection[str]) -> set[str]:
    """Which of these nodes outside are used by packages other than the given ones."""
    used: set[str] = set()
    given = {"ids": sorted(externals), "without": sorted(without)}
    for kind in EDGE_KINDS:
        if kind.target == "External" and kind.label not in SHARED_LABELS:
            statement = (
                f"MATCH (a:{kind.source})-[e:{kind.label}]->(b:External) "
                "WHERE b.id IN $ids AND NOT a.package IN $without RETURN DISTINCT b.id"
            )
            used.update(row[0] for row in store.rows(statement, given))
    return used


def difference(old: Slice, new: Slice, marks: Mapping[str, str]) -> GraphDelta:
    """The delta that turns one slice into the other."""
    removed: dict[str, Sequence[str]] = {}
    added: dict[str, Sequence[Node]] = {}
    changed: dict[str, Sequence[Node]] = {}
    for label in sorted(old.nodes.keys() | new.nodes.keys()):
        before = {row[0]: row for row in old.nodes.get(label, ())}
        after = {row[0]: row for row in new.nodes.get(label, ())}
        removed[label] = sorted(before.keys() - after.keys())
        added[label] = [after[id] for id in sorted(after.keys() - before.keys())]
        changed[label] = [after[id] for id in sorted(after.keys() & before.keys()) if after[id] != before[id]]
    edges_removed: dict[EdgeKind, Sequence[tuple[str, str]]] = {}
    edges_added: dict[EdgeKind, Sequence[Edge]] = {}
    edges_changed: dict[EdgeKind, Sequence[Edge]] = {}
    for kind in sorted(old.edges.keys() | new.edges.keys()):
        first = _by_ends(old.edges.get(kind, ()))
        last = _by_ends(new.edges.get(kind, ()))
        edges_removed[kind] = sorted(first.keys() - last.keys())
        edges_added[kind] = [last[ends] for ends in sorted(last.keys() - first.keys())]
        edges_changed[kind] = [last[ends] for ends in sorted(last.keys() & first.keys()) if last[ends] != first[ends]]
    return GraphDelta(removed, added, changed, edges_removed, edges_added, edges_changed, dict(marks))


def _by_ends(edges: Iterable[Edge]) -> dict[tuple[str, str], Edge]:
    return {(edge.source, edge.target): edge for edge in edges}


def _nodes(store: Store, label: str, condition: str, given: Mapping[str, object]) -> list[Node]:
    values = ", ".join(f"n.`{column.name}`" for column in NODE_COLUMNS[label])
    rows = store.rows(f"MATCH (n:{label}) WHERE {condition} RETURN {values}", given)
    return [node_from(label, row) for row in rows]


def _edges(store: Store, kind: EdgeKind, condition: str, given: Mapping[str, object]) -> list[Edge]:
    values = "".join(f", e.`{column.name}`" for column in EDGE_COLUMNS[kind.label])
    where = f" WHERE {condition}" if condition else ""
    rows = store.rows(
        f"MATCH (a:{kind.source})-[e:{kind.label}]->(b:{kind.target}){where} RETURN a.id, b.id{values}", given
    )
    return [edge_from(kind, row[0], row[1], row[2:]) for row in rows]
