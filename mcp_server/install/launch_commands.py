"""The commands by which agents start golore, one for hooks and one for the MCP server, and how to recognize them.

In a file that a team shares, the command contains no path of one machine: it looks for golore on the PATH, in
`~/.local/bin`, where uv and pipx put programs and which agents that are started from a desktop do not have on their
PATH, behind the link of `program_link`, and in the caches of uvx and pipx. It never uses the network. If there is no
golore, a hook says so once a day, and the server fails with a message.

The commands are those of a POSIX shell, wrapped in `sh -c`, because agents run hooks with the user's own shell. Windows
has no such shell: there golore must be on the PATH.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import PurePath, PureWindowsPath
from typing import Final, NamedTuple

from golore.mcp_server.install.json_edits import Json

BARE: Final = "golore"
"""The program in files that a team shares: it is searched for when it is started."""
MISSING_NAME: Final = "missing"
"""The file in the state directory with the day on which a hook last said that golore is not installed."""
_MISSING: Final = (
    "golore is not installed for this user, so its facts about Go files are missing. "
    "Install it: uv tool install golore (in a clone of golore: uv tool install .)"
)
_STATE: Final = 'case "$XDG_STATE_HOME" in /*) d=$XDG_STATE_HOME/golore;; *) d=$HOME/.local/state/golore;; esac'
_CANDIDATES: Final = 'golore ~/.local/bin/golore "$d/bin/golore"'
_UVX: Final = "uvx --offline golore"
_PIPX: Final = "env PIP_NO_INDEX=1 pipx run golore"
_SERVER_KEYS: Final = {"type", "command", "args", "tools", "enabled"}


class Program(NamedTuple):
    """How agents start golore: `path` is absolute, or `BARE`."""

    path: str = BARE
    is_windows: bool = os.name == "nt"


def hook_command(program: Program, agent: str) -> str:
    """The command of a hook, for any shell."""
    return shlex.join(hook_words(program, agent)) if not program.is_windows else f"{BARE} hook {agent}"


def hook_words(program: Program, agent: str) -> list[str]:
    """The same as a program and its arguments."""
    if program.is_windows:
        return [BARE, "hook", agent]
    first = "" if program.path == BARE else f"{shlex.quote(program.path)} "
    notice = json.dumps(_notice(agent), separators=(",", ":")).replace('"', r"\"")
    steps = (
        "exec 2>/dev/null",
        _STATE,
        f'for g in {first}{_CANDIDATES}; do "$g" hook {agent} && exit; done',
        f't=$(date +%F); [ "$(cat "$d/{MISSING_NAME}")" = "$t" ] && exit',
        f"{_UVX} hook {agent} && exit",
        f"{_PIPX} hook {agent} && exit",
        f'umask 077; mkdir -p "$d" && echo "$t" >"$d/{MISSING_NAME}" && echo "{notice}"',
        "exit 0",
    )
    return ["sh", "-c", "; ".join(steps)]


def server_words(program: Program) -> list[str]:
    """The program of the MCP server and its arguments."""
    if program.path != BARE or program.is_windows:
        return [program.path, "mcp"]
    steps = (
        _STATE,
        f'for g in {_CANDIDATES}; do command -v "$g" >/dev/null && exec "$g" mcp; done',
        f"{_UVX} --version >/dev/null 2>&1 && exec {_UVX} mcp",
        f"{_PIPX} --version >/dev/null 2>&1 && exec {_PIPX} mcp",
        f'echo "{_MISSING}" >&2',
        "exit 127",
    )
    return ["sh", "-c", "; ".join(steps)]


def is_our_command(value: Json, agent: str) -> bool:
    """Whether a handler in a configuration runs golore's hook for this agent."""
    if not isinstance(value, dict):
        return False
    commands = (value.get(name) for name in ("command", "bash", "powershell"))
    return any(isinstance(command, str) and f"golore hook {agent}" in command.replace("'", "") for command in commands)


def is_our_server(value: Json) -> bool:
    """Whether an entry for an MCP server is one that a golore wrote. One that the user has changed is not."""
    if not isinstance(value, dict) or value.keys() - _SERVER_KEYS:
        return False
    words = words_of_server(value)
    if words[:2] == ["sh", "-c"]:
        return len(words) == 3 and f"{_UVX} mcp" in words[2]
    return len(words) == 2 and words[1] == "mcp" and _is_golore(words[0])


def words_of_server(value: Json) -> list[str]:
    """The program and the arguments in an entry for an MCP server; empty if it has none."""
    if not isinstance(value, dict):
        return []
    words: list[Json] = []
    for part in (value.get("command"), value.get("args", [])):
        words += part if isinstance(part, list) else [part]
    texts = [word for word in words if isinstance(word, str)]
    return texts if len(texts) == len(words) else []


def is_notice(answer: str) -> bool:
    """Whether a hook printed that golore is not installed."""
    return _MISSING in answer


def _is_golore(program: str) -> bool:
    name = PureWindowsPath(program).name if "\\" in program else PurePath(program.strip("'")).name
    return name in (BARE, "golore.exe")


def _notice(agent: str) -> Json:
    """What a hook prints if golore is not installed: for the user where the agent shows it, else for the model."""
    if agent == "cursor":
        return {"additional_context": _MISSING}
    if agent == "copilot":  # its hooks are VS Code's, too, which shows the first
        return {"systemMessage": _MISSING, "additionalContext": _MISSING}
    if agent == "opencode":
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": _MISSING}}
    return {"systemMessage": _MISSING}
