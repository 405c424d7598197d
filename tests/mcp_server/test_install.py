"""`golore install` and `uninstall`: what others wrote stays, and what golore wrote can be taken out again."""

from __future__ import annotations

import difflib
import json
import os
import pty
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.cli.main import main
from golore.mcp_server.install import json_edits
from golore.mcp_server.install.agent_configs import InstallTarget, all_agents, setup_for
from golore.mcp_server.install.config_files import BACKUP
from golore.mcp_server.install.launch_commands import Program, hook_command
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from support.hook_process import GOLORE, with_cards

pytestmark = pytest.mark.usefixtures("without_trial")
ROOT = Path(__file__).resolve().parents[2]
AGNIX = Path(sys.executable).with_name("agnix")
HANDLER = '{"type": "command", "command": "make check"}'
# What people have in these files already: comments, odd layout, trailing commas, other hooks, other servers.
THEIRS = {
    ".claude/settings.json": """\
{
    "permissions": {"allow": ["Bash(go test:*)"]},
    "hooks": {
        "PostToolUse": [
            {"matcher": "Edit", "hooks": [HANDLER]}
        ]
    }
}
""",
    ".mcp.json": '{"mcpServers": {"other": {"command": "other", "args": []}}}',
    ".cursor/hooks.json": '{\n\t"version": 1,\n\t"hooks": {}\n}\n',
    ".cursor/mcp.json": "{}",
    ".gemini/settings.json": """\
{
  // the theme of the day
  "theme": "dark", /* not light */
  "hooks": {
    "AfterTool": [], // none yet
  },
  // the end
}
""",
    ".codex/hooks.json": '{"hooks": {"PostToolUse": [{"hooks": [HANDLER]}]}}\n',
    ".codex/config.toml": """\
# my settings
model = "gpt-5"   # the large one

[mcp_servers.other] # another
command = "other"

[projects."/home/me/x"]
trust_level = "trusted"
""",
    ".vscode/mcp.json": """\
{
  "inputs": [],
  // servers of the team
  "servers": {
    "other": { "type": "stdio", "command": "other" } // keep
  }
}
""",
    "opencode.jsonc": """\
{
  "$schema": "https://opencode.ai/config.json",
  // "model": "none",
  "mcp": {
    // "old": {}
  },
  "theme": "system"
}
""",
}


def install(agent: str, repository: Path, *more: str, remove: bool = False) -> int:
    return main(["uninstall" if remove else "install", agent, "--yes", "--repo", str(repository), *more])


def uninstall(agent: str, repository: Path, *more: str) -> int:
    return install(agent, repository, *more, remove=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def written(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(folder).items() if not name.endswith(BACKUP)}


def with_theirs(root: Path) -> dict[str, bytes]:
    for name, text in THEIRS.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("HANDLER", HANDLER))
    return contents(root)


def values(text: bytes, name: str) -> Any:
    return tomllib.loads(text.decode()) if name.endswith(".toml") else json_edits.loads(text.decode())


def is_contained(less: json_edits.Json, more: json_edits.Json) -> bool:
    """Whether all that is in one value is in the other, at the same place and in the same order."""
    if isinstance(less, dict):
        return isinstance(more, dict) and all(key in more and is_contained(less[key], more[key]) for key in less)
    if isinstance(less, list):
        return isinstance(more, list) and less == more[: len(less)]
    return less == more


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_agnix_accepts_what_install_writes(agent: str, scope: str, repository: Path, home: Path) -> None:
    assert install(agent, repository, "--scope", scope) == 0
    folder = home if scope == "user" else repository
    assert written(folder)
    assert not written(repository if scope == "user" else home)
    judged = subprocess.run([AGNIX, "--strict", folder], capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "Found 0 errors, 0 warnings" in judged.stdout


@pytest.mark.parametrize("agent", AGENTS)
def test_no_key_and_no_comment_of_others_is_lost(agent: str, repository: Path) -> None:
    before = with_theirs(repository)
    assert install(agent, repository) == 0
    after = written(repository)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed
    for name in changed & set(before):
        assert is_contained(values(before[name], name), values(after[name], name)), name
        old, new = (text.decode().split() for text in (before[name], after[name]))
        lost = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("- ")]
        # A comma or bracket may be joined to its word in another way; words themselves are never lost.
        assert not [word for word in lost if word.strip(",{}[]") and word.strip(",{}[]") not in after[name].decode()]
        assert (repository / f"{name}{BACKUP}").read_bytes() == before[name]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("is_empty", [True, False])
def test_uninstall_restores_every_byte(agent: str, is_empty: bool, repository: Path) -> None:
    before = contents(repository) if is_empty else with_theirs(repository)
    folders = {path for path in repository.rglob("*") if path.is_dir()}
    assert install(agent, repository) == 0
    assert uninstall(agent, repository) == 0
    assert contents(repository) == before
    assert {path for path in repository.rglob("*") if path.is_dir()} == folders


@pytest.mark.parametrize("agent", AGENTS)
def test_uninstall_takes_out_only_ours_when_others_wrote_meanwhile(agent: str, repository: Path) -> None:
    before = with_theirs(repository)
    assert install(agent, repository) == 0
    for name in THEIRS:
        file = repository / name
        if file.suffix == ".toml":
            file.write_text(file.read_text() + "\n[added_later]\nyes = true\n")
        else:
            file.write_text(json_edits.insert(file.read_text(), ("addedLater",), True))
    assert uninstall(agent, repository) == 0
    after = written(repository)
    assert set(after) == set(before)
    # The originals stay where a file was changed after the installation.
    assert all(
        before[name.removesuffix(BACKUP)] == text for name, text in contents(repository).items() if name not in after
    )
    for name in THEIRS:
        added = {"added_later": {"yes": True}} if name.endswith(".toml") else {"addedLater": True}
        assert values(after[name], name) == {**values(before[name], name), **added}, name
        comments = [line for line in before[name].decode().splitlines() if line.strip().startswith(("//", "#"))]
        assert all(line in after[name].decode().splitlines() for line in comments)


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_twice_changes_nothing_more(
    agent: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_theirs(repository)
    assert install(agent, repository) == 0
    once = contents(repository)
    capsys.readouterr()
    assert install(agent, repository) == 0
    assert capsys.readouterr().out.startswith("There is nothing to change.\n")
    assert contents(repository) == once
    assert uninstall(agent, repository) == 0
    assert uninstall(agent, repository) == 0


def test_the_change_is_shown_and_not_made_where_nobody_can_agree(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = with_theirs(repository)
    assert main(["install", "claude", "--repo", str(repository)]) == 1
    told = capsys.readouterr().out
    assert f"+++ {repository}/.claude/settings.json" in told
    assert f'+                        "command": {json.dumps(hook_command(Program(), "claude"))},' in told
    assert told.endswith("Nothing was changed. Use `--yes` to make the change without asking.\n")
    assert contents(repository) == before


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 1), (b"n\n", 1)])
def test_on_a_terminal_the_user_is_asked(answer: bytes, code: int, repository: Path) -> None:
    ours, theirs = pty.openpty()
    command = [GOLORE, "install", "cursor", "--repo", repository]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while b"Make this change? [y/N]" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer)
        assert process.wait(60) == code
    os.close(ours)
    assert b"+++ " in said
    assert (repository / ".cursor" / "hooks.json").exists() == (code == 0)


def test_a_file_that_cannot_be_read_is_left_alone_and_so_are_the_others(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / ".codex").mkdir()
    (repository / ".codex" / "config.toml").write_text("model = \n")
    assert install("codex", repository) == 1
    assert f"{repository}/.codex/config.toml was left alone. It is not valid TOML" in capsys.readouterr().err
    (repository / ".mcp.json").write_text('{\n"mcpServers": {,}\n}')
    assert install("claude", repository) == 1
    assert ".mcp.json was left alone. Line 2 is not JSON" in capsys.readouterr().err
    (repository / ".mcp.json").write_text('{"mcpServers": []}')
    assert install("claude", repository) == 1
    assert "golore's entry needs an object at mcpServers." in capsys.readouterr().err
    assert set(contents(repository)) == {".codex/config.toml", ".mcp.json"}


def test_a_server_that_the_user_has_set_up_stays_as_it_is(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = '{"mcpServers": {"golore": {"command": "uvx", "args": ["golore", "mcp"]}}}'
    (repository / ".mcp.json").write_text(theirs)
    assert install("claude", repository) == 0
    assert "already has another mcpServers.golore; it was not changed." in capsys.readouterr().out
    assert uninstall("claude", repository) == 0
    assert (repository / ".mcp.json").read_text() == theirs


def test_a_hook_of_an_older_golore_is_renewed_and_one_among_others_is_kept(repository: Path) -> None:
    settings = repository / ".claude" / "settings.json"
    settings.parent.mkdir()
    old = {"matcher": "Read", "hooks": [{"type": "command", "command": "/opt/bin/golore hook claude"}]}
    mixed = {"hooks": [{"type": "command", "command": "golore hook claude"}, json.loads(HANDLER)]}
    settings.write_text(json.dumps({"hooks": {"PostToolUse": [old], "SessionStart": [mixed]}}))
    assert install("claude", repository) == 0
    hooks = json.loads(settings.read_text())["hooks"]
    assert [group["matcher"] for group in hooks["PostToolUse"]] == ["*"]
    assert hooks["SessionStart"] == [mixed]
    settings.with_name(settings.name + BACKUP).unlink()
    assert uninstall("claude", repository) == 0
    assert json.loads(settings.read_text()) == {"hooks": {"SessionStart": [{"hooks": [json.loads(HANDLER)]}]}}


def test_links_line_endings_and_permissions_stay(repository: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b'{\r\n  "theme": "dark"\r\n}\r\n')
    real.chmod(0o600)
    (repository / ".claude").mkdir()
    link = repository / ".claude" / "settings.json"
    link.symlink_to(real)
    assert install("claude", repository) == 0
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert b"golore hook claude" in real.read_bytes()
    assert b"\n" not in real.read_bytes().replace(b"\r\n", b"")
    assert uninstall("claude", repository) == 0
    assert real.read_bytes() == b'{\r\n  "theme": "dark"\r\n}\r\n'


def test_every_agent_that_can_be_named_has_a_setup() -> None:
    assert all_agents() == AGENTS


def test_the_server_of_an_older_golore_is_renewed_and_removed(repository: Path) -> None:
    old = {"command": "golore", "args": ["mcp"]}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"golore": old}}))
    (repository / ".codex").mkdir()
    (repository / ".codex" / "config.toml").write_text('[mcp_servers.golore]\ncommand = "golore"\nargs = ["mcp"]\n')
    for agent in ("claude", "codex"):
        assert install(agent, repository) == 0
    assert json.loads((repository / ".mcp.json").read_text())["mcpServers"]["golore"]["command"] == "sh"
    config = tomllib.loads((repository / ".codex" / "config.toml").read_text())
    assert config["mcp_servers"]["golore"]["command"] == "sh"
    for file in (repository / ".mcp.json", repository / ".codex" / "config.toml"):
        file.with_name(file.name + BACKUP).unlink()
    for agent in ("claude", "codex"):
        assert uninstall(agent, repository) == 0
    assert not any(b"golore" in text for text in contents(repository).values())


def test_a_user_without_golore_on_the_path_gets_a_command_that_is_found(
    repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert install("claude", repository, "--scope", "user") == 0
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    command = hooks["PostToolUse"][0]["hooks"][0]["command"]
    assert command == hook_command(Program(str(GOLORE)), "claude")
    assert f"for g in {GOLORE} golore " in command
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["golore"]["command"] == str(GOLORE)


def test_the_plugin_says_the_same_as_install() -> None:
    plugin = ROOT / "plugin"
    hooks, servers = setup_for("claude", InstallTarget("project", ROOT, ROOT, Program())).targets
    ours = json.loads((plugin / "hooks" / "hooks.json").read_text())
    assert ours["hooks"] == {addition.path[-1]: [addition.value] for addition in hooks.additions}
    assert json.loads((plugin / ".mcp.json").read_text()) == {"mcpServers": {"golore": servers.additions[0].value}}
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert manifest["license"] == project["license"]
    judged = subprocess.run([AGNIX, "--strict", plugin], capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout


@pytest.mark.skipif(not shutil.which("claude"), reason="needs Claude Code: npm install @anthropic-ai/claude-code")
@pytest.mark.parametrize("folder", [ROOT, ROOT / "plugin"], ids=["marketplace", "plugin"])
def test_claude_code_accepts_the_plugin(folder: Path, home: Path) -> None:
    command = ["claude", "plugin", "validate", str(folder)]
    judged = subprocess.run(command, env=os.environ | {"HOME": str(home)}, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node to run the plugin that is written for OpenCode")
def test_the_plugin_for_opencode_adds_the_card_to_what_a_tool_printed(repository: Path, tmp_path: Path) -> None:
    with_cards(repository, {"a.go": "Used by main.go."})
    assert install("opencode", repository) == 0
    plugin = tmp_path / "golore.mjs"
    plugin.write_bytes((repository / ".opencode" / "plugins" / "golore.js").read_bytes())
    script = """\
import { Golore } from "./golore.mjs"
const directory = process.argv[2]
const hooks = await Golore({ directory })
const outputs = []
for (const filePath of [directory + "/a.go", directory + "/a.go", directory + "/none.txt"]) {
  const output = { title: "", output: "read", metadata: {} }
  await hooks["tool.execute.after"]({ tool: "read", sessionID: "s", callID: "c", args: { filePath } }, output)
  outputs.push(output.output)
  if (outputs.length == 1) await hooks.event({ event: { type: "session.idle", properties: {} } })
}
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
const again = { output: "read" }
await hooks["tool.execute.after"]({ tool: "read", sessionID: "s", args: { filePath: directory + "/a.go" } }, again)
console.log(JSON.stringify([...outputs, again.output]))
"""
    (tmp_path / "run.mjs").write_text(script)
    elsewhere = {"XDG_STATE_HOME": str(tmp_path / "state")}
    for path, is_there, state in (("/usr/bin:/bin", True, {}), ("/usr/bin:/bin", False, elsewhere)):
        done = subprocess.run(
            [shutil.which("node") or "node", "run.mjs", repository],
            cwd=tmp_path,
            env=os.environ | {"PATH": path} | state,
            capture_output=True,
            text=True,
            check=True,
        )
        first, second, other, again = json.loads(done.stdout)
        assert (second, other) == ("read", "read")
        assert ("Used by main.go." in first, "Used by main.go." in again) == (is_there, is_there)
        assert ("golore is not installed" in first) == (not is_there)


def test_what_is_installed_names_no_tool_that_could_be_renamed(repository: Path) -> None:
    for agent in AGENTS:
        assert install(agent, repository) == 0
    matchers: list[str] = []

    def visit(value: json_edits.Json) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key == "matcher":
                    matchers.append(str(inner))
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)

    for name, text in written(repository).items():
        if name.endswith(".json"):
            visit(json.loads(text))
    assert set(matchers) == {"*", ".*", "manual"}  # the last is a reason to compress


def test_no_file_of_instructions_is_touched_or_made(repository: Path, home: Path) -> None:
    names = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
    (repository / ".github").mkdir()
    for folder in (repository, home):
        for name in names[: None if folder == repository else 2]:
            (folder / name).write_text("Ours.\n")
    before = contents(repository) | contents(home)
    for scope in ("project", "user"):
        for agent in AGENTS:
            assert install(agent, repository, "--scope", scope) == 0
    for folder in (repository, home):
        made = {Path(name).suffix for name in written(folder) if name not in before}
        assert made <= {".json", ".toml", ".js"}
        assert all((folder / name).read_text() == "Ours.\n" for name in names if (folder / name).exists())


def test_an_uninstalled_hook_is_gone(repository: Path, home: Path) -> None:
    for scope in ("project", "user"):
        for agent in AGENTS:
            assert install(agent, repository, "--scope", scope) == 0
        for agent in AGENTS:
            assert uninstall(agent, repository, "--scope", scope) == 0
    assert not any(b"golore" in text for text in (*contents(repository).values(), *contents(home).values()))


KEYS = st.text(alphabet="abc", min_size=1, max_size=2)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab",/*[{ \\', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // said\n", " /* said */ ", "\n\t// said: [{\n\t"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """JSON as people write it: comments and blanks anywhere, commas at the end."""

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

    value: dict[str, Any] = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    return draw(GAPS) + text(value) + draw(GAPS), value


@given(documents(), VALUES)
@limits(max_examples=120)
def test_json_with_comments_keeps_them_through_every_change(document: tuple[str, dict[str, Any]], new: Any) -> None:
    text, value = document
    assert json_edits.loads(text) == value
    inserted = json_edits.insert(text, ("zz", "deep"), new)
    assert json_edits.loads(inserted) == {**value, "zz": {"deep": new}}
    assert inserted.count("said") == text.count("said")
    removed = json_edits.remove(inserted, ("zz",))
    assert json_edits.loads(removed) == value
    assert removed.count("said") == text.count("said")
    appended = json_edits.append(json_edits.append(text, ("zz",), new), ("zz",), 1)
    assert json_edits.loads(appended) == {**value, "zz": [new, 1]}
    assert appended.count("said") == text.count("said")
    for key in value:
        less = {name: one for name, one in value.items() if name != key}
        assert json_edits.loads(json_edits.remove(text, (key,))) == less
        if isinstance(value[key], list):
            assert json_edits.loads(json_edits.append(text, (key,), new)) == {**value, key: [*value[key], new]}
        if isinstance(value[key], dict):
            assert json_edits.loads(json_edits.insert(text, (key, "zz"), new)) == {
                **value,
                key: {**value[key], "zz": new},
            }


@given(st.text(alphabet='{}[],:"\\/* \n1tn', max_size=30))
def test_json_without_comments_is_read_as_json_reads_it(text: str) -> None:
    try:
        theirs = json.loads(text)
    except ValueError:
        theirs = None
    try:
        ours = json_edits.loads(text)
    except json_edits.JsonEditError:
        ours = None
    has_more = "/" in text or "," in text  # comments, and commas at the end
    assert ours == theirs or (has_more and theirs is None)
