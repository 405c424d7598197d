"""`golore query`: runs a Cypher query on the graph, in a process of its own, and prints the rows.

That process also says which version made the graph, so that this one need not open the database.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import StoreError
from golore.learner.pipeline.version import STORED_VERSION, is_older
from golore.mcp_server.services.graph_query import query_graph, require_query
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.output import print_answer, print_json, table_lines

_SECONDS: Final = 10.0
"""Time to look up the version, once the store is open."""


def run_query(cypher: str, start: Path, *, as_json: bool, seconds: float, near: str = "") -> int:
    require_query(cypher, near)
    with QueryProcess() as queries:
        queries.start()
        repository = find_repository(start)
        if not _is_current(queries, repository):
            open_current_store(repository).close()
        with Store.open(repository.store, write=False) as store:
            warn_if_stale(repository.root, store)
        rows = query_graph(queries, repository.store, cypher, near=near, seconds=seconds)
    if as_json:
        print_json({"rows": rows})
    else:
        print_answer(table_lines(rows))
    return 0


def _is_current(queries: QueryProcess, repository: LearnedRepository) -> bool:
    """Whether this version of golore, or a newer one, made the graph."""
    try:
        rows = queries.query(repository.store, STORED_VERSION, seconds=_SECONDS)
    except StoreError:
        return False
    return bool(rows) and not is_older(rows[0]["version"])
