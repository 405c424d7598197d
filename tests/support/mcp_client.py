"""Talking to golore's MCP server with the SDK's own client, in this process, over standard input or over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from golore.mcp_server.server.app import build_server
from golore.mcp_server.server.open_repositories import Repositories
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

GOLORE = Path(sys.executable).with_name("golore")
T = TypeVar("T")


def over_stdio(talk: Callable[[Client], Awaitable[T]], *roots: Path, mode: str = "auto") -> T:
    """What a talk with a `golore mcp` of its own comes to; `mode` is the client's: auto (new protocol) or legacy."""
    command = StdioServerParameters(command=str(GOLORE), args=["mcp", *map(str, roots)], env=dict(os.environ))

    async def run() -> T:
        async with Client(command, mode=mode) as client:
            return await talk(client)

    return anyio.run(run)


def inside(talk: Callable[[Client], Awaitable[T]], *roots: Path) -> T:
    """The same with a server in this process."""

    async def run() -> T:
        with Repositories(roots) as repositories:
            async with Client(build_server(repositories)) as client:
                return await talk(client)

    return anyio.run(run)


async def told(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer that is no error."""
    result = await client.call_tool(tool, arguments)
    text = text_of(result.content)
    assert not result.is_error, text
    return text


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer that is an error."""
    result = await client.call_tool(tool, arguments)
    text = text_of(result.content)
    assert result.is_error, text
    return text


def text_of(content: Any) -> str:
    assert [type(part) for part in content] == [TextContent]
    return content[0].text
