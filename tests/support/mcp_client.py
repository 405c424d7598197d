"""Calls golore's MCP server with the SDK's client, in this process or over standard input and output."""

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
    """The result of `talk` with a new `golore mcp` process. `mode` of the client: auto (new protocol) or legacy."""
    command = StdioServerParameters(command=str(GOLORE), args=["mcp", *map(str, roots)], env=dict(os.environ))

    async def run() -> T:
        async with Client(command, mode=mode) as client:
            return await talk(client)

    return anyio.run(run)


def inside(talk: Callable[[Client], Awaitable[T]], *roots: Path) -> T:
    """Like `over_stdio`, with a server in this process."""

    async def run() -> T:
        with Repositories(roots) as repositories:
            async with Client(build_server(repositories)) as client:
                return await talk(client)

    return anyio.run(run)


async def told(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer. Asserts that it is not an error."""
    result = await client.call_tool(tool, arguments)
    text = text_of(result.content)
    assert not result.is_error, text
    return text


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an error. Asserts that it is one."""
    result = await client.call_tool(tool, arguments)
    text = text_of(result.content)
    assert result.is_error, text
    return text


def text_of(content: Any) -> str:
    assert [type(part) for part in content] == [TextContent]
    return content[0].text
