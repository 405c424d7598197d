"""A team server over a lake of three small repositories, and people with tokens who ask it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import httpx2
from golore.graph.lake.bucket import open_lake
from golore.mcp_server.team.caller import CALLER, Caller
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.team.team_server import build_team_server
from golore.mcp_server.team.token_file import Grant, add_token
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.mcp_client import GOLORE

T = TypeVar("T")
LIBRARY, APPLICATION, TOOL = (f"example.org/team/{name}" for name in ("lib", "app", "tool"))


class Team(NamedTuple):
    """`anna` may read `lib` and `app` and write notes; `bob` may read `tool`. They are tokens."""

    folder: Path
    url: str
    tokens: Path
    anna: str
    bob: str
    process: subprocess.Popen[str]

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])


@contextmanager
def serving(folder: Path, *options: str) -> Generator[Team]:
    """A server of `folder/lake`, with its log in `folder/log`, in a directory whose Python modules must not be used."""
    tokens = folder / "tokens.toml"
    anna = add_token(tokens, "anna", (LIBRARY, APPLICATION), may_write=True)
    bob = add_token(tokens, "bob", ("example.org/*/tool",), may_write=False)
    command = [GOLORE, "serve", "--lake", folder / "lake", "--tokens", tokens, "--listen", "127.0.0.1:0", "--json"]
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    hostile = folder / "hostile"
    hostile.mkdir()
    for module in ("golore", "json", "msgspec", "sitecustomize", "socket", "starlette", "uvicorn"):
        (hostile / f"{module}.py").write_text("raise SystemExit('a module of the working directory was imported')\n")
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=hostile
        ) as server,
    ):
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line, (folder / "log").read_text()
            yield Team(folder, json.loads(line)["url"], tokens, anna, bob, server)
        finally:
            server.terminate()
            assert server.wait(30) == 0


def asking(team: Team, token: str, talk: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    """The result of `talk` with the SDK's client over HTTP."""

    async def run() -> T:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as sender,
            Client(streamable_http_client(team.url, http_client=sender), mode=mode) as client,
        ):
            return await talk(client)

    return anyio.run(run)


def call(tool: str, arguments: dict[str, Any], id: int = 1) -> bytes:
    """The body of a request of the protocol of 2025-11-25."""
    request = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return json.dumps(request).encode()


def requested(
    team: Team, method: str, path: str, token: str = "", body: bytes = b"", **headers: str
) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of the reply to a plain HTTP request."""
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    usual |= {"Authorization": f"Bearer {token}"} if token else {}
    connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=60)
    try:
        connection.request(method, path, body, usual | headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), {name.lower(): one for name, one in response.getheaders()}
    finally:
        connection.close()


def asked(team: Team, token: str, tool: str, **arguments: Any) -> str:
    """The text of the reply to a call, also of one that is refused."""
    status, text, _ = requested(team, "POST", "/mcp", token, call(tool, arguments))
    assert status == 200, text
    return json.loads(text)["result"]["content"][0]["text"]


@contextmanager
def repositories_of(lake: Path | str, folder: Path) -> Generator[LakeRepositories]:
    """The repositories of a server in this process, which looks for new publications only when it is told to."""
    with LakeRepositories(open_lake(str(lake)), folder, refresh=1e9) as repositories:
        yield repositories


def inside(repositories: LakeRepositories, grant: Grant, tool: str, **arguments: Any) -> str:
    """Like `asked`, of a server in this process."""

    async def run() -> str:
        CALLER.set(Caller(grant))
        async with Client(build_team_server(repositories)) as client:
            result: Any = await client.call_tool(tool, arguments)
            return result.content[0].text

    return anyio.run(run)


ANNA = Grant("anna", "0" * 64, (LIBRARY, APPLICATION), may_write=True)
BOB = Grant("bob", "1" * 64, (TOOL,))
EVERYBODY = Grant("eve", "2" * 64, ("*",))
IS_LINUX = sys.platform == "linux"
