"""The MCP server through which every call passes: the client's roots before it, visible characters after it.

`text.replies` already keeps names on their lines. Here everything that a client receives is made visible: also error
messages, structured content, and tools that compose their text themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any, cast

from golore.graph.safety.visible_text import visible_block
from golore.mcp_server.server.client_roots import adopt_roots
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tool_arguments import compact_schema, refusal
from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import MCPServerError, ToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, Tool
from pydantic import AnyUrl, ValidationError


class GoloreServer(MCPServer):
    """`repositories`: those that a client may name by its roots; None if a client cannot name any."""

    def __init__(self, repositories: Repositories | None, instructions: str) -> None:
        super().__init__(
            "golore",
            title="golore: a graph of this Go code",
            instructions=instructions,
            version=version("golore"),
            log_level="WARNING",
        )
        self._repositories = repositories

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        return [tool.model_copy(update={"input_schema": compact_schema(tool.input_schema)}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> CallToolResult | InputRequiredResult:
        if (request := await adopt_roots(self._repositories, context)) is not None:
            return request
        with _visible_failures():
            try:
                result = await super().call_tool(name, arguments, context)
            except ToolError as failure:
                if isinstance(failure.__cause__, ValidationError):
                    raise ToolError(refusal(name, failure.__cause__)) from failure.__cause__
                raise
        if isinstance(result, CallToolResult):
            for part in result.content:
                if isinstance(part, TextContent):
                    part.text = visible_block(part.text)
            result.structured_content = _visible_value(result.structured_content)
        return result

    async def read_resource(
        self, uri: AnyUrl | str, context: Context | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        if (request := await adopt_roots(self._repositories, context)) is not None:
            return request
        with _visible_failures():
            result = await super().read_resource(uri, context)
        if isinstance(result, InputRequiredResult):
            return result
        return [replace(one, content=_visible_value(one.content)) for one in result]


@contextmanager
def _visible_failures() -> Generator[None]:
    try:
        yield
    except MCPServerError as failure:
        failure.args = (visible_block(str(failure)),)
        raise


def _visible_value(value: Any) -> Any:
    """The value with its texts made visible, in lists and objects too."""
    if isinstance(value, str):
        return visible_block(value)
    if isinstance(value, dict):
        return {key: _visible_value(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_visible_value(item) for item in cast("list[Any]", value)]
    return value
