"""Writes a delta to the database in one transaction.

The form of the statements follows measurements: matching both ends of an edge in one pattern, or deleting edges under
an UNWIND, makes both engines scan and join whole tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from golore.graph.database.engine import Session
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import EDGE_COLUMNS, META_TABLE, NODE_COLUMNS, edge_columns_of, node_columns_of

_BATCH: Final = 5_000
_FEW_EDGES: Final = 1_000
"""Up to this many changed edges of a kind are updated in place; for more, deleting and creating them is faster."""

_Item = TypeVar("_Item", Node, Edge)


def write_delta(session: Session, delta: GraphDelta) -> None:
    session.run("BEGIN TRANSACTION")
    for kind, pairs in delta.edges_removed.items():
        _remove_edges(session, kind, pairs)
    recreated = {kind: edges for kind, edges in delta.edges_changed.items() if len(edges) > _FEW_EDGES}
    for kind, edges in recreated.items():
        _remove_edges(session, kind, [(edge.source, edge.target) for edge in edges])
    for label, ids in delta.nodes_removed.items():
        _remove_nodes(session, label, ids)
    for label, nodes in delta.nodes_added.items():
        _add_nodes(session, label, nodes)
    for label, nodes in delta.nodes_changed.items():
        _change_nodes(session, label, nodes, delta.nodes_before.get(label, {}))
    for kind, edges in delta.edges_changed.items():
        if kind not in recreated:
            _change_edges(session, kind, edges, delta.edges_before.get(kind, {}))
    for edges_by_kind in (recreated, delta.edges_added):
        for kind, edges in edges_by_kind.items():
            _add_edges(session, kind, edges)
    for name, value in delta.meta.items():
        session.run(f"MERGE (m:{META_TABLE} {{id: $id}}) SET m.value = $value", id=name, value=value)
    session.run("COMMIT")


def _remove_edges(session: Session, kind: EdgeKind, pairs: Iterable[tuple[str, str]]) -> None:
    targets: dict[str, list[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
    pattern = f"(a:{kind.source} {{id: $source}})-[e:{kind.label}]->(b:{kind.target})"
    for source, ids in targets.items():
        session.run(f"MATCH {pattern} WHERE b.id IN $targets DELETE e", source=source, targets=ids)


def _remove_nodes(session: Session, label: str, ids: Iterable[str]) -> None:
    for identity in ids:
        # Not DETACH DELETE: in Kuzu 0.11.3 it leaves phantom edges between two removed nodes.
        session.run(f"MATCH (n:{label} {{id: $id}})-[e]->() DELETE e", id=identity)
        session.run(f"MATCH (n:{label} {{id: $id}})<-[e]-() DELETE e", id=identity)
        session.run(f"MATCH (n:{label} {{id: $id}}) DELETE n", id=identity)


def _add_nodes(session: Session, label: str, nodes: Sequence[Node]) -> None:
    properties = ", ".join(f"`{column.name}`: r.`{column.name}`" for column in NODE_COLUMNS[label])
    for rows in _node_rows(label, nodes):
        session.run(f"UNWIND $rows AS r CREATE (:{label} {{{properties}}})", rows=rows)


def _change_nodes(session: Session, label: str, nodes: Sequence[Node], before: Mapping[str, Node]) -> None:
    """Set only the columns that differ: each column set makes the log longer, and every open reads the log."""
    groups: dict[tuple[int, ...], list[Node]] = {}
    for node in nodes:
        old = before.get(node[0])
        columns = tuple(at for at in range(1, len(node)) if old is None or old[at] != node[at])
        groups.setdefault(columns, []).append(node)
    names = [column.name for column in NODE_COLUMNS[label]]
    for columns, group in groups.items():
        settings = ", ".join(f"n.`{names[at]}` = r.`{names[at]}`" for at in columns)
        for rows in _node_rows(label, group, (0, *columns)):
            session.run(f"UNWIND $rows AS r MATCH (n:{label} {{id: r.id}}) SET {settings}", rows=rows)


def _change_edges(
    session: Session, kind: EdgeKind, edges: Sequence[Edge], before: Mapping[tuple[str, str], Edge]
) -> None:
    """Update edges one by one: for a few, this takes as long as creating them again and writes half as much log. Like
    `_change_nodes`, set only the columns that differ: after most edits, only the lines do."""
    names = [column.name for column in EDGE_COLUMNS[kind.label]]
    pattern = f"(a:{kind.source} {{id: $source}})-[e:{kind.label}]->(b:{kind.target})"
    for edge, new in zip(edges, _edge_rows(kind, edges), strict=True):
        old = before.get((edge.source, edge.target))
        (last,) = [{}] if old is None else _edge_rows(kind, [old])
        differing = [name for name in names if name not in last or last[name] != new[name]]
        if differing:
            settings = ", ".join(f"e.`{name}` = ${name}" for name in differing)
            values = {name: new[name] for name in ("source", "target", *differing)}
            session.run(f"MATCH {pattern} WHERE b.id = $target SET {settings}", **values)


def _add_edges(session: Session, kind: EdgeKind, edges: Sequence[Edge]) -> None:
    names = [column.name for column in EDGE_COLUMNS[kind.label]]
    aliases = "".join(f", r.`{name}` AS p_{name}" for name in names)
    properties = ", ".join(f"`{name}`: p_{name}" for name in names)
    statement = (
        f"UNWIND $rows AS r MATCH (a:{kind.source} {{id: r.source}}) WITH a, r.target AS t{aliases} "
        f"MATCH (b:{kind.target} {{id: t}}) CREATE (a)-[:{kind.label} {{{properties}}}]->(b)"
    )
    for batch in _batches(edges):
        session.run(statement, rows=_edge_rows(kind, batch))


def _edge_rows(kind: EdgeKind, edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """Edges as parameters for the engine: source, target and the columns of the label."""
    names = ("source", "target", *(column.name for column in EDGE_COLUMNS[kind.label]))
    return [dict(zip(names, row, strict=True)) for row in zip(*edge_columns_of(kind, edges), strict=True)]


def _node_rows(
    label: str, nodes: Sequence[Node], positions: tuple[int, ...] | None = None
) -> Iterator[list[dict[str, object]]]:
    """Batches of rows as parameters for the engine, with all columns or those at `positions`."""
    names = [column.name for column in NODE_COLUMNS[label]]
    wanted = range(len(names)) if positions is None else positions
    for batch in _batches(nodes):
        columns = node_columns_of(label, batch)
        chosen = [names[at] for at in wanted]
        yield [dict(zip(chosen, row, strict=True)) for row in zip(*(columns[at] for at in wanted), strict=True)]


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
