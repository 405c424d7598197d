"""A delta as statements of the engine, inside one transaction.

The shape of these statements was measured: matching both ends of an edge in one pattern, or deleting edges under an
UNWIND, makes both engines scan and join whole tables. What a delta means is `delta`'s affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from golore.graph.delta import GraphDelta
from golore.graph.engine import Session
from golore.graph.model import Edge, EdgeKind, Node
from golore.graph.schema import EDGE_COLUMNS, META_TABLE, NODE_COLUMNS, edge_columns_of, node_columns_of

_BATCH: Final = 5_000

_Item = TypeVar("_Item", Node, Edge)


def write_delta(session: Session, delta: GraphDelta) -> None:
    session.run("BEGIN TRANSACTION")
    for kind, pairs in delta.edges_removed.items():
        _remove_edges(session, kind, pairs)
    for kind, edges in delta.edges_changed.items():
        # Setting properties edge by edge takes five times as long as making the edges anew.
        _remove_edges(session, kind, [(edge.source, edge.target) for edge in edges])
    for label, ids in delta.nodes_removed.items():
        _remove_nodes(session, label, ids)
    for label, nodes in delta.nodes_added.items():
        _add_nodes(session, label, nodes)
    for label, nodes in delta.nodes_changed.items():
        _change_nodes(session, label, nodes)
    for edges_by_kind in (delta.edges_changed, delta.edges_added):
        for kind, edges in edges_by_kind.items():
            _add_edges(session, kind, edges)
    for name, value in delta.marks.items():
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
        # Not DETACH DELETE: in Kuzu 0.11.3 it leaves phantoms of the edges that join two removed nodes.
        session.run(f"MATCH (n:{label} {{id: $id}})-[e]->() DELETE e", id=identity)
        session.run(f"MATCH (n:{label} {{id: $id}})<-[e]-() DELETE e", id=identity)
        session.run(f"MATCH (n:{label} {{id: $id}}) DELETE n", id=identity)


def _add_nodes(session: Session, label: str, nodes: Sequence[Node]) -> None:
    properties = ", ".join(f"`{column.name}`: r.`{column.name}`" for column in NODE_COLUMNS[label])
    for rows in _node_rows(label, nodes):
        session.run(f"UNWIND $rows AS r CREATE (:{label} {{{properties}}})", rows=rows)


def _change_nodes(session: Session, label: str, nodes: Sequence[Node]) -> None:
    settings = ", ".join(f"n.`{c.name}` = r.`{c.name}`" for c in NODE_COLUMNS[label] if c.name != "id")
    for rows in _node_rows(label, nodes):
        session.run(f"UNWIND $rows AS r MATCH (n:{label} {{id: r.id}}) SET {settings}", rows=rows)


def _add_edges(session: Session, kind: EdgeKind, edges: Sequence[Edge]) -> None:
    names = [column.name for column in EDGE_COLUMNS[kind.label]]
    carried = "".join(f", r.`{name}` AS p_{name}" for name in names)
    properties = ", ".join(f"`{name}`: p_{name}" for name in names)
    statement = (
        f"UNWIND $rows AS r MATCH (a:{kind.source} {{id: r.source}}) WITH a, r.target AS t{carried} "
        f"MATCH (b:{kind.target} {{id: t}}) CREATE (a)-[:{kind.label} {{{properties}}}]->(b)"
    )
    for batch in _batches(edges):
        columns = edge_columns_of(kind, batch)
        rows = [dict(zip(("source", "target", *names), row, strict=True)) for row in zip(*columns, strict=True)]
        session.run(statement, rows=rows)


def _node_rows(label: str, nodes: Sequence[Node]) -> Iterator[list[dict[str, object]]]:
    names = [column.name for column in NODE_COLUMNS[label]]
    for batch in _batches(nodes):
        columns = node_columns_of(label, batch)
        yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
