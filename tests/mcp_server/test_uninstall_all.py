"""`golore uninstall --all` leaves nothing of golore but the stores, and says which those are."""

from __future__ import annotations

from pathlib import Path

import pytest
from golore.graph.safety.trust import registered_stores
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.cli.main import main
from golore.mcp_server.hooks.log import log_line
from support.hook_process import with_cards

pytestmark = pytest.mark.usefixtures("without_trial")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.resolve() / "state"))
    return tmp_path.resolve() / "state" / "golore"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".golore" not in path.parts
    }


def uninstall_all(repository: Path, *more: str) -> int:
    return main(["uninstall", "--all", "--repo", str(repository), *more])


def test_everything_but_stores_is_removed_and_stores_are_listed(
    repository: Path, home: Path, state: Path, own_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = own_shop.resolve()
    assert main(["learn", str(shop)]) == 0
    assert main(["note", "Memory.Save", "Not retried.", "--repo", str(shop)]) == 0
    gone = with_cards(home.parent / "gone", {"a.go": "Used."}) / ".golore"
    (repository / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}} // mine\n')
    (home / ".claude.json").write_text('{"theme": "dark"}\n')
    before = files(repository), files(home)
    for agent in AGENTS:
        assert main(["install", agent, "--yes", "--repo", str(repository)]) == 0
        assert main(["install", agent, "--yes", "--repo", str(repository), "--scope", "user"]) == 0
    assert main(["install", "cursor", "--yes", "--repo", str(shop)]) == 0
    log_line("", "a failure")
    (state / "serve.token-1").write_text("secret")
    (state / "missing").write_text("2026-01-01\n")
    gone.rename(home.parent / "moved")
    capsys.readouterr()
    assert uninstall_all(repository) == 1  # nobody can agree
    assert "Nothing was changed." in capsys.readouterr().out
    assert (state / "hook.log").exists()
    assert uninstall_all(repository, "--yes") == 0
    said = capsys.readouterr().out
    assert (files(repository), files(home)) == before
    assert {path.name for path in state.iterdir()} == {"stores"}
    assert registered_stores() == [str(shop / ".golore")]
    assert "golore is uninstalled from claude (project), " in said
    assert f"  {shop}/.golore  1 note\n" in said
    assert f"golore is still installed in {shop}. Run `golore uninstall --all --repo {shop}`." in said
    assert "uv tool uninstall golore" in said
    # A golore that is installed later uses the store at once.
    assert main(["note", "--list", "--repo", str(shop)]) == 0
    assert "Not retried." in capsys.readouterr().out


def test_without_a_store_no_directory_is_left(
    repository: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_line("", "a failure")
    assert uninstall_all(repository, "--yes") == 0
    assert not state.exists()
    assert "These stores stay" not in capsys.readouterr().out
    assert uninstall_all(repository) == 0
    assert "There is nothing to remove." in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_cleaned(
    repository: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "claude", "--yes", "--repo", str(repository)]) == 0
    (repository / ".cursor").mkdir()
    (repository / ".cursor" / "mcp.json").write_text('{"golore": ')
    assert uninstall_all(repository, "--yes") == 1
    assert f"{repository}/.cursor/mcp.json was left alone." in capsys.readouterr().err
    assert not (repository / ".mcp.json").exists()
    assert not state.exists()


@pytest.mark.parametrize("words", [[], ["claude", "--all"]])
def test_uninstall_needs_an_agent_or_all(words: list[str], repository: Path) -> None:
    assert main(["uninstall", *words, "--repo", str(repository)]) == 2
