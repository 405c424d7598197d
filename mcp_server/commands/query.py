"""`golore query`: runs a Cypher query on the graph, in a process of its own, and prints the rows."""

from __future__ import annotations

from pathlib import Path

from golore.graph.database.read_only import require_read_only
from golore.mcp_server.commands.questions import open_for_question
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.text.output import print_answer, print_json, table_lines


def run_query(cypher: str, start: Path, *, as_json: bool, seconds: float) -> int:
    require_read_only(cypher)
    with QueryProcess() as queries:
        queries.start()  # while this process opens the store to compare it with the files
        with open_for_question(start, as_json=as_json) as (opened, _):
            directory = opened.store.directory
        rows = queries.query(directory, cypher, seconds=seconds)
    if as_json:
        print_json({"rows": rows})
    else:
        print_answer(table_lines(rows))
    return 0
