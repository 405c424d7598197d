"""All seven agents, as a user has them after following the README: an empty home, no golore on the PATH, no variables.

What the files say that `golore install` wrote is run as the agents run it: hooks through a shell, MCP servers directly.
The files are read here with other code than golore's own.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golore.learner.learn import learn
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.cli.main import main
from support.hook_process import seen
from support.shop import make_shop
from support.untried_install import skip_trial

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "hooks"
OPENS = {
    "claude": "claude-read",
    "codex": "codex-shell",
    "copilot": "copilot-view",
    "cursor": "cursor-read",
    "gemini": "gemini-read",
    "opencode": "opencode-read",
    "vscode": "vscode-read",
}
HOOKS = {
    ("claude", "project"): ".claude/settings.json",
    ("codex", "project"): ".codex/hooks.json",
    ("copilot", "project"): ".github/hooks/golore.json",
    ("cursor", "project"): ".cursor/hooks.json",
    ("gemini", "project"): ".gemini/settings.json",
    ("opencode", "project"): ".opencode/plugins/golore.js",
    ("vscode", "project"): ".github/hooks/golore.json",
    ("claude", "user"): ".claude/settings.json",
    ("codex", "user"): ".codex/hooks.json",
    ("copilot", "user"): ".copilot/hooks/golore.json",
    ("cursor", "user"): ".cursor/hooks.json",
    ("gemini", "user"): ".gemini/settings.json",
    ("opencode", "user"): ".config/opencode/plugins/golore.js",
    ("vscode", "user"): ".copilot/hooks/golore.json",
}
SERVERS = {
    ("claude", "project"): ".mcp.json",
    ("codex", "project"): ".codex/config.toml",
    ("copilot", "project"): ".github/mcp.json",
    ("cursor", "project"): ".cursor/mcp.json",
    ("gemini", "project"): ".gemini/settings.json",
    ("opencode", "project"): "opencode.json",
    ("vscode", "project"): ".vscode/mcp.json",
    ("claude", "user"): ".claude.json",
    ("codex", "user"): ".codex/config.toml",
    ("copilot", "user"): ".copilot/mcp-config.json",
    ("cursor", "user"): ".cursor/mcp.json",
    ("gemini", "user"): ".gemini/settings.json",
    ("opencode", "user"): ".config/opencode/opencode.json",
    ("vscode", "user"): ".config/Code/User/mcp.json",
}


class Machine:
    """A user's home and a learned repository. golore is on no PATH."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", make_shop(folder / "shop")
        self.home.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        self.answers: dict[tuple[str, ...], list[str]] = {}

    def file(self, files: dict[tuple[str, str], str], agent: str, scope: str) -> Path:
        return (self.root if scope == "project" else self.home) / files[agent, scope]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine").resolve())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "GOLORE_HOME"):
            patch.delenv(name, raising=False)
        patch.delenv("XDG_STATE_HOME")
        for name, value in machine.environ.items():
            patch.setenv(name, value)
        skip_trial(patch)  # that is what is tested here, with other code
        learn(machine.root, machine.root / ".golore", workers=0)
        for scope in ("project", "user"):
            for agent in AGENTS:
                assert main(["install", agent, "--yes", "--repo", str(machine.root), "--scope", scope]) == 0
        yield machine


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_the_hook_shows_the_card(agent: str, scope: str, machine: Machine) -> None:
    text = machine.file(HOOKS, agent, scope).read_text()
    name = OPENS[agent]
    event = (FIXTURES / f"{name}.json").read_text().replace("ROOT", str(machine.root))
    event = event.replace(name, f"{name} {scope}")  # a session of its own
    for command in plugin_commands(text) if agent == "opencode" else list(shell_commands(json.loads(text))):
        done = subprocess.run(
            command, input=event, cwd=machine.root, env=machine.environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        card = seen(done.stdout)
        assert "golore's facts about store/store.go, learned from the code" in card
        assert "Memory.Save" in card


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_the_mcp_server_answers(agent: str, scope: str, machine: Machine) -> None:
    file = machine.file(SERVERS, agent, scope)
    config: dict[str, Any] = tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())
    key = {"codex": "mcp_servers", "opencode": "mcp", "vscode": "servers"}.get(agent, "mcpServers")
    server = config[key]["golore"]
    words = server["command"] if agent == "opencode" else [server["command"], *server["args"]]
    if tuple(words) not in machine.answers:  # most agents have the same
        machine.answers[tuple(words)] = tools_of(words, machine)
    assert "memory_context" in machine.answers[tuple(words)]


def shell_commands(value: Any) -> Iterator[list[str]]:
    """The different commands in a file with hooks, as `sh -c` gets them."""
    texts = dict.fromkeys(re.findall(r'"(?:command|bash)": ("sh -c (?:[^"\\]|\\.)*")', json.dumps(value)))
    assert texts
    yield from (["sh", "-c", json.loads(text)] for text in texts)


def plugin_commands(text: str) -> list[list[str]]:
    found = re.search(r"^const posix = (.*)$", text, re.MULTILINE)
    assert found
    return [json.loads(found[1])]


def tools_of(words: list[str], machine: Machine) -> list[str]:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    )
    with subprocess.Popen(
        words, cwd=machine.root, env=machine.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
        replies = (json.loads(line) for line in process.stdout)
        tools = next(reply["result"]["tools"] for reply in replies if reply.get("id") == 2)
        process.stdin.close()
    return [tool["name"] for tool in tools]
