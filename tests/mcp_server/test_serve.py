"""`golore serve`: MCP over HTTP, for this machine and whoever has the token."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from golore.graph.errors import GoloreError, UsageError
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.server.http import token_for, token_path
from golore.mcp_server.server.loopback import listening_socket
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
    pid: int


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    root = make_shop(tmp_path_factory.mktemp("served") / "shop")
    learn_graph(root)
    command = [GOLORE, "serve", root, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        token = Path(told["token"]).read_text().strip()
        yield Served(root, told["url"], int(told["url"].split(":")[2].split("/")[0]), token, server.pid)
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
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
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
            httpx2.AsyncClient(headers=headers, timeout=300) as sender,
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


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "golore"


def test_the_token_is_for_its_owner_only_and_stays_the_same(tmp_path: Path, state: Path) -> None:
    store = tmp_path / ".golore"
    token, where = token_for(store)
    path = token_path(store)
    assert (where, path.parent) == (str(path), state)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert not store.exists()
    assert len(token) >= 40
    assert token_for(store) == (token, where)
    assert token_for(tmp_path / "other" / ".golore")[0] != token
    (tmp_path / "link").symlink_to(tmp_path)
    assert token_for(tmp_path / "link" / ".golore") == (token, where)
    assert token_for(tmp_path, "0123456789abcdef") == ("0123456789abcdef", "$GOLORE_TOKEN")
    with pytest.raises(UsageError, match="at least 16 printable ASCII characters"):
        token_for(tmp_path, "short")


@pytest.mark.parametrize("flaw", ["mode", "link", "pipe", "owner", "short"])
def test_a_token_that_others_may_know_is_refused(flaw: str, tmp_path: Path, state: Path) -> None:
    store = tmp_path / ".golore"
    token_for(store)
    path = token_path(store)
    if flaw == "mode":
        path.chmod(0o640)
    elif flaw == "link":
        path.rename(tmp_path / "real")
        path.symlink_to(tmp_path / "real")
    elif flaw == "pipe":
        path.unlink()
        os.mkfifo(path, 0o600)
    elif flaw == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give files to other users")
        os.chown(path, 1234, -1)
    else:
        path.write_text("short\n")
    with pytest.raises(GoloreError, match="is not a token that only you can read"):
        token_for(store)
    assert path.parent == state


def test_a_directory_for_tokens_that_others_can_write_to_is_refused(tmp_path: Path, state: Path) -> None:
    state.mkdir(parents=True)
    state.chmod(0o777)
    with pytest.raises(GoloreError, match="Other users can write to"):
        token_for(tmp_path / ".golore")


@pytest.mark.usefixtures("state")
def test_a_token_that_a_repository_contains_is_not_accepted(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    (origin / ".golore").mkdir(parents=True)
    (origin / ".golore" / "serve.token").write_text("known-to-the-author-of-the-repository\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(origin)]
    for words in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", origin, clone], check=True, umask=0o077)
    committed = clone / ".golore" / "serve.token"
    assert stat.S_IMODE(committed.stat().st_mode) == 0o600
    assert token_for(clone / ".golore")[0] != committed.read_text().strip()


def test_every_path_and_method_needs_the_token(served: Served) -> None:
    def status(method: str, path: str, *headers: tuple[str, str], body: bytes = b"") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
        try:
            connection.putrequest(method, path)
            for name, value in (*headers, ("Content-Length", str(len(body)))):
                connection.putheader(name, value)
            connection.endheaders(body)
            return connection.getresponse().status
        finally:
            connection.close()

    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        for path in ("/mcp", "/", "/mcp/", "//mcp", "/other", "/.well-known/oauth-protected-resource"):
            assert status(method, path) == 401
    upgrade = (("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"))
    assert status("GET", "/mcp", *upgrade, ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")) in (400, 401, 403)
    bearer = ("Authorization", f"Bearer {served.token}")
    assert status("POST", "/mcp", bearer, bearer) == 401
    assert status("POST", "/mcp", bearer, ("Authorization", "Bearer other")) == 401


def test_a_foreign_origin_and_another_content_type_are_refused(served: Served) -> None:
    assert answered(served, Origin="null")[0] == 403
    assert answered(served, Origin=f"https://127.0.0.1:{served.port}")[0] == 403
    assert answered(served, **{"Content-Type": "text/plain"})[0] == 400


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of the server in /proc")
def test_a_large_body_without_the_token_is_refused_and_not_kept(served: Served) -> None:
    before = peak_memory(served.pid)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
    try:
        connection.putrequest("POST", "/mcp")
        connection.putheader("Content-Length", str(300 << 20))
        connection.endheaders()
        with suppress(BrokenPipeError, ConnectionResetError):  # the server need not read all of it
            for _ in range(300):
                connection.send(bytes(1 << 20))
        with suppress(ConnectionResetError, BrokenPipeError):
            assert connection.getresponse().status == 401
    finally:
        connection.close()
    assert answered(served)[0] == 200
    assert peak_memory(served.pid) - before < 100 << 20


def peak_memory(pid: int) -> int:
    """The largest resident size of a process so far, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def test_a_port_that_is_taken_is_told_with_what_to_do(served: Served) -> None:
    with pytest.raises(GoloreError, match=rf"Port {served.port} is in use, .* choose another port with --port"):
        listening_socket(served.port)
    tried = subprocess.run(
        [GOLORE, "serve", served.root, "--port", str(served.port)], capture_output=True, text=True, check=False
    )
    assert tried.returncode == 1
    assert tried.stderr.startswith(f"golore: Port {served.port} is in use")
    assert tried.stdout == ""
