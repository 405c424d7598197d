"""Installing loses nothing that others write, and uninstalling removes exactly what was installed."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.cli.main import main
from golore.mcp_server.install import config_entries, json_edits
from golore.mcp_server.install.agent_configs import AgentFile, InstallTarget, setup_for
from golore.mcp_server.install.config_files import BACKUP
from golore.mcp_server.install.launch_commands import Program
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from support.hook_process import GOLORE

pytestmark = pytest.mark.usefixtures("without_trial")
JSONC = {
    "empty object": "{}",
    "empty object on two lines": "{\n}\n",
    "no final newline": '{\n  "a": 1\n}',
    "one line": '{"a": 1, "mcpServers": {"other": {"command": "other"}}}\n',
    "tabs": '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"other": {"command": "other"}\n\t}\n}\n',
    "four spaces": '{\n    "mcpServers": {\n        "other": {"command": "other"}\n    }\n}\n',
    "trailing commas": '{\n  "mcpServers": {\n    "other": {"command": "other"},\n  },\n}\n',
    "comment first": '// mine\n{\n  "a": 1\n}\n',
    "comment last": '{\n  "a": 1\n}\n// mine\n',
    "comment above a member": '{\n  // mine\n  "a": 1\n}\n',
    "comment after a member": '{\n  "a": 1 // mine\n}\n',
    "comment after a comma": '{\n  "a": 1, // mine\n  "b": 2\n}\n',
    "comment before a comma": '{\n  "a": 1 /* mine */ ,\n  "b": 2\n}\n',
    "comment before a colon": '{\n  "a" /* mine */: /* too */ 1\n}\n',
    "comment below the members": '{\n  "a": 1\n  // mine\n}\n',
    "comment in an empty object": '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
    "only a comment in the file's object": "{\n  // nothing yet\n}\n",
    "comment between an object's brackets": '{"mcpServers": {/* none */}}\n',
    "comment in an array": '{\n  "hooks": {\n    "PostToolUse": [\n      // none\n    ]\n  }\n}\n',
    "comment that looks like code": '{\n  // "mcpServers": {},\n  "a": "// no comment"\n}\n',
    "block comment over lines": '{\n  /* mine\n     and yours */\n  "a": 1\n}\n',
    "blank lines": '\n\n{\n\n  "a": 1\n\n}\n\n',
    "CRLF": '{\r\n  "a": 1 // mine\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "empty hooks": '{"hooks": {}, "mcpServers": {}}',
    "empty file": "",
    "blank file": "\n",
    "other hooks": '{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "make"}]}], "Stop": []}}',
}
TOML = {
    "empty": "",
    "only a comment": "# mine\n",
    "comment last": "a = 1\n# mine\n",
    "no final newline": "a = 1",
    "other server": '[mcp_servers.other] # mine\ncommand = "other"\n',
    "server in the middle": '[mcp_servers.other]\ncommand = "other"\n\n[projects.x]\ntrust = "yes" # mine\n',
    "empty table": "[mcp_servers]\n# none\n",
    "inline table": 'mcp_servers = {other = {command = "x"}} # mine\n',
    "comment between": "# first\n\n[a]\nb = 1\n\n# second\n[c]\nd = 1\n",
    "array of tables": "[[a]]\nb = 1\n[[a]]\nb = 2 # mine\n",
    "CRLF": "a = 1 # mine\r\n",
    "strings with brackets": 'a = """\n[mcp_servers.golore]\n"""\n',
}


def call(command: str, agent: str, repository: Path, *more: str) -> int:
    return main([command, agent, "--yes", "--repo", str(repository), *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def until(terminal: int, said: bytes, *, after: bytes = b"") -> bytes:
    while said not in after:
        after += os.read(terminal, 4096)
    return after


def test_what_an_agent_writes_while_the_user_is_asked_is_kept(repository: Path, home: Path) -> None:
    file = home / ".claude.json"
    file.write_text('{\n  "history": ["old"]\n}\n')
    ours, theirs = pty.openpty()
    command = [GOLORE, "install", "claude", "--scope", "user", "--repo", repository]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        until(ours, b"[y/N]")
        file.write_text('{\n  "history": ["old", "new"],\n  "oauthAccount": {"id": 1}\n}\n')
        os.write(ours, b"y\n")
        again = until(ours, b"[y/N]")
        assert b"was changed by another program meanwhile" in again
        assert b"oauthAccount" in again  # the new content is shown
        os.write(ours, b"y\n")
        until(ours, b"golore is installed")
        assert process.wait(60) == 0
    os.close(ours)
    after = json.loads(file.read_text())
    assert (after["history"], after["oauthAccount"]) == (["old", "new"], {"id": 1})
    assert "golore" in after["mcpServers"]


def test_without_a_user_to_ask_a_file_that_changes_meanwhile_is_left_alone(repository: Path) -> None:
    file = repository / ".mcp.json"
    file.write_text(json.dumps({"long": "x" * 200_000}))  # the diff does not fit into a pipe
    command = [GOLORE, "install", "claude", "--yes", "--repo", repository]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1)
        file.write_text('{"new": true}')
        _, err = process.communicate()
    assert process.returncode == 1
    assert f"{file} was changed by another program meanwhile".encode() in err
    assert file.read_text() == '{"new": true}'


def test_the_content_is_on_the_disk_before_and_after_the_rename(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".mcp.json").write_text("{}")
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor: int) -> None:
        steps.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        fsync(descriptor)

    def recorded_replace(source: Path, target: Path) -> None:
        steps.append(f"rename {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    assert call("install", "claude", repository) == 0
    at = steps.index("rename .mcp.json")
    assert steps[at - 1].startswith("sync .mcp.json.")
    assert steps[at + 1] == "sync repository"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_owner_group_and_mode_stay(repository: Path) -> None:
    file = repository / ".mcp.json"
    file.write_text("{}")
    file.chmod(0o640)
    os.chown(file, 1234, 2345)
    assert call("install", "claude", repository) == 0
    found = file.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (1234, 2345, 0o640)


def test_a_new_file_is_never_readable_by_others_before_it_has_its_mode(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository / ".mcp.json"
    file.write_text("{}")
    file.chmod(0o600)
    modes: list[int] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".tmp":
            modes.append(os.fstat(descriptor).st_mode & 0o077)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    (repository / ".claude").mkdir()
    (repository / ".claude" / "settings.json").write_text("{}")
    (repository / ".claude" / "settings.json").chmod(0o600)
    assert call("install", "claude", repository) == 0
    assert set(modes) == {0}
    assert (repository / f".mcp.json{BACKUP}").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", JSONC)
def test_json_of_any_layout_is_restored_to_the_byte(name: str, repository: Path) -> None:
    text = JSONC[name].encode()
    (repository / ".claude").mkdir()
    for file in (repository / ".mcp.json", repository / ".claude" / "settings.json"):
        file.write_bytes(text)
    before = contents(repository)
    assert call("uninstall", "claude", repository) == 0  # nothing is installed
    assert contents(repository) == before
    assert call("install", "claude", repository) == 0
    once = contents(repository)
    assert b"golore hook claude" in once[".claude/settings.json"]
    assert call("install", "claude", repository) == 0
    assert contents(repository) == once
    assert call("uninstall", "claude", repository) == 0
    assert contents(repository) == before


@pytest.mark.parametrize("name", TOML)
def test_toml_of_any_layout_is_restored_to_the_byte(name: str, repository: Path) -> None:
    (repository / ".codex").mkdir()
    file = repository / ".codex" / "config.toml"
    file.write_bytes(TOML[name].encode())
    before = contents(repository)
    assert call("uninstall", "codex", repository) == 0
    assert contents(repository) == before
    assert call("install", "codex", repository) == 0
    once = contents(repository)
    assert tomllib.loads(once[".codex/config.toml"].decode())["mcp_servers"]["golore"]["command"] == "sh"
    assert call("install", "codex", repository) == 0
    assert contents(repository) == once
    assert call("uninstall", "codex", repository) == 0
    assert contents(repository) == before


@pytest.mark.parametrize("name", TOML)
def test_comments_that_the_user_adds_in_and_around_the_toml_table_stay(name: str, repository: Path) -> None:
    (repository / ".codex").mkdir()
    file = repository / ".codex" / "config.toml"
    file.write_text(TOML[name])
    assert call("install", "codex", repository) == 0
    text = file.read_text()
    if "\n[mcp_servers.golore]\n" in f"\n{text}".replace('"""\n[mcp_servers.golore]\n"""', ""):
        text = re.sub(r'(?<!""")(^|\n)(\[mcp_servers.golore\])\n', r"\1# above\n\2 # beside\n# in\n", text)
        text = re.sub(r'(command = "sh")\n', r"\1 # why\n", text)
        text = re.sub(r'(args = \["-c", .*\])\n', r"\1\n# below\n", text)
    file.write_text(text)
    assert call("uninstall", "codex", repository) == 0
    after = file.read_text()
    assert tomllib.loads(after) == tomllib.loads(TOML[name])
    for comment in re.findall(r"# \w+", text):
        assert comment in after


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_uninstall_without_an_install_changes_nothing(agent: str, scope: str, repository: Path, home: Path) -> None:
    where = InstallTarget(scope, repository, home, Program())
    texts = ["// mine\n", "{ /* mine */ }", "{}", "", '{"hooks": {}, "mcpServers": {}, "version": 1}', "not JSON"]
    for text in texts:
        for target in setup_for(agent, where).targets:
            target.file.parent.mkdir(parents=True, exist_ok=True)
            target.file.write_text("# mine\n" if target.file.suffix == ".toml" else text)
        before = contents(repository), contents(home)
        assert call("uninstall", agent, repository, "--scope", scope) == 0
        assert (contents(repository), contents(home)) == before


def test_directories_in_the_home_stay(repository: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    assert call("install", "claude", repository, "--scope", "user") == 0
    assert call("uninstall", "claude", repository, "--scope", "user") == 0
    assert contents(home) == {}
    assert (home / ".claude").is_dir()


def test_comments_in_a_file_that_golore_created_keep_it(repository: Path) -> None:
    assert call("install", "claude", repository) == 0
    file = repository / ".mcp.json"
    file.write_text(file.read_text().replace('"mcpServers": {', '"mcpServers": { // servers of the team'))
    settings = repository / ".claude" / "settings.json"
    settings.write_text(f"// mine\n{settings.read_text()}")
    assert call("uninstall", "claude", repository) == 0
    assert "// servers of the team" in file.read_text()
    assert json_edits.loads(file.read_text()) == {}
    assert settings.read_text().startswith("// mine\n")


def test_a_backup_stays_where_the_file_was_changed_and_goes_where_it_is_restored(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, backup = repository / ".mcp.json", repository / f".mcp.json{BACKUP}"
    file.write_text('{"a": 1}')
    assert call("install", "claude", repository) == 0
    file.write_text(json_edits.insert(file.read_text(), ("b",), 2))
    assert call("uninstall", "claude", repository) == 0
    assert f"{backup} is kept" in capsys.readouterr().out
    assert backup.read_text() == '{"a": 1}'
    file.write_text('{"c": 3}')
    assert call("install", "claude", repository) == 0
    assert backup.read_text() == '{"c": 3}'  # a new installation has a new original
    assert call("uninstall", "claude", repository) == 0
    assert file.read_text() == '{"c": 3}'
    assert not backup.exists()


@pytest.mark.parametrize(
    "text", ['mcp_servers = "x"\n', "mcp_servers = 1\n", "mcp_servers = []\n", "[[mcp_servers]]\na = 1\n"]
)
def test_toml_without_a_place_for_the_entry_is_left_alone_with_a_reason(
    text: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / ".codex").mkdir()
    file = repository / ".codex" / "config.toml"
    file.write_text(text)
    assert call("install", "codex", repository) == 1
    assert f"{file} was left alone. golore's entry needs a table at mcp_servers." in capsys.readouterr().err
    assert call("uninstall", "codex", repository) == 0
    assert file.read_text() == text


def test_toml_that_an_edit_would_change_elsewhere_is_left_alone(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / ".codex").mkdir()
    file = repository / ".codex" / "config.toml"
    file.write_text('mcp_servers.other.command = "x"\nz = 1\n')
    code = call("install", "codex", repository)
    if code:
        assert "cannot be edited without changing others" in capsys.readouterr().err
    assert tomllib.loads(file.read_text())["z"] == 1


def test_json_that_is_nested_too_deeply_is_left_alone(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".mcp.json").write_text('{"a": ' + "[" * 100_000)
    assert call("install", "claude", repository) == 1
    assert ".mcp.json was left alone." in capsys.readouterr().err


def test_links_that_a_repository_contains_lead_nowhere(
    repository: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = home / ".bashrc"
    victim.write_text("mine\n")
    hooks = repository / ".github" / "hooks" / "golore.json"
    hooks.parent.mkdir(parents=True)
    hooks.symlink_to(victim)
    assert call("install", "copilot", repository) == 1
    assert f"{hooks} is not a regular file and was left alone." in capsys.readouterr().err
    (repository / ".mcp.json").write_text("{}")
    (repository / f".mcp.json{BACKUP}").symlink_to(home / "new")
    (repository / ".claude").mkdir()
    (repository / ".claude" / "settings.json").write_text("{}")
    (repository / ".claude" / f"settings.json{BACKUP}").symlink_to(victim)
    call("install", "claude", repository)
    call("uninstall", "claude", repository)
    assert victim.read_text() == "mine\n"
    assert contents(home) == {".bashrc": b"mine\n"}


KEYS = st.sampled_from(["a", "b", "hooks", "mcpServers", "other", "PostToolUse"])
GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // said\n", " /* said */ ", "\n\t// said: [{\n\t"])


@st.composite
def configurations(draw: st.DrawFn) -> str:
    """A configuration of Claude Code as people write it: comments and blanks anywhere, commas at the end."""

    def text(value: json_edits.Json) -> str:
        if isinstance(value, dict):
            inner = [f"{draw(GAPS)}{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}{text(one)}" for key, one in value.items()]
        elif isinstance(value, list):
            inner = [draw(GAPS) + text(one) for one in value]
        else:
            return json.dumps(value)
        tail = draw(st.sampled_from(["", ","])) if inner else ""
        body = f"{draw(GAPS)},".join(inner) + tail + draw(GAPS)
        return f"{{{body}}}" if isinstance(value, dict) else f"[{body}]"

    handlers = st.lists(st.fixed_dictionaries({"hooks": st.just([{"type": "command", "command": "make"}])}), max_size=2)
    value: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "a": st.integers() | st.text(alphabet='ab",/*', max_size=4),
                "hooks": st.fixed_dictionaries({}, optional={"PostToolUse": handlers, "Stop": handlers}),
                "mcpServers": st.dictionaries(KEYS, st.fixed_dictionaries({"command": st.just("x")}), max_size=2),
            },
        )
    )
    return draw(GAPS) + text(value) + draw(GAPS)


@given(configurations())
@limits(max_examples=150)
def test_entries_are_added_once_and_removed_without_a_trace_in_any_json(text: str) -> None:
    hooks, servers = setup_for("claude", InstallTarget("project", Path("/r"), Path("/h"), Program())).targets
    both = AgentFile(Path("/r/settings.json"), (*hooks.additions, *servers.additions))
    assert config_entries.remove_entries(text, both, "claude", None) == text
    added, remarks = config_entries.add_entries(text, both, "claude")
    assert remarks == ()
    assert config_entries.add_entries(added, both, "claude")[0] == added
    assert added.count("said") == text.count("said")
    removed = config_entries.remove_entries(added, both, "claude", text)
    assert removed is not None
    assert json_edits.loads(removed) == json_edits.loads(text)
    assert removed.count("said") == text.count("said")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_what_a_killed_process_left_is_removed_although_nothing_has_to_change(command: str, repository: Path) -> None:
    assert main([command, "claude", "--yes", "--repo", str(repository)]) == 0
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [repository / f".mcp.json{suffix}.{dead.pid}.tmp" for suffix in ("", ".golore-backup")]
    alive = repository / f".mcp.json.{os.getppid()}.tmp"
    for path in (*left, alive):
        path.write_text("{")
    assert main([command, "claude", "--yes", "--repo", str(repository)]) == 0
    assert [path.exists() for path in (*left, alive)] == [False, False, True]
