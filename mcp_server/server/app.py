"""`golore mcp`: the MCP server over standard input and output. `golore serve` offers the same server over HTTP.

Standard output belongs to the protocol: everything else goes to standard error.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import anyio
from golore.mcp_server.server import prompts, resources
from golore.mcp_server.server.glibc_memory import limit_arenas
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools import (
    memory_context,
    memory_drafts,
    memory_graph,
    memory_learn,
    memory_note,
    memory_query,
    memory_search,
    memory_status,
    memory_upgrade,
)
from golore.mcp_server.server.visible_server import VisibleServer
from mcp.server import MCPServer

_INSTRUCTIONS: Final = """\
golore knows this Go code as a graph: every declaration, call, reference, implementation and test, resolved by Go's \
own rules without a build. Use it where grep would be slow or uncertain.

- Before you change a file, package or symbol: memory_context shows its users, its tests and what changes with it.
- Who calls, uses, implements or tests something, what a change may affect, how A comes to call B: memory_graph.
- Where something is declared or done: memory_search, by name, part of a name, or words.
- When the user corrects, decides or plans something, or you find something out the hard way: memory_note stores it \
with the code.
- Other questions about the structure: memory_query, read-only Cypher.
- To improve summaries: memory_drafts, then memory_upgrade.
- After edits, or when an answer says that the graph is behind the files: memory_learn. memory_status shows the state.

Name symbols as `go doc` prints them, or by any suffix: Save, Memory.Save, store.Memory.Save. If a name is ambiguous, \
the reply lists what it may mean.
Answers have three values: resolved (certain), candidates (possible through an interface), and unresolved uses of the \
same name. The reply counts what the budget left out; raise `budget` to see it."""


def build_server(repositories: Repositories) -> MCPServer:
    """The server with its tools, resources and prompts."""
    several = "" if len(repositories.all) == 1 else f"\nRepositories here: {', '.join(repositories.titles)}."
    server = VisibleServer(
        "golore",
        title="golore: a graph of this Go code",
        instructions=_INSTRUCTIONS + several,
        version=version("golore"),
        log_level="WARNING",
    )
    for tool in (
        memory_context,
        memory_graph,
        memory_search,
        memory_query,
        memory_note,
        memory_drafts,
        memory_upgrade,
        memory_status,
        memory_learn,
    ):
        tool.register(server, repositories)
    resources.register(server, repositories)
    prompts.register(server)
    return server


def run_mcp(paths: Sequence[Path]) -> int:
    """Serve until standard input ends. Returns the exit code."""
    prepare_process()
    with Repositories(paths) as repositories:
        anyio.run(build_server(repositories).run_stdio_async)
    return 0


def prepare_process() -> None:
    """Log to standard error, switch colors off, because some texts are also printed on terminals, and set up memory."""
    os.environ["NO_COLOR"] = "1"
    limit_arenas()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="golore: %(message)s")
