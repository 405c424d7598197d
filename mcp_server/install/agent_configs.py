"""The files from which each agent reads its hooks and MCP servers, and the entries that golore adds to them.

The hooks match all tools: agents rename their tools, and the hook itself decides which events concern it. The commands
that the entries contain are made in `launch_commands`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from golore.mcp_server.install.json_edits import Json, JsonEditError, dumps, loads
from golore.mcp_server.install.launch_commands import (
    Program,
    hook_command,
    hook_words,
    is_our_command,
    server_words,
)

_TIMEOUT: Final = 10


class Addition(NamedTuple):
    """An entry of golore in a JSON or TOML file: a member at `path`, or an item of the array at `path`."""

    path: tuple[str, ...]
    value: Json
    is_item: bool = False


class AgentFile(NamedTuple):
    file: Path
    additions: tuple[Addition, ...] = ()
    frame: tuple[Addition, ...] = ()
    """Members that a new file needs as well; in an existing file they belong to the user."""
    text: str = ""
    """The whole text, for a file that only golore writes."""


class InstallTarget(NamedTuple):
    """Where golore is installed."""

    scope: str
    root: Path
    """The root of the repository."""
    home: Path
    program: Program
    """How the agents start golore."""

    @property
    def is_user(self) -> bool:
        return self.scope == "user"


class AgentSetup(NamedTuple):
    targets: tuple[AgentFile, ...]
    hint: str = ""
    """What the user still has to do or to know."""


def setup_for(agent: str, where: InstallTarget) -> AgentSetup:
    return _SETUPS[agent](where)


def all_agents() -> tuple[str, ...]:
    return tuple(_SETUPS)


def is_our_file(text: str, agent: str) -> bool:
    """Whether golore wrote a file as a whole, perhaps another version of golore."""
    if text.startswith(_PLUGIN.partition("\n")[0]):
        return True
    try:
        value = loads(text)
    except JsonEditError:
        return False
    hooks = value.get("hooks") if isinstance(value, dict) else None
    events = list(hooks.values()) if isinstance(hooks, dict) else []
    handlers = [handler for items in events if isinstance(items, list) for handler in items]
    names = (agent, "copilot")  # the file is shared by Copilot and VS Code
    return bool(handlers) and all(any(is_our_command(one, name) for name in names) for one in handlers)


def _hook_groups(where: InstallTarget, agent: str, events: dict[str, str], timeout: int) -> tuple[Addition, ...]:
    """Hooks in the format that Claude Code introduced: event, matcher, handlers."""
    handler: Json = {"type": "command", "command": hook_command(where.program, agent), "timeout": timeout}
    return tuple(
        Addition(("hooks", event), {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}, is_item=True)
        for event, matcher in events.items()
    )


def _server(where: InstallTarget) -> dict[str, Json]:
    program, *arguments = server_words(where.program)
    return {"command": program, "args": [*arguments]}


def _claude(where: InstallTarget) -> AgentSetup:
    events = {"PostToolUse": "*", "SessionStart": "", "Stop": "", "UserPromptSubmit": ""}
    hooks = _hook_groups(where, "claude", events, _TIMEOUT)
    server = (Addition(("mcpServers", "golore"), _server(where)),)
    if where.is_user:
        config_directory = os.environ.get("CLAUDE_CONFIG_DIR", "")
        settings = Path(config_directory) if config_directory else where.home / ".claude"
        servers = (Path(config_directory) if config_directory else where.home) / ".claude.json"
    else:
        settings, servers = where.root / ".claude", where.root / ".mcp.json"
    hint = "Claude Code asks once whether to trust the server." if not where.is_user else ""
    return AgentSetup((AgentFile(settings / "settings.json", hooks), AgentFile(servers, server)), hint)


def _codex(where: InstallTarget) -> AgentSetup:
    folder = Path(os.environ.get("CODEX_HOME") or where.home / ".codex") if where.is_user else where.root / ".codex"
    events = {"PostToolUse": "", "SessionStart": "", "UserPromptSubmit": ""}
    return AgentSetup(
        (
            AgentFile(folder / "hooks.json", _hook_groups(where, "codex", events, _TIMEOUT)),
            AgentFile(folder / "config.toml", (Addition(("mcp_servers", "golore"), _server(where)),)),
        ),
        "Codex runs new hooks only after you trust them: type /hooks in Codex.",
    )


def _copilot(where: InstallTarget) -> AgentSetup:
    server: Json = {"type": "local", **_server(where), "tools": ["*"]}
    file = _copilot_home(where) / "mcp-config.json" if where.is_user else where.root / ".github" / "mcp.json"
    hint = "" if where.is_user else "Copilot uses both only in folders that you trust; it asks when it starts."
    return AgentSetup((_copilot_hooks(where), AgentFile(file, (Addition(("mcpServers", "golore"), server),))), hint)


def _copilot_hooks(where: InstallTarget) -> AgentFile:
    """The file with the hooks, which only golore writes. VS Code reads it too."""
    commands: dict[str, Json] = {
        "bash": hook_command(where.program._replace(is_windows=False), "copilot"),
        "powershell": hook_command(where.program._replace(is_windows=True), "copilot"),
    }
    handler: Json = {"type": "command", **commands, "timeoutSec": _TIMEOUT}
    events = ("postToolUse", "preCompact", "sessionStart", "userPromptSubmitted")
    hooks: Json = {"version": 1, "hooks": {event: [handler] for event in events}}
    folder = _copilot_home(where) / "hooks" if where.is_user else where.root / ".github" / "hooks"
    return AgentFile(folder / "golore.json", text=dumps(hooks))


def _copilot_home(where: InstallTarget) -> Path:
    return Path(os.environ.get("COPILOT_HOME") or where.home / ".copilot")


def _cursor(where: InstallTarget) -> AgentSetup:
    folder = (where.home if where.is_user else where.root) / ".cursor"
    handler: Json = {"command": hook_command(where.program, "cursor"), "timeout": _TIMEOUT}
    hooks = tuple(
        Addition(("hooks", event), handler, is_item=True) for event in ("postToolUse", "preCompact", "sessionStart")
    )
    return AgentSetup(
        (
            AgentFile(folder / "hooks.json", hooks, frame=(Addition(("version",), 1),)),
            AgentFile(folder / "mcp.json", (Addition(("mcpServers", "golore"), _server(where)),)),
        )
    )


def _gemini(where: InstallTarget) -> AgentSetup:
    file = (where.home if where.is_user else where.root) / ".gemini" / "settings.json"
    events = {"AfterTool": ".*", "BeforeAgent": "", "PreCompress": "manual", "SessionStart": ""}
    hooks = _hook_groups(where, "gemini", events, _TIMEOUT * 1000)
    return AgentSetup((AgentFile(file, (Addition(("mcpServers", "golore"), _server(where)), *hooks)),))


def _opencode(where: InstallTarget) -> AgentSetup:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or where.home / ".config") / "opencode"
    folder, plugins = (config, config / "plugins") if where.is_user else (where.root, where.root / ".opencode/plugins")
    file = folder / "opencode.jsonc"
    file = file if file.exists() else folder / "opencode.json"
    server: Json = {"type": "local", "command": [*server_words(where.program)], "enabled": True}
    frame = (Addition(("$schema",), "https://opencode.ai/config.json"),)
    return AgentSetup(
        (
            AgentFile(file, (Addition(("mcp", "golore"), server),), frame),
            AgentFile(plugins / "golore.js", text=_plugin(where.program)),
        )
    )


def _vscode(where: InstallTarget) -> AgentSetup:
    server: Json = {"type": "stdio", **_server(where)}
    folder = _vscode_user_folder(where.home) if where.is_user else where.root / ".vscode"
    return AgentSetup(
        (AgentFile(folder / "mcp.json", (Addition(("servers", "golore"), server),)), _copilot_hooks(where))
    )


def _vscode_user_folder(home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library/Application Support/Code/User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "Code/User"


def _plugin(program: Program) -> str:
    posix, windows = (json.dumps(hook_words(program._replace(is_windows=one), "opencode")) for one in (False, True))
    return _PLUGIN.replace("POSIX", posix).replace("WINDOWS", windows)


def plugin_words(text: str, *, is_windows: bool = os.name == "nt") -> list[str]:
    """The program and the arguments that OpenCode's plugin starts; empty if the text is not that of the plugin."""
    begin = f"const {'windows' if is_windows else 'posix'} = "
    line = next((line for line in text.splitlines() if line.startswith(begin)), "")
    return json.loads(line.removeprefix(begin)) if line else []


_SETUPS: Final[dict[str, Callable[[InstallTarget], AgentSetup]]] = {
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "cursor": _cursor,
    "gemini": _gemini,
    "opencode": _opencode,
    "vscode": _vscode,
}
_PLUGIN: Final = """\
// Written by `golore install opencode`, and removed by `golore uninstall opencode`.
// After each tool call it asks golore about the Go file concerned, and appends the answer to the tool's output.
import { spawn } from "node:child_process"

const posix = POSIX
const windows = WINDOWS
const [program, ...words] = process.platform === "win32" ? windows : posix

const ask = (payload) =>
  new Promise((resolve) => {
    const hook = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] })
    let answer = ""
    hook.on("error", () => resolve(""))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (data) => (answer += data))
    hook.on("close", () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    hook.stdin.end(JSON.stringify(payload))
  })

export const Golore = async ({ directory }) => ({
  "tool.execute.after": async (input, output) => {
    const facts = await ask({
      hook_event_name: "PostToolUse",
      session_id: input.sessionID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: input.args,
    })
    if (facts && typeof output.output === "string") output.output += "\\n\\n" + facts
  },
  event: async ({ event }) => {
    if (event.type === "session.compacted") {
      await ask({ hook_event_name: "PostCompact", session_id: event.properties.sessionID, cwd: directory })
    }
  },
})
"""
