"""`golore mcp`: the MCP server over standard input and output. `golore serve` offers the same server over HTTP.

Standard output belongs to the protocol: everything else goes to standard error.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio
from golore.mcp_server.server import prompts, resources
from golore.mcp_server.server.glibc_memory import limit_arenas
from golore.mcp_server.server.golore_server import GoloreServer
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools import (
    memory_context,
    memory_drafts,
    memory_explore,
    memory_graph,
    memory_learn,
    memory_note,
    memory_query,
    memory_search,
    memory_status,
    memory_upgrade,
)
from mcp.server import MCPServer

_INSTRUCTIONS: Final = """\
golore knows this Go code as a graph: every declaration, call, reference, implementation and test, resolved by Go's \
own rules without a build. Use it where grep would be slow or uncertain.

Name symbols as `go doc` prints them, or by any suffix: Save, Memory.Save, store.Memory.Save. If a name is ambiguous, \
the reply lists what it may mean.
Replies have three values: resolved (certain), candidates (possible through an interface), and unresolved uses of the \
same name. They count what did not fit; raise `budget` to see it. If one says that the graph is behind the files, call \
memory_learn."""


def build_server(repositories: Repositories) -> MCPServer:
    """The server with its tools, resources and prompts."""
    several = f"\nRepositories here: {', '.join(repositories.titles)}." if len(repositories.all) > 1 else ""
    server = GoloreServer(repositories, _INSTRUCTIONS + several)
    for tool in (
        memory_explore,
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
