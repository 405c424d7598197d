"""`memory_learn`: brings a repository's graph up to date in a separate process, and reports the progress."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from golore.graph.safety.child_processes import python_command
from golore.graph.safety.system import kill_session
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services.repository import LearnedRepository
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

_DESCRIPTION: Final = """\
Bring the graph up to date: after edits, or when a reply says that it is behind. Seconds; a first learn takes up to a \
minute. Does not change code."""
_MIN_STEP: Final = 0.01

Full = Annotated[bool, Field(description="From scratch; rarely needed.")]


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
            learned = repositories.find(repository).learned
        return await _run_learn(learned, full, context)


async def _run_learn(learned: LearnedRepository, full: bool, context: Context) -> str:
    options = ["--full"] if full else []
    module = "golore.mcp_server.server.learn_process"
    command = python_command("-m", module, str(learned.root), str(learned.store), *options)
    process = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=None, start_new_session=True)
    try:
        outcome = await _follow(process, context)
        await process.wait()
    finally:
        # Also if the caller cancels: a learn that is killed leaves the store unchanged.
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    kill_session(process.pid)  # its workers too
            await process.aclose()
    if "error" in outcome:
        raise ToolError(outcome["error"])
    if "lines" not in outcome:
        raise ToolError(f"The learn ended early (exit code {process.returncode}). The store is unchanged. Try again.")
    return "\n".join(outcome["lines"])


async def _follow(process: Process, context: Context) -> dict[str, Any]:
    """Pass progress on to the client, and return the outcome."""
    before = total = 0
    progress = -1.0
    stage = ""
    outcome: dict[str, Any] = {}
    async for report in _reports(process):
        if "stage" not in report:
            outcome = report
            continue
        if report["stage"] != stage:
            before, total = total, total + max(1, report["total"])
            stage = report["stage"]
        message = f"{stage} {report['done']:,} of {report['total']:,}" if report["total"] else stage
        # Progress must increase with each report, even if a stage begins with nothing done.
        progress = max(before + report["done"], progress + _MIN_STEP)
        await context.report_progress(progress, max(total, progress), message)
    return outcome


async def _reports(process: Process) -> AsyncIterator[dict[str, Any]]:
    assert process.stdout is not None
    pending = ""
    async for text in TextReceiveStream(process.stdout):
        *lines, pending = (pending + text).split("\n")
        for line in lines:
            yield json.loads(line)
