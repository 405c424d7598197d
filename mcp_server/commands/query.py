"""`golore query`: runs a Cypher query on the graph, in a process of its own, and prints the rows."""

from __future__ import annotations

from pathlib import Path

from golore.mcp_server.commands.questions import open_for_question
from golore.mcp_server.services.graph_query import query_graph, require_query
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.text.output import print_answer, print_json, table_lines


def run_query(cypher: str, start: Path, *, as_json: bool, seconds: float, near: str = "") -> int:
    require_query(cypher, near)
    with QueryProcess() as queries:
        queries.start()  # while this process opens the store to compare it with the files
        with open_for_question(start, as_json=as_json) as (opened, _):
            directory = opened.store.directory
        rows = query_graph(queries, directory, cypher, near=near, seconds=seconds)
    if as_json:
        print_json({"rows": rows})
    else:
        print_answer(table_lines(rows))
    return 0
