"""The query page: read-only Cypher, with completion of labels and properties; the rows as a table and a small graph.

Queries run in a process of their own with limits of time and memory (see `services.query_process`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from golore.graph.errors import GoloreError
from golore.graph.model.edge_kinds import EDGE_PROPERTIES
from golore.graph.model.tables import NODE_COLUMNS
from golore.mcp_server.view.drawing.layered import layered_picture
from golore.mcp_server.view.layering import layered
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.result_graph import ResultGraph, result_graph
from golore.mcp_server.view.visit import Visit

_ROWS: Final = 200
_SECONDS: Final = 4.0
_MAX_BYTES: Final = 4 << 20
_CELL: Final = 400
_KEYWORDS: Final = (
    "MATCH OPTIONAL WHERE RETURN ORDER BY LIMIT WITH DISTINCT count collect AND OR NOT IN CONTAINS STARTS ENDS"
)
EXAMPLES: Final = (
    (
        "Which package imports which, as a graph",
        "MATCH (a:Package)-[:CONTAINS]->(:File)-[:IMPORTS]->(b:Package) WHERE NOT a.test "
        "RETURN DISTINCT a.path, b.path LIMIT 60",
    ),
    (
        "Interfaces that most types satisfy",
        "MATCH (t:Symbol)-[:IMPLEMENTS]->(i:Symbol) RETURN i.id, count(*) AS types ORDER BY types DESC LIMIT 20",
    ),
    (
        "Files that change together",
        "MATCH (a:File)-[e:CHANGES_WITH]->(b:File) RETURN a.path, b.path, e.evidence LIMIT 20",
    ),
    ("Why uses stay unresolved", "MATCH (u:Unresolved) RETURN u.reason, count(*) AS uses ORDER BY uses DESC LIMIT 20"),
    (
        "Longest functions",
        "MATCH (s:Symbol) WHERE s.kind = 'func' OR s.kind = 'method' "
        "RETURN s.id, s.file, s.end_line - s.line + 1 AS lines ORDER BY lines DESC LIMIT 20",
    ),
)


def query_page(visit: Visit, cypher: str) -> Page:
    """The form. The rows are added by `with_rows`, which does not need the open store."""
    words = sorted({*NODE_COLUMNS, *EDGE_PROPERTIES, *_KEYWORDS.split(), *_properties()})
    examples = [(title, text, visit.links.page("query", q=text)) for title, text in EXAMPLES]
    values: dict[str, Any] = {
        "cypher": cypher,
        "words": words,
        "examples": examples,
        "names": (),
        "rows": (),
        "message": "",
        "is_cut": False,
        "picture": "",
        "not_drawn": 0,
    }
    return Page("query.html", "Query", values, "query")


def with_rows(visit: Visit, page: Page) -> Page:
    cypher = page.values["cypher"]
    if not cypher.strip():
        return page
    try:
        found = visit.opened.queries.query(
            visit.opened.repository.store, cypher, seconds=_SECONDS, most=_ROWS + 1, max_bytes=_MAX_BYTES
        )
    except GoloreError as failure:
        return Page(page.template, page.title, {**page.values, "message": str(failure)}, page.section)
    shown = found[:_ROWS]
    graph = result_graph(shown, lambda value: _named(visit, value))
    result = {
        "names": tuple(found[0]) if found else (),
        "rows": [[_cell(visit, value) for value in row.values()] for row in shown],
        "is_cut": len(found) > _ROWS,
        "picture": _picture(graph) if graph is not None else "",
        "not_drawn": graph.left_out if graph is not None else 0,
    }
    message = "" if found else "No rows."
    return Page(page.template, page.title, {**page.values, **result, "message": message}, page.section)


def _picture(graph: ResultGraph) -> str:
    layers = layered(graph.arcs)
    # Here every edge is a row of the result, so those that follow from others are drawn, too.
    layers = layers._replace(direct={**layers.direct, **layers.implied, **layers.against}, implied={}, against={})
    alone = [name for name in graph.nodes if not any(name in row for row in layers.rows)]

    def describe(source: str, target: str, _: int) -> str:
        label = graph.labels.get((source, target), "")
        return f"{graph.nodes[source].name} {label} → {graph.nodes[target].name}"

    return layered_picture(graph.nodes, layers, alone, describe, f"Graph of the rows: {len(graph.nodes)} nodes")


def _properties() -> set[str]:
    nodes = {column.name for columns in NODE_COLUMNS.values() for column in columns}
    return nodes | {name for names in EDGE_PROPERTIES.values() for name in names}


def _cell(visit: Visit, value: object) -> tuple[str, str]:
    """The text of a value, and the address of the page of what it names."""
    if isinstance(value, dict):
        node = cast("dict[str, object]", value)
        if "_SRC" in node:
            return _edge(node), ""
        name = str(node.get("qualified_name") or node.get("path") or node.get("id") or "")
        if name and "_LABEL" in node:
            id = str(node.get("id", name))
            return name, visit.links.symbol(id) if node["_LABEL"] == "Symbol" else _address(visit, id)
    if not isinstance(value, str):
        return _cut(json.dumps(value, ensure_ascii=False, default=str)), ""
    return _cut(value), _address(visit, value)


def _edge(edge: Mapping[str, object]) -> str:
    """The label of an edge and its properties."""
    properties = [
        f"{name} {value}" for name, value in edge.items() if not name.startswith("_") and value not in ("", None)
    ]
    return _cut(f"{edge.get('_LABEL', '')} {', '.join(properties)}".strip())


def _named(visit: Visit, value: object) -> tuple[str, str]:
    """Like `_cell`, with the name as pages show it."""
    text, address = _cell(visit, value)
    return (visit.short_text(text) if "/" in text and not text.endswith(".go") else text), address


def _address(visit: Visit, name: str) -> str:
    """The page of a package, a file or a symbol, if a text looks like the name of one."""
    if " " in name or len(name) > _CELL:
        return ""
    if name in visit.packages:
        return visit.package_address(name)
    if name.endswith(".go"):
        return visit.links.file(name)
    return visit.links.symbol(name) if "/" in name and "." in name.rpartition("/")[2] else ""


def _cut(text: str) -> str:
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"
