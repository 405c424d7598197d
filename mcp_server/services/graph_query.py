"""Read-only Cypher on the graph of a store, for the command line, the server and the Python API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from golore.graph.database.read_only import require_read_only
from golore.graph.errors import UsageError
from golore.mcp_server.services.query_process import QueryProcess

_NEAR: Final = re.compile(r"\$near\b")


def query_graph(
    queries: QueryProcess,
    directory: Path,
    cypher: str,
    *,
    near: str = "",
    seconds: float,
    most: int | None = None,
    max_bytes: int | None = None,
) -> list[dict[str, Any]]:
    """The rows of a query, as `QueryProcess.query` returns them. `$near` in the query is the vector of the text `near`.
    Raises `ModelUnavailable` if the model of the vectors is not there."""
    require_query(cypher, near)
    parameters: dict[str, Any] = {}
    if near:
        from golore.mcp_server.services.knowledge.graph_vectors import near_vector

        parameters["near"] = near_vector(directory, near)
    return queries.query(directory, cypher, parameters, seconds=seconds, most=most, max_bytes=max_bytes)


def require_query(cypher: str, near: str) -> None:
    """Raise `UsageError` unless the text is a query that only reads, and uses `$near` if there is a text for it."""
    require_read_only(cypher)
    uses_near = _NEAR.search(cypher) is not None
    if near and not uses_near:
        raise UsageError(
            "The query does not use $near. Write for example: ORDER BY array_cosine_similarity(s.vector, $near) DESC"
        )
    if uses_near and not near:
        raise UsageError("The query uses $near. Give the text that results should be near to as `near` (--near TEXT).")
