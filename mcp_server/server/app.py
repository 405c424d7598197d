"""`golore mcp`: the MCP server over standard input and output, and the server that `golore serve` offers over HTTP.

What the tools do is in `tools`, one module each. Standard output belongs to the protocol: everything else goes to
standard error.
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
from golore.mcp_server.server.glibc_memory import keep_memory_together
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
from mcp.server import MCPServer

_INSTRUCTIONS: Final = """\
golore knows this Go code as a graph: every declaration, call, reference, implementation and test, resolved by Go's \
own rules without a build. Use it where grep would be long or unsure.

- Before changing a file, package or symbol: memory_context. It tells who uses it, what must stay in step, which \
tests guard it.
- Who calls, uses, implements or tests something, what a change may reach, how A comes to call B: memory_graph.
- Where something is declared: memory_search by name, part of a name, or words.
- What the user corrects, decides or plans, and what you find out the hard way: memory_note keeps it with the code.
- Anything else about the structure: memory_query in Cypher, reading only.
- Summaries that could be better: memory_drafts, then memory_upgrade.
- After edits, or when an answer says that it is behind the files: memory_learn. memory_status tells what is known.

Symbols are named as `go doc` prints them or by any end of that: Save, Memory.Save, store.Memory.Save. A name that \
is not clear is answered with what it may mean.
Answers have three values: resolved is certain, candidates are possible through an interface, unresolved uses bear \
the name and could not be settled. What is left out for the budget is counted; raise `budget` to see it."""


def build_server(repositories: Repositories) -> MCPServer:
    """The server with its tools and resources."""
    several = "" if len(repositories.all) == 1 else f"\nRepositories here: {', '.join(repositories.titles)}."
    server = MCPServer(
        "golore",
        title="golore: what is known of this Go code",
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
    """Answer until standard input ends."""
    prepare_process()
    with Repositories(paths) as repositories:
        anyio.run(build_server(repositories).run_stdio_async)
    return 0


def prepare_process() -> None:
    """Log to standard error, plainly, and colour nothing: some texts are the same as those for a terminal."""
    os.environ["NO_COLOR"] = "1"
    keep_memory_together()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="golore: %(message)s")
