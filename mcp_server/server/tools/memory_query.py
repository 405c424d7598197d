"""`memory_query`: runs a read-only Cypher query, with limits on time, memory and rows."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, cast

from golore.graph.database.vector_changes import VECTOR_LABELS
from golore.graph.errors import UsageError
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_PROPERTIES
from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.model.tables import NODE_COLUMNS
from golore.graph.phrases import counted
from golore.graph.safety.visible_text import visible_json
from golore.mcp_server.server.open_repositories import RepositoryAccess
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures, within
from golore.mcp_server.services.graph_query import query_graph
from golore.mcp_server.text.replies import DEFAULT_BUDGET, Reply, Section, agent_text
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, Field

_ROWS: Final = 100
_SECONDS: Final = 2.0
_MAX_SECONDS: Final = 4.0
"""Less than the time that a writer waits for readers."""
_MAX_RESULT_BYTES: Final = 16 << 20
"""Much more than fits into an answer."""
_SCHEMA: Final = "schema"
_WRONG_NAMES: Final = ("does not exist", "Cannot find property")
"""What the engine says of a label or property that the graph does not have."""
_DESCRIPTION: Final = """\
Call this for what the other tools do not answer: read-only Cypher on the graph. The query `schema` returns \
labels and properties."""

Cypher = Annotated[str, Field(min_length=1, description="Such as: MATCH (s:Symbol) RETURN s.name")]
Near = Annotated[str, Field(description="$near is its vector.")]
Rows = Annotated[int, within(1, 1_000), Field(description="Most rows.")]
Seconds = Annotated[
    float, AfterValidator(lambda number: min(max(number, 0.01), _MAX_SECONDS)), Field(description="Time limit.")
]


def graph_schema() -> str:
    """The labels of nodes and edges with their properties, one line each, and what they do not say themselves."""
    nodes = [f"({label} {{{', '.join(column.name for column in columns)}}})" for label, columns in NODE_COLUMNS.items()]
    edges = [
        f"[{label}{_properties(label)}] "
        + ", ".join(f"{kind.source}->{kind.target}" for kind in EDGE_KINDS if kind.label == label)
        for label in EDGE_PROPERTIES
    ]
    hints = (
        f"Kinds of symbols: {', '.join(SYMBOL_KINDS)}. `sites` are line numbers in the source's file, as text.",
        f"After `golore embed`, {', '.join(VECTOR_LABELS)} have `vector`: ORDER BY array_cosine_similarity(s.vector, "
        "$near) DESC, with the text as `near`. Without a vector, the similarity is -1.",
        "The dialect is that of Kuzu and Ladybug. Begin at an id, or at a label with a condition.",
    )
    return "\n".join([*nodes, *edges, *hints])


def _properties(label: str) -> str:
    return f" {{{', '.join(EDGE_PROPERTIES[label])}}}" if EDGE_PROPERTIES[label] else ""


def register(server: MCPServer, repositories: RepositoryAccess) -> None:
    @server.tool(
        name="memory_query",
        title="Cypher on the graph",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_query(
        cypher: Cypher,
        near: Near = "",
        limit: Rows = _ROWS,
        seconds: Seconds = _SECONDS,
        budget: Budget = DEFAULT_BUDGET,
        repository: RepositoryName = "",
    ) -> str:
        if cypher.strip().lower() == _SCHEMA:
            return graph_schema()
        with reporting_failures(can_learn=repositories.can_learn):
            with repositories.opened(repository) as opened:
                learned, queries, behind = opened.repository, opened.queries, staleness_lines(opened)
            # After `opened`, so that a long query does not block other questions.
            try:
                rows = query_graph(
                    queries,
                    learned.store,
                    cypher,
                    near=near,
                    seconds=seconds,
                    most=limit + 1,
                    max_bytes=_MAX_RESULT_BYTES,
                )
            except UsageError as failure:
                if any(words in str(failure) for words in _WRONG_NAMES):
                    raise ToolError(
                        f"{failure}\nThe graph has these labels and properties:\n{graph_schema()}"
                    ) from failure
                raise
        return agent_text(_reply(rows[:limit], len(rows) > limit, limit, behind), budget)


def _reply(rows: list[dict[str, Any]], is_cut: bool, limit: int, behind: tuple[str, ...]) -> Reply:
    if not rows:
        return Reply(("No rows.",), (), behind)
    head = visible_json(json.dumps(list(rows[0]), ensure_ascii=False))
    values = ([_without_ids(value) for value in row.values()] for row in rows)
    lines = tuple((visible_json(json.dumps(row, ensure_ascii=False, default=str)),) for row in values)
    more = (f"There are more than {counted(limit, 'row')}; raise `limit` or narrow the query.",) if is_cut else ()
    return Reply((), (Section(f"{counted(len(rows), 'row')} of {head}", lines),), (*more, *behind))


def _without_ids(value: object) -> object:
    """A value without the engine's internal ids of nodes and edges."""
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _without_ids(item) for key, item in items if key not in ("_ID", "_SRC", "_DST")}
    if isinstance(value, list):
        return [_without_ids(item) for item in cast("list[object]", value)]
    return value
