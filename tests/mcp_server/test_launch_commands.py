"""The commands by which agents start golore, run by real shells in environments that contain next to nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.install.launch_commands import (
    Program,
    hook_command,
    hook_words,
    is_our_command,
    is_our_server,
    server_words,
)

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish", "ksh") if shutil.which(shell)]
PATH = "/usr/bin:/bin"
SAYS = '#!/bin/sh\necho "$0 $*"\n'


def run(
    command: str | list[str], home: Path, *, path: str = PATH, shell: str = "sh", **environ: str
) -> subprocess.CompletedProcess[str]:
    words = [shutil.which(shell) or shell, "-c", command] if isinstance(command, str) else command
    return subprocess.run(
        words,
        env={"HOME": str(home), "PATH": path, **environ},
        input="{}",
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def program(file: Path, text: str = SAYS) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("agent", AGENTS)
def test_without_golore_a_hook_says_so_once_a_day_and_never_fails(agent: str, tmp_path: Path) -> None:
    command = hook_command(Program(), agent)
    first, second = run(command, tmp_path), run(command, tmp_path)
    assert (first.returncode, first.stderr, second.returncode, second.stderr) == (0, "", 0, "")
    answer = json.dumps(json.loads(first.stdout))
    assert "golore is not installed" in answer
    assert "uv tool install ." in answer
    assert second.stdout == ""
    missing = tmp_path / ".local" / "state" / "golore" / "missing"
    assert missing.parent.stat().st_mode & 0o077 == 0
    missing.write_text("2020-01-01\n")  # another day
    assert run(command, tmp_path).stdout == first.stdout


def test_where_the_day_cannot_be_recorded_a_hook_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("not a directory")
    done = run(hook_command(Program(), "claude"), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_any_shell_finds_golore_in_the_home_and_behind_the_link(shell: str, tmp_path: Path) -> None:
    home = tmp_path / "a home"
    found = program(home / ".local" / "state" / "golore" / "bin" / "golore")
    command = hook_command(Program(), "claude")
    assert run(command, home, shell=shell).stdout == f"{found} hook claude\n"
    found = program(home / ".local" / "bin" / "golore")
    assert run(command, home, shell=shell).stdout == f"{found} hook claude\n"
    found = program(tmp_path / "bin" / "golore")
    assert run(command, home, shell=shell, path=f"{found.parent}:{PATH}").stdout == f"{found} hook claude\n"
    mine = program(tmp_path / "it's mine" / "golore")
    own = hook_command(Program(str(mine)), "claude")
    assert run(own, home, shell=shell, path=f"{found.parent}:{PATH}").stdout == f"{mine} hook claude\n"


def test_a_golore_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path / ".local" / "bin" / "golore", "#!/nowhere/python\n")
    found = program(tmp_path / ".local" / "state" / "golore" / "bin" / "golore")
    assert run(hook_command(Program(), "cursor"), tmp_path).stdout == f"{found} hook cursor\n"
    assert run(hook_command(Program("/nowhere/golore"), "cursor"), tmp_path).stdout == f"{found} hook cursor\n"


def test_a_state_directory_in_the_repository_is_not_searched(tmp_path: Path) -> None:
    program(tmp_path / "state" / "golore" / "bin" / "golore")
    done = run(hook_command(Program(), "claude"), tmp_path, XDG_STATE_HOME="state")
    assert "golore is not installed" in done.stdout
    assert run(server_words(Program()), tmp_path, XDG_STATE_HOME="state").returncode == 127


@pytest.mark.parametrize(("tool", "call"), [("uvx", "--offline golore"), ("pipx", "run golore")], ids=["uvx", "pipx"])
def test_the_caches_of_uvx_and_pipx_are_used_without_the_network(tool: str, call: str, tmp_path: Path) -> None:
    found = program(tmp_path / "bin" / tool, '#!/bin/sh\n[ "$3" = --version ] || echo "$* $PIP_NO_INDEX"\n')
    path = f"{found.parent}:{PATH}"
    offline = "1" if tool == "pipx" else ""
    assert run(hook_command(Program(), "claude"), tmp_path, path=path).stdout == f"{call} hook claude {offline}\n"
    assert run(server_words(Program()), tmp_path, path=path).stdout == f"{call} mcp {offline}\n"


def test_without_golore_the_server_fails_with_a_message(tmp_path: Path) -> None:
    done = run(server_words(Program()), tmp_path)
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.startswith("golore is not installed for this user")


def test_the_server_is_found_like_the_hook_and_takes_the_place_of_the_shell(tmp_path: Path) -> None:
    found = program(tmp_path / ".local" / "state" / "golore" / "bin" / "golore", '#!/bin/sh\necho "$PPID $*"\n')
    done = run(server_words(Program()), tmp_path)
    assert done.stdout == f"{os.getpid()} mcp\n"
    found.unlink()
    found.symlink_to("/nowhere/golore")
    assert run(server_words(Program()), tmp_path).returncode == 127


def test_on_windows_the_commands_need_no_shell() -> None:
    windows = Program("C:\\Users\\A B\\golore.exe", is_windows=True)
    for agent in AGENTS:
        assert hook_command(windows, agent) == f"golore hook {agent}"
        assert hook_words(windows, agent) == ["golore", "hook", agent]
    assert server_words(windows) == ["C:\\Users\\A B\\golore.exe", "mcp"]
    assert server_words(Program(is_windows=True)) == ["golore", "mcp"]


def test_entries_of_every_golore_are_recognized_and_those_of_users_are_not() -> None:
    programs = (Program(), Program("/opt/a b/golore"), Program(is_windows=True), Program("C:\\x\\golore.exe", True))
    for one in programs:
        command, *arguments = server_words(one)
        assert is_our_server({"command": command, "args": [*arguments]})
        assert is_our_server({"type": "local", "command": [command, *arguments], "enabled": True})
        assert is_our_command({"command": hook_command(one, "claude")}, "claude")
        assert not is_our_command({"command": hook_command(one, "claude")}, "codex")
    for words in (["uvx", "golore", "mcp"], ["golore", "mcp", "/other"], ["sh", "-c", "echo golore mcp"], []):
        assert not is_our_server({"command": words[0] if words else None, "args": [*words[1:]]})
    assert not is_our_server({"command": "golore", "args": ["mcp"], "env": {"GOLORE_HOME": "/x"}})
