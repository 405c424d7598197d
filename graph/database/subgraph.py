"""Reads the parts of the stored graph that belong to packages or files, and computes the delta between two parts.

A package owns its node, its files, its symbols, its unresolved uses, and every edge that starts at one of those.
`IMPLEMENTS` edges and external nodes belong to no package and are read separately. Nodes and edges that are projected
into the graph, such as notes (see `projection`), belong to no package either.

A few files are read by their keys, at a cost that does not grow with the graph; many packages by scanning the tables.
The engine plans a pattern with a condition on its far end as a scan of a whole table, so the reads by key have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from golore.graph.database.store import Store
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_columns import accesses_of_text, lines_of_text
from golore.graph.model.edge_kinds import EDGE_KINDS, FROM_TEXT, SHARED, EdgeKind
from golore.graph.model.entities import REPOSITORY_ID, Edge, External, Node, Symbol
from golore.graph.model.tables import (
    EDGE_COLUMNS,
    META_VALUE,
    NODE_COLUMNS,
    edge_from,
    edges_from,
    node_from,
)

_TEXT_LABELS = "|".join(FROM_TEXT)
_SYMBOL_LABELS = "|".join(
    sorted({kind.label for kind in EDGE_KINDS if kind.source == "Symbol" and kind.label not in SHARED})
)
_FEW_PACKAGES = 60
_FEW_FILES = 120
"""Up to this many files, reading them one by one is faster than scanning the tables of a large repository."""
_FEW_OWNERS = 300
"""Up to this many symbols, asking each for what it contains is faster than a pattern of several steps, for which the
engine reads all edges of the label."""
_IN_REPOSITORY = EdgeKind("CONTAINS", "Repository", "Package")
_IN_PACKAGE = EdgeKind("CONTAINS", "Package", "File")
_IN_FILE = EdgeKind("CONTAINS", "File", "Symbol")
_IN_SYMBOL = EdgeKind("CONTAINS", "Symbol", "Symbol")
_PACKAGE_PROPERTY = {"Package": "id", "File": "package", "Symbol": "package"}
"""The property of a node that holds the id of its package."""


def _no_nodes() -> defaultdict[str, list[Node]]:
    return defaultdict(list)


def _no_edges() -> defaultdict[EdgeKind, list[Edge]]:
    return defaultdict(list)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes by label and edges by kind."""

    nodes: defaultdict[str, list[Node]] = field(default_factory=_no_nodes)
    edges: defaultdict[EdgeKind, list[Edge]] = field(default_factory=_no_edges)

    def add(self, other: Subgraph) -> None:
        for label, rows in other.nodes.items():
            self.nodes[label] += rows
        for kind, rows in other.edges.items():
            self.edges[kind] += rows


def read_packages(store: Store, packages: Collection[str]) -> Subgraph:
    """The stored nodes and edges of these packages."""
    found = Subgraph()
    found.nodes["Package"] += read_nodes(store, "Package", packages)
    known = [node[0] for node in found.nodes["Package"]]
    if len(known) <= _FEW_PACKAGES:
        files = {id: [path for path, _ in read_digests(store, id)] for id in known}
        if sum(map(len, files.values())) <= _FEW_FILES:
            for id, paths in files.items():
                found.edges[_IN_REPOSITORY].append(Edge(REPOSITORY_ID, id))
                found.edges[_IN_PACKAGE] += [Edge(id, path) for path in paths]
                _add_files(store, found, paths, _SYMBOL_LABELS)
            return found
    _scan(store, found, {"ids": sorted(packages)})
    return found


def read_files(store: Store, paths: Iterable[str]) -> Subgraph:
    """The stored nodes and edges that follow from the text of these files alone: without the CONTAINS, IMPLEMENTS and
    TESTS edges of their declarations."""
    found = Subgraph()
    _add_files(store, found, paths, _TEXT_LABELS)
    return found


def read_digests(store: Store, package: str) -> list[tuple[str, str]]:
    """The files of a package with their stored digests."""
    rows = store.rows("MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File) RETURN f.id, f.digest", {"id": package})
    return sorted((row[0], row[1]) for row in rows)


def read_meta(store: Store, name: str) -> str:
    """One value from the meta table; empty if there is none."""
    if store.is_empty:
        return ""
    return next((row[0] for row in store.rows(META_VALUE, {"id": name})), "")


def read_nodes(store: Store, label: str, ids: Iterable[str]) -> list[Node]:
    values = _values(label)
    rows = store.rows(f"UNWIND $ids AS i MATCH (n:{label} {{id: i}}) RETURN {values}", {"ids": sorted(set(ids))})
    return [node_from(label, row) for row in rows]


def read_edges(store: Store, kind: EdgeKind) -> list[Edge]:
    return _edges(store, kind, "", {})


def read_edges_at(store: Store, label: str, end: str, ids: Iterable[str]) -> Iterator[tuple[EdgeKind, Edge]]:
    """The edges of a label whose `source` or `target` is one of these symbols."""
    link = f"-[e:{label}]->" if end == "source" else f"<-[e:{label}]-"
    statement = f"MATCH (n:Symbol {{id: $id}}){link}(m) RETURN label(m), m.id{_properties(label)}"
    for id in ids:
        for row in store.rows(statement, {"id": id}):
            ends = (id, row[1]) if end == "source" else (row[1], id)
            kind = EdgeKind(label, "Symbol", row[0] if end == "source" else "Symbol")
            yield kind, edge_from(kind, *ends, row[2:])


def read_externals(store: Store, ids: Collection[str]) -> dict[str, External]:
    return {row.id: row for row in read_nodes(store, "External", ids) if isinstance(row, External)}


def used_elsewhere(store: Store, externals: Mapping[str, int]) -> set[str]:
    """Those of these external nodes that have more incoming edges than the number parameters for each."""
    statement = "MATCH (b:External {id: $id})<-[e]-(a) RETURN count(*)"
    return {id for id, count in externals.items() if next(store.rows(statement, {"id": id}))[0] > count}


def difference(old: Subgraph, new: Subgraph, meta: Mapping[str, str]) -> GraphDelta:
    """The delta that turns `old` into `new` and sets these meta rows."""
    removed: dict[str, Sequence[str]] = {}
    added: dict[str, Sequence[Node]] = {}
    changed: dict[str, Sequence[Node]] = {}
    known: dict[str, Mapping[str, Node]] = {}
    for label in sorted(old.nodes.keys() | new.nodes.keys()):
        before = {row[0]: row for row in old.nodes.get(label, ())}
        after = {row[0]: row for row in new.nodes.get(label, ())}
        removed[label] = sorted(before.keys() - after.keys())
        added[label] = [after[id] for id in sorted(after.keys() - before.keys())]
        changed[label] = [after[id] for id in sorted(after.keys() & before.keys()) if after[id] != before[id]]
        known[label] = before
    edges_removed: dict[EdgeKind, Sequence[tuple[str, str]]] = {}
    edges_added: dict[EdgeKind, Sequence[Edge]] = {}
    edges_changed: dict[EdgeKind, Sequence[Edge]] = {}
    known_edges: dict[EdgeKind, Mapping[tuple[str, str], Edge]] = {}
    for kind in sorted(old.edges.keys() | new.edges.keys()):
        first = _by_ends(old.edges.get(kind, ()))
        last = _by_ends(new.edges.get(kind, ()))
        edges_removed[kind] = sorted(first.keys() - last.keys())
        edges_added[kind] = [last[ends] for ends in sorted(last.keys() - first.keys())]
        edges_changed[kind] = [last[ends] for ends in sorted(last.keys() & first.keys()) if last[ends] != first[ends]]
        known_edges[kind] = first
    return GraphDelta(
        removed, added, changed, edges_removed, edges_added, edges_changed, dict(meta), known, known_edges
    )


def _by_ends(edges: Iterable[Edge]) -> dict[tuple[str, str], Edge]:
    return {(edge.source, edge.target): edge for edge in edges}


def _add_files(store: Store, found: Subgraph, paths: Iterable[str], labels: str) -> None:
    paths = sorted(paths)
    found.nodes["File"] += read_nodes(store, "File", paths)
    found.nodes["Unresolved"] += _nodes(store, "Unresolved", "n.file IN $ids", {"ids": paths})
    declared: list[str] = []
    for path in paths:
        own: list[str] = []
        rows = store.rows(
            "MATCH (f:File {id: $id})-[e:CONTAINS|IMPORTS]->(b) RETURN label(e), label(b), b.id, e.sites, e.evidence",
            {"id": path},
        )
        for label, target_label, target, sites, evidence in rows:
            kind = EdgeKind(label, "File", target_label)
            found.edges[kind].append(Edge(path, target, lines_of_text(sites), evidence or ""))
            if kind == _IN_FILE:
                own.append(target)
        declared += own
        members, nested = _members(store, path, own)
        declared += members
        if "CONTAINS" in labels.split("|"):
            found.edges[_IN_SYMBOL] += nested
        rows = store.rows(
            f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol)-[e:{labels}]->(b) "
            "RETURN label(e), label(b), s.id, b.id, e.sites, e.evidence, e.pointer, e.access",
            {"id": path},
        )
        for label, target_label, source, target, sites, evidence, pointer, access in rows:
            edge = Edge(source, target, lines_of_text(sites), evidence or "", bool(pointer), accesses_of_text(access))
            found.edges[EdgeKind(label, "Symbol", target_label)].append(edge)
    wanted = set(paths)
    symbols = read_nodes(store, "Symbol", declared)
    found.nodes["Symbol"] += [row for row in symbols if isinstance(row, Symbol) and row.file in wanted]


def _members(store: Store, path: str, declared: Sequence[str]) -> tuple[list[str], list[Edge]]:
    """The fields, also nested ones, and interface methods of a file's declarations. They are contained only in their
    type, which may also have methods in other files; those are returned, too. The edges are those that start at fields:
    no declaration of the file is their source."""
    found: list[str] = []
    nested: list[Edge] = []
    for level in contained(store, path, declared, "s.id"):
        nested += [Edge(owner, id) for owner, id in level] if found else []
        found += [id for _, id in level]
    return found, nested


def contained(store: Store, path: str, declared: Sequence[str], columns: str) -> Iterator[list[list[Any]]]:
    """What the declarations of a file contain, and what that contains, level by level: the ids of the owner and of each
    symbol `s`, then columns of it, which must begin with its id."""
    pattern = "MATCH (f:File {id: $id})-[:CONTAINS]->(o:Symbol)"
    owners = declared
    while owners:
        if len(owners) <= _FEW_OWNERS:
            statement = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN o.id, {columns}"
            rows = [row for id in owners for row in store.rows(statement, {"id": id})]
        else:
            rows = list(store.rows(f"{pattern}-[:CONTAINS]->(s:Symbol) RETURN o.id, {columns}", {"id": path}))
        if rows:
            yield rows
        owners = [row[1] for row in rows]
        pattern = f"{pattern.replace('(o:Symbol)', '(:Symbol)')}-[:CONTAINS]->(o:Symbol)"


def _scan(store: Store, found: Subgraph, parameters: Mapping[str, object]) -> None:
    for label in ("File", "Symbol"):
        found.nodes[label] += _nodes(store, label, "n.package IN $ids", parameters)
    files = {"ids": [node[0] for node in found.nodes["File"]]}
    found.nodes["Unresolved"] += _nodes(store, "Unresolved", "n.file IN $ids", files)
    for kind in EDGE_KINDS:
        if kind.label in SHARED:
            continue
        end, owner = ("b", "id") if kind.source == "Repository" else ("a", _PACKAGE_PROPERTY[kind.source])
        found.edges[kind] += _edges(store, kind, f"{end}.{owner} IN $ids", parameters)


def _values(label: str) -> str:
    return ", ".join(f"n.`{column.name}`" for column in NODE_COLUMNS[label])


def _properties(label: str) -> str:
    return "".join(f", e.`{column.name}`" for column in EDGE_COLUMNS[label])


def _nodes(store: Store, label: str, condition: str, parameters: Mapping[str, object]) -> list[Node]:
    rows = store.rows(f"MATCH (n:{label}) WHERE {condition} RETURN {_values(label)}", parameters)
    return [node_from(label, row) for row in rows]


def _edges(store: Store, kind: EdgeKind, condition: str, parameters: Mapping[str, object]) -> list[Edge]:
    where = f" WHERE {condition}" if condition else ""
    pattern = f"(a:{kind.source})-[e:{kind.label}]->(b:{kind.target})"
    columns = store.columns(f"MATCH {pattern}{where} RETURN a.id, b.id{_properties(kind.label)}", parameters)
    return list(edges_from(kind, zip(*columns, strict=True)))
