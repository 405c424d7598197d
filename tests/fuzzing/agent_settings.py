"""The settings files of agents, JSON with comments or TOML: what install adds is removed by uninstall."""

from __future__ import annotations

import tomllib
from pathlib import Path

from fuzzing.target import Target
from golore.graph.errors import GoloreError
from golore.mcp_server.cli.agent_arguments import AGENTS
from golore.mcp_server.install import json_edits
from golore.mcp_server.install.agent_configs import AgentFile, InstallTarget, is_our_file, setup_for
from golore.mcp_server.install.config_entries import add_entries, remove_entries
from golore.mcp_server.install.launch_commands import Program

_SEEDS = (
    b'{\n  // mine\n  "a": 1, /* too */\n  "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": []}]},\n}\n',
    b'{"mcpServers": {"other": {"command": "other", "args": ["x", null, true, -1.5e3]}}}',
    b'{\n\t"mcp": {},\n\t"servers": {"a": [1, 2, 3,],},\n'
    b'\t"hooks": {"sessionStart": [{"command": "golore hook cursor"}]}\n}',
    b"\xef\xbb\xbf// c\n{}\n// d\n",
    b'{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "golore hook claude || true"}]}]}}',
    b'# mine\nmodel = "x" # large\n\n[mcp_servers.other]\ncommand = "o"\n[mcp_servers.other.env]\nA = "b"\n',
    b'mcp_servers = {golore = {command = "golore", args = ["mcp"]}}\n',
    b'[mcp_servers.golore]\ncommand = "golore"\nargs = ["mcp"]\n[[a.b]]\nx = 1979-05-27T07:32:00Z\n',
)


def prepare(directory: Path) -> Target:
    where = InstallTarget("project", directory, directory, Program())
    files = [(agent, file) for agent in AGENTS for file in setup_for(agent, where).targets if not file.text]

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        agent, file = files[len(data) % len(files)]
        is_our_file(text, agent)
        try:
            added, _ = add_entries(text, file, agent)
            again, _ = add_entries(added, file, agent)
            removed = remove_entries(added, file, agent, text)
        except GoloreError:
            return
        assert again == added
        assert removed is not None
        if text.strip() and "golore" not in text:
            assert _value(removed, file) == _value(text, file)

    return Target(_SEEDS, run)


def _value(text: str, file: AgentFile) -> object:
    # The text of the value, because a number that is not equal to itself may be in it.
    return repr(tomllib.loads(text) if file.file.suffix == ".toml" else json_edits.loads(text))
