"""An MCP server whose replies have no hidden characters: the one outlet of all tools and resources.

`text.replies` already keeps names on their lines. This is for everything that a client receives: also error messages,
structured content, and tools that compose their text themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from golore.graph.safety.visible_text import visible_block
from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import MCPServerError
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import AnyUrl


class VisibleServer(MCPServer):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> CallToolResult | InputRequiredResult:
        with _visible_failures():
            result = await super().call_tool(name, arguments, context)
        if isinstance(result, CallToolResult):
            for part in result.content:
                if isinstance(part, TextContent):
                    part.text = visible_block(part.text)
            result.structured_content = _visible_value(result.structured_content)
        return result

    async def read_resource(
        self, uri: AnyUrl | str, context: Context | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
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
