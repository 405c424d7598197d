"""The MCP server of a team: the tools that need no checkout, and a sentence for those that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from golore.graph.errors import LakeError
from golore.mcp_server.server.golore_server import GoloreServer
from golore.mcp_server.server.tools import memory_context, memory_graph, memory_query, memory_search
from golore.mcp_server.team.caller import current_caller
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.team.tools import team_note, team_status
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool

TOOLS: Final = ("memory_context", "memory_graph", "memory_search", "memory_query", "memory_note", "memory_status")
_INSTRUCTIONS: Final = """\
golore knows the Go code of this team as graphs, one for each repository: every declaration, call, reference, \
implementation and test, resolved by Go's own rules. Give `repository` with each question, such as \
github.com/acme/shop or shop; memory_status lists those that you may ask about. With scope fleet, a question is about \
all of them.

Answers are about published commits, which they name, not about files that you have edited. Name symbols as `go doc` \
prints them, or by any suffix: Save, Memory.Save, store.Memory.Save. Replies have three values: resolved (certain), \
candidates (possible through an interface), and unresolved uses of the same name. They count what did not fit; raise \
`budget` to see it."""
_REPOSITORY: Final = "Such as github.com/acme/shop, or shop."
_LOCAL: Final = {
    "memory_learn": "it learns nothing; new commits come from `golore publish` in CI",
    "memory_explore": "it has no source files; use golore in your checkout to read code",
    "memory_drafts": "it has no source files; improve summaries in your checkout",
    "memory_upgrade": "it has no source files; improve summaries in your checkout",
}


class TeamServer(GoloreServer):
    def __init__(self, on_lake_error: Callable[[], None]) -> None:
        super().__init__(None, _INSTRUCTIONS)
        self._on_lake_error = on_lake_error

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema["properties"]["repository"]["description"] = _REPOSITORY
        return tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> CallToolResult | InputRequiredResult:
        caller = current_caller()
        caller.tool = name if name in TOOLS else "other"
        caller.outcome = "refused"
        if name in _LOCAL:
            raise ToolError(f"This server answers from published commits, so {_LOCAL[name]}.")
        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as failure:
            if isinstance(failure, UnexpectedToolError):
                caller.outcome = "failed"
            if any(isinstance(cause, LakeError) for cause in _causes(failure)):
                self._on_lake_error()
            raise
        caller.outcome = "ok"
        return result


def _causes(failure: BaseException) -> Iterator[BaseException]:
    cause = failure.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__


def build_team_server(repositories: LakeRepositories, on_lake_error: Callable[[], None] = lambda: None) -> TeamServer:
    server = TeamServer(on_lake_error)
    for tool in (memory_context, memory_graph, memory_search, memory_query):
        tool.register(server, repositories)
    for tool in (team_note, team_status):
        tool.register(server, repositories)
    return server
