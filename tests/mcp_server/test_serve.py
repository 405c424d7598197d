"""`golore serve`: MCP over HTTP, for this machine and whoever has the token."""

from __future__ import annotations

import http.client
import json
import signal
import stat
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from golore.graph.errors import GoloreError, UsageError
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.server.http import TOKEN_NAME, listening_socket, token_for
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.mcp_client import GOLORE, told
from support.shop import make_shop

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


class Served(NamedTuple):
    root: Path
    url: str
    port: int
    token: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    root = make_shop(tmp_path_factory.mktemp("served") / "shop")
    learn_graph(root)
    command = [GOLORE, "serve", root, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        token = Path(told["token"]).read_text().strip()
        yield Served(root, told["url"], int(told["url"].split(":")[2].split("/")[0]), token)
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0


def answered(served: Served, **headers: str) -> tuple[int, str]:
    """What a first request gets with these headers, or without those that are empty."""
    usual = {
        "Host": f"127.0.0.1:{served.port}",
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    try:
        connection.putrequest("POST", "/mcp", skip_host=True, skip_accept_encoding=True)
        body = json.dumps(HELLO).encode()
        for name, value in (usual | headers | {"Content-Length": str(len(body))}).items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_old_and_new_clients_are_answered_over_http(served: Served, mode: str, version: str) -> None:
    async def talk() -> tuple[Any, ...]:
        headers = {"Authorization": f"Bearer {served.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as sender,
            Client(streamable_http_client(served.url, http_client=sender), mode=mode) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            answer = await told(client, "memory_graph", question="implementers", symbol="Saver")
            return client.session.protocol_version, tools, answer

    negotiated, tools, answer = anyio.run(talk)
    assert negotiated == version
    assert "memory_graph" in tools
    assert "store/store.go:13  store.Memory  by pointer" in answer


def test_nobody_gets_in_without_the_token(served: Served) -> None:
    assert answered(served)[0] == 200
    for wrong in ("", "Bearer", f"Bearer {served.token}x", f"Basic {served.token}", f"Bearer {served.token[:-1]}"):
        status, text = answered(served, Authorization=wrong)
        assert status == 401
        assert "Send the token of golore serve" in text
        assert served.token not in text


def test_a_web_page_cannot_get_in_through_a_name_of_its_own(served: Served) -> None:
    assert answered(served, Host=f"localhost:{served.port}")[0] == 200
    assert answered(served, Host="evil.example")[0] == 421
    assert answered(served, Host=f"evil.example:{served.port}")[0] == 421
    assert answered(served, Origin="http://evil.example")[0] == 403
    assert answered(served, Origin=f"http://127.0.0.1:{served.port}")[0] == 200


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks for sockets in /proc")
def test_only_the_loopback_address_is_listened_on(served: Served) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {row[1] for row in listening if row[3] == "0A" and row[1].endswith(f":{served.port:04X}")}
    assert addresses == {f"0100007F:{served.port:04X}"}


def test_the_token_is_for_its_owner_only_and_stays_the_same(tmp_path: Path) -> None:
    token, where = token_for(tmp_path / ".golore")
    path = tmp_path / ".golore" / TOKEN_NAME
    assert where == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / ".golore" / ".gitignore").read_text() == "*\n"
    assert len(token) >= 40
    assert token_for(tmp_path / ".golore") == (token, where)
    path.chmod(0o644)
    with pytest.raises(GoloreError, match="is not a token that only you can read"):
        token_for(tmp_path / ".golore")
    assert token_for(tmp_path, "0123456789abcdef") == ("0123456789abcdef", "$GOLORE_TOKEN")
    with pytest.raises(UsageError, match="at least 16 printable ASCII characters"):
        token_for(tmp_path, "short")


def test_a_port_that_is_taken_is_told_with_what_to_do(served: Served) -> None:
    with pytest.raises(GoloreError, match=rf"Port {served.port} is in use, .* choose another port with --port"):
        listening_socket(served.port)
    tried = subprocess.run(
        [GOLORE, "serve", served.root, "--port", str(served.port)], capture_output=True, text=True, check=False
    )
    assert tried.returncode == 1
    assert tried.stderr.startswith(f"golore: Port {served.port} is in use")
    assert tried.stdout == ""
