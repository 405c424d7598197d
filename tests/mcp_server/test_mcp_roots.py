"""An MCP server that was started outside any repository: it uses the client's roots or a named repository."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from golore.graph.cards.card_store import Card, create_card_store
from golore.mcp_server.cli.main import main
from golore.mcp_server.install.json_edits import loads
from golore.mcp_server.server.app import build_server
from golore.mcp_server.server.open_repositories import Repositories
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import ListRootsResult, Root
from support.mcp_client import GOLORE, refused, told
from support.shop import make_shop

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]


def with_roots(talk: Talk[T], server: Any, roots: Sequence[Path] | None, mode: str = "auto") -> T:
    """The result of `talk` with a client that has these roots; with None, one without roots."""

    async def list_roots(context: ClientRequestContext) -> ListRootsResult:
        assert context is not None
        return ListRootsResult(roots=[Root.model_validate({"uri": path.as_uri()}) for path in roots or ()])

    async def run() -> T:
        async with Client(server, mode=mode, list_roots_callback=None if roots is None else list_roots) as client:
            return await talk(client)

    return anyio.run(run)


def started_in(directory: Path, talk: Talk[T], roots: Sequence[Path] | None, mode: str = "auto") -> T:
    command = StdioServerParameters(command=str(GOLORE), args=["mcp"], env=dict(os.environ), cwd=directory)
    return with_roots(talk, command, roots, mode)


async def callers_of_put(client: Client) -> str:
    return await told(client, "memory_graph", question="callers", symbol="Put")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_at_the_root_of_the_disk_uses_the_roots_of_its_client(own_shop: Path, mode: str) -> None:
    assert "main.go:15  main.run" in started_in(Path("/"), callers_of_put, [own_shop], mode)


def test_a_root_that_is_not_learned_can_be_learned(tmp_path: Path, home: Path) -> None:
    root = make_shop(tmp_path / "new")

    async def talk(client: Client) -> list[str]:
        return [
            await refused(client, "memory_graph", question="callers", symbol="Put"),
            await told(client, "memory_learn"),
            await callers_of_put(client),
        ]

    before, learned, after = started_in(home, talk, [root])
    assert f"{root} has not been learned yet. Call memory_learn" in before
    assert learned.startswith("Learned 2 packages")
    assert "main.go:15  main.run" in after


@pytest.mark.parametrize("roots", [None, [], ["home"], ["/"]])
def test_a_home_directory_is_never_learned(
    home: Path, roots: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "scratch.go").write_text("package scratch\n")
    monkeypatch.chdir(home)

    async def talk(client: Client) -> list[str]:
        return [
            await told(client, "memory_status"),
            await refused(client, "memory_learn"),
            await refused(client, "memory_learn", repository=str(home)),
            await refused(client, "memory_context"),
        ]

    named = None if roots is None else [home if name == "home" else Path(name) for name in roots]
    with Repositories([]) as repositories:
        replies = with_roots(talk, build_server(repositories), named)
    assert not (home / ".golore").exists()
    advice = f"This server was started in {home}, which is not a Go repository, and its client named none. Give"
    assert all(advice in replies[at] for at in (0, 1, 3))
    assert "is not in a learned repository" in replies[2]


def test_a_path_names_any_learned_repository_of_the_user(own_shop: Path, home: Path, tmp_path: Path) -> None:
    elsewhere = make_shop(tmp_path / "elsewhere")
    with create_card_store(own_shop / ".golore") as card_store:
        card_store.replace_all([Card("store/store.go", "d", "Used by main.go.")], [])

    async def talk(client: Client) -> list[str]:
        asked = {"question": "callers", "symbol": "Put"}
        return [
            await told(client, "memory_graph", **asked, repository=str(own_shop)),
            await told(client, "memory_context", target=str(own_shop / "store" / "store.go")),
            await told(client, "memory_status"),
            await refused(client, "memory_graph", **asked, repository=str(elsewhere)),
            await refused(client, "memory_learn", repository=str(elsewhere)),
        ]

    named, by_file, status, unlearned, refusal = started_in(home, talk, None)
    assert "main.go:15  main.run" in named
    assert by_file == "Used by main.go."
    assert f"Learned ones: {own_shop}" in status
    assert f"{elsewhere} is not in a learned repository." in unlearned
    assert f"{elsewhere} is not in a learned repository." in refusal
    assert not (elsewhere / ".golore").exists()


def test_a_server_in_a_repository_does_not_ask_for_roots(own_shop: Path, tmp_path: Path) -> None:
    other = make_shop(tmp_path / "other")
    assert "main.go:15  main.run" in started_in(own_shop, callers_of_put, [other])


@pytest.mark.usefixtures("without_trial")
@pytest.mark.parametrize(
    ("agent", "file", "key"),
    [("cursor", ".cursor/mcp.json", "mcpServers"), ("vscode", ".config/Code/User/mcp.json", "servers")],
)
def test_what_install_writes_for_the_user_finds_the_open_folder(
    agent: str, file: str, key: str, own_shop: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_shop)
    assert main(["install", agent, "--scope", "user", "--yes"]) == 0
    entry: Any = loads((home / file).read_text())
    server = entry[key]["golore"]
    assert server["args"] == ["mcp"]
    command = StdioServerParameters(command=server["command"], args=server["args"], env=dict(os.environ), cwd=Path("/"))
    assert "main.go:15  main.run" in with_roots(callers_of_put, command, [own_shop])
