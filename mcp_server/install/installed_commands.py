"""Reads from an agent's configuration files which commands of golore it will run.

The files of a repository may be a stranger's, so only commands are returned from them that golore itself would write:
they are run by `golore install` and `golore doctor`. The user's own files may contain others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.mcp_server.install import json_edits, toml_edits
from golore.mcp_server.install.agent_configs import AgentFile, InstallTarget, plugin_words, setup_for
from golore.mcp_server.install.config_files import read_config
from golore.mcp_server.install.json_edits import Json
from golore.mcp_server.install.launch_commands import (
    hook_command,
    hook_words,
    is_our_command,
    server_words,
    words_of_server,
)

_HOOKS: Final = "hooks"
_SERVER: Final = "MCP server"
Command = str | tuple[str, ...]
"""A command for a shell, or a program and its arguments."""


class InstalledCommands(NamedTuple):
    """What an agent's files contain of golore."""

    hooks: tuple[Command, ...] = ()
    """The different commands of its hooks."""
    server: tuple[str, ...] = ()
    """The program of the MCP server and its arguments."""
    foreign: tuple[str, ...] = ()
    """Parts with other commands than golore writes, which must not be run: those of a stranger or an older golore."""
    missing: tuple[str, ...] = ()
    """Parts that golore installs for this agent, and that are not there."""

    def __bool__(self) -> bool:
        return bool(self.hooks or self.server or self.foreign)


def read_commands(agent: str, where: InstallTarget) -> InstalledCommands:
    """Raises `GoloreError` if a file cannot be read."""
    hooks: list[Command] = []
    server: Json = None
    expected: set[str] = set()
    for target in setup_for(agent, where).targets:
        text = read_config(target)
        expected |= {_HOOKS} if target.text or any(one.is_item for one in target.additions) else set()
        entry = next((one for one in target.additions if not one.is_item), None)
        expected |= {_SERVER} if entry else set()
        if text is None or "golore" not in text:
            continue
        hooks += _hooks(target, text, agent)
        if entry:
            server = _server(target, text, entry.path)
    words = tuple(words_of_server(server))
    found = ({_HOOKS} if hooks else set[str]()) | ({_SERVER} if server is not None else set[str]())
    runnable = tuple(command for command in dict.fromkeys(hooks) if _may_run(command, agent, where))
    may_serve = where.is_user or words == tuple(server_words(where.program))
    foreign = [_HOOKS] if hooks and not runnable else []
    foreign += [_SERVER] if server is not None and not may_serve else []
    return InstalledCommands(runnable, words if may_serve else (), tuple(foreign), tuple(sorted(expected - found)))


def _may_run(command: Command, agent: str, where: InstallTarget) -> bool:
    name = "copilot" if agent == "vscode" else agent
    ours = (hook_command(where.program, name), tuple(hook_words(where.program, name)))
    return where.is_user or command in ours


def _server(target: AgentFile, text: str, path: tuple[str, ...]) -> Json:
    if target.file.suffix == ".toml":
        return toml_edits.get(text, *path)
    return json_edits.get(json_edits.loads(text), path)


def _hooks(target: AgentFile, text: str, agent: str) -> Iterator[Command]:
    if target.file.suffix == ".js":
        yield from [tuple(words)] if (words := plugin_words(text)) else []
    elif target.file.suffix != ".toml":
        yield from _commands_in(json_edits.get(json_edits.loads(text), ("hooks",)), agent)


def _commands_in(value: Json, agent: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _commands_in(item, agent)
    elif isinstance(value, dict):
        # VS Code reads the hooks of Copilot.
        if is_our_command(value, agent) or (agent == "vscode" and is_our_command(value, "copilot")):
            command = value.get("command") or value.get("bash")
            if isinstance(command, str):
                yield command
        for item in value.values():
            yield from _commands_in(item, agent)
