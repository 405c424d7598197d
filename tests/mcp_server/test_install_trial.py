"""`golore install` ends with a trial of what it wrote; if that fails, every file is as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.safety.trust import registered_stores
from golore.mcp_server.cli.main import main
from golore.mcp_server.install.program_link import link_program, linked_program, path_without_environment
from support.hook_process import GOLORE, with_cards
from support.untried_install import skip_trial

PATH = "/usr/bin:/bin"


def golore(home: Path, *words: str | Path, path: str = PATH) -> subprocess.CompletedProcess[str]:
    """Run golore with nothing in its environment but a home directory and a PATH."""
    environ = {"HOME": str(home), "PATH": path}
    return subprocess.run([GOLORE, *words], env=environ, capture_output=True, text=True, check=False)


def files(folder: Path) -> dict[str, bytes | None]:
    """All files below a folder and all directories, without stores."""
    ignored = {".golore", ".cache", "share"}  # what uv creates is in the last two
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if not ignored & set(path.parts)}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "golore"


def test_install_prints_what_the_agent_will_see_and_leaves_no_sample(repository: Path, home: Path) -> None:
    done = golore(home, "install", "claude", "--yes", "--repo", repository)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.partition("golore is installed for claude.\n")[2]
    assert "hook, when it opens greet/greet.go of a sample repository:" in said
    assert "    - Hello: 1 caller: main.main (main.go:5)\n" in said
    assert "MCP server: golore " in said
    assert " tools\n" in said
    assert "`golore` is not on your PATH. Run `uv tool install " in said
    assert "This repository has not been learned yet. Run `golore learn`." in said
    assert list((home / ".local" / "state" / "golore" / "stores").iterdir()) == []


def test_install_opens_a_file_of_a_learned_repository_and_leaves_no_trace_of_the_session(
    repository: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_cards(repository, {"a.go": "Used by main.go."})
    assert main(["install", "cursor", "--yes", "--repo", str(repository)]) == 0
    said = capsys.readouterr().out
    assert "hook, when it opens a.go:\n    golore's facts about a.go" in said
    assert "    Used by main.go.\n" in said
    with create_card_store(repository / ".golore") as card_store:
        assert card_store.times_shown() == {}
    assert registered_stores() == [str(repository / ".golore")]
    assert linked_program() == GOLORE
    assert state.is_dir()


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_if_the_trial_fails_all_files_are_as_they_were(
    agent: str, repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = home / ".local" / "state" / "golore"
    state.mkdir(parents=True)
    (state / "bin").write_text("no place for a link")  # so that the hook does not find golore
    (repository / ".mcp.json").write_text('{"mcpServers": {}} // mine\n')
    (repository / ".mcp.json").chmod(0o640)
    (repository / ".mcp.json.golore-backup").write_text("an old one\n")
    (repository / ".codex").mkdir()
    (repository / ".codex" / "config.toml").write_bytes(b"model = 'x' # mine\r\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    with_cards(repository, {"a.go": "Used by main.go."})
    before = files(repository), files(home)
    done = golore(home, "install", agent, "--yes", "--repo", repository)
    assert done.returncode == 1
    assert "golore was not installed. The hook does not find golore: " in done.stderr
    assert "All files are as they were. Run `uv tool install " in done.stderr
    assert "golore is installed" not in done.stdout
    assert (files(repository), files(home)) == before
    assert (repository / ".mcp.json").stat().st_mode & 0o777 == 0o640


def test_a_state_directory_that_cannot_be_written_is_the_reason(repository: Path, home: Path) -> None:
    (home / ".local").write_text("no directory")
    done = golore(home, "install", "claude", "--yes", "--repo", repository)
    assert done.returncode == 1
    assert "golore was not installed. A sample repository cannot be learned. golore cannot record" in done.stderr
    assert set(files(repository)) == {".git"}


def test_a_file_that_cannot_be_written_undoes_the_others(repository: Path, home: Path) -> None:
    # The directory of the second file is a file.
    (repository / "opencode.json").write_text("{}")
    (repository / ".opencode").write_text("")
    before = files(repository)
    assert golore(home, "install", "opencode", "--yes", "--repo", repository).returncode == 1
    assert files(repository) == before


def test_the_virtual_environment_does_not_count_as_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`uv run` puts the directory of the environment on the PATH, where no agent looks."""
    assert sys.prefix != sys.base_prefix
    monkeypatch.setenv("PATH", os.pathsep.join([str(GOLORE.parent), str(tmp_path), "/usr/bin"]))
    assert path_without_environment() == os.pathsep.join([str(tmp_path), "/usr/bin"])


def test_learning_lets_hooks_find_golore_and_ends_the_silence_of_the_day(state: Path) -> None:
    state.mkdir(parents=True)
    (state / "missing").write_text("2026-01-01\n")
    (state / "bin").mkdir()
    (state / "bin" / "golore").symlink_to("/nowhere/golore")
    link_program()
    assert linked_program() == GOLORE
    assert not (state / "missing").exists()


def test_doctor_runs_what_agents_run_and_names_the_command_that_corrects_it(
    repository: Path,
    home: Path,
    state: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    skip_trial(monkeypatch)  # doctor will see for itself
    with_cards(repository, {"a.go": "Used by main.go."})
    hook = {"type": "command", "command": "/nowhere/golore hook claude 2>/dev/null || true"}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PostToolUse": [{"hooks": [hook]}]}}))
    server = {"command": "/nowhere/golore", "args": ["mcp"]}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"golore": server}}))
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": {"golore": server}}))
    assert main(["doctor", "--json", "--repo", str(repository)]) == 1
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["claude (user)"]["state"] == "wrong"
    assert "does not show the card of a.go" in findings["claude (user)"]["found"]
    assert findings["claude (user)"]["advice"] == "Run `golore install claude --scope user`."
    assert findings["gemini (user)"]["found"] == "Not all of it is installed: hooks missing."
    assert findings["gemini (user)"]["advice"] == "Run `golore install gemini --scope user`."
    assert "agents" not in findings
    assert state.is_dir()
    for words in (["claude", "--scope", "user"], ["gemini", "--scope", "user"]):
        assert main(["install", *words, "--yes", "--repo", str(repository)]) == 0
    capsys.readouterr()
    main(["doctor", "--json", "--repo", str(repository)])
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    for name in ("claude (user)", "gemini (user)"):
        assert findings[name]["state"] == "fine"
        assert findings[name]["found"].startswith("the hook shows cards, the MCP server answers (golore ")


def test_commands_of_a_stranger_in_a_repository_are_not_run(
    repository: Path, home: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_cards(repository, {"a.go": "Used by main.go."})
    trap = home / "trap"
    hook = {"type": "command", "command": f"touch {trap}; golore hook claude"}
    other = {"type": "command", "command": f"touch {trap}"}
    (repository / ".claude").mkdir()
    group = {"hooks": [hook, other]}  # install keeps groups with other handlers
    (repository / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PostToolUse": [group]}}))
    server = {"command": "sh", "args": ["-c", f"touch {trap}; uvx --offline golore mcp"]}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"golore": {**server, "env": {}}}}))
    (repository / ".cursor").mkdir()
    (repository / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"golore": server}}))
    assert main(["doctor", "--json", "--repo", str(repository)]) == 1
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    told = "Not written by this golore, and therefore not run: hooks and MCP server."
    assert (findings["claude (project)"]["state"], findings["claude (project)"]["found"]) == ("wrong", told)
    assert main(["install", "claude", "--yes", "--repo", str(repository)]) == 0
    assert not trap.exists()
    capsys.readouterr()
    main(["doctor", "--json", "--repo", str(repository)])
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["claude (project)"]["state"] == "optional"  # the hooks are golore's, the server is not
    assert not trap.exists()
    assert state.is_dir()
