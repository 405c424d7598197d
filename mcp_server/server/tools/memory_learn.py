"""`memory_learn`: bring a repository's graph up to date, in a process of its own, telling how far it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services.repository import LearnedRepository
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

_DESCRIPTION: Final = """\
Learn the repository, or bring its graph up to date after edits: seconds for what changed, about a minute for a \
first learn of four million lines. The other tools go on answering meanwhile, from the graph before. Changes only \
golore's own store, never the code."""
_LEAST: Final = 0.01

Full = Annotated[bool, Field(description="Make the graph anew, whatever is stored. Hardly ever needed.")]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_learn",
        title="Learn the code",
        description=_DESCRIPTION,
        annotations=WRITES,
        structured_output=False,
    )
    async def memory_learn(context: Context, full: Full = False, repository: RepositoryName = "") -> str:
        with reporting_failures():
            learned = repositories.named(repository).learned
        return await _learned(learned, full, context)


async def _learned(learned: LearnedRepository, full: bool, context: Context) -> str:
    options = ["--full"] if full else []
    command = [
        sys.executable,
        "-m",
        "golore.mcp_server.server.learn_process",
        str(learned.root),
        str(learned.store),
        *options,
    ]
    process = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=None, start_new_session=True)
    try:
        told = await _followed(process, context)
        await process.wait()
    finally:
        # Also when the caller gives up: a learn that is ended leaves the store as it was.
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # its workers too
            await process.aclose()
    if "error" in told:
        raise ToolError(told["error"])
    if "lines" not in told:
        raise ToolError(f"The learn ended early (exit code {process.returncode}); the store is as it was. Try again.")
    return "\n".join(told["lines"])


async def _followed(process: Process, context: Context) -> dict[str, Any]:
    """Pass progress on until the outcome comes."""
    before = total = 0
    told = -1.0
    stage = ""
    outcome: dict[str, Any] = {}
    async for report in _reports(process):
        if "stage" not in report:
            outcome = report
            continue
        if report["stage"] != stage:
            before, total = total, total + max(1, report["total"])
            stage = report["stage"]
        shown = f"{stage} {report['done']:,} of {report['total']:,}" if report["total"] else stage
        # Each report has to be more than the last, also where a step begins with nothing done.
        told = max(before + report["done"], told + _LEAST)
        await context.report_progress(told, max(total, told), shown)
    return outcome


async def _reports(process: Process) -> AsyncIterator[dict[str, Any]]:
    assert process.stdout is not None
    pending = ""
    async for text in TextReceiveStream(process.stdout):
        *lines, pending = (pending + text).split("\n")
        for line in lines:
            yield json.loads(line)
