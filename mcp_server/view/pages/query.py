"""The query page: read-only Cypher, with completion of labels and properties, and the rows as a table.

Queries run in a process of their own with limits of time and memory (see `services.query_process`).
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from golore.graph.errors import GoloreError
from golore.graph.model.edge_kinds import EDGE_PROPERTIES
from golore.graph.model.tables import NODE_COLUMNS
from golore.mcp_server.view.rendering import Page
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
    rows = [[_cell(visit, value) for value in row.values()] for row in found[:_ROWS]]
    result = {"names": tuple(found[0]) if found else (), "rows": rows, "is_cut": len(found) > _ROWS}
    message = "" if found else "No rows."
    return Page(page.template, page.title, {**page.values, **result, "message": message}, page.section)


def _properties() -> set[str]:
    nodes = {column.name for columns in NODE_COLUMNS.values() for column in columns}
    return nodes | {name for names in EDGE_PROPERTIES.values() for name in names}


def _cell(visit: Visit, value: object) -> tuple[str, str]:
    """The text of a value, and the address of the page of what it names."""
    if isinstance(value, dict):
        node = cast("dict[str, object]", value)
        name = str(node.get("qualified_name") or node.get("path") or node.get("id") or "")
        if name and "_LABEL" in node:
            id = str(node.get("id", name))
            is_symbol = node["_LABEL"] == "Symbol"
            return name, visit.links.symbol(id) if is_symbol else visit.links.file(name) if name.endswith(".go") else ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if text.endswith(".go") and " " not in text:
        return text, visit.links.file(text)
    is_name = isinstance(value, str) and "." in text.rpartition("/")[2] and "/" in text and " " not in text
    return (text if len(text) <= _CELL else f"{text[:_CELL]}…"), visit.links.symbol(text) if is_name else ""
