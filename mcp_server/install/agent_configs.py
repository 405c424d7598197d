"""Which files each agent reads its hooks and MCP servers from, and what golore adds to them.

Only facts about the agents; how the files are changed is `installing`'s affair. Hooks name no tools: agents rename
them, and the hook itself knows what concerns it. The shell keeps silent and says "fine" where golore is not installed,
so that a configuration shared by a team bothers nobody.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

from golore.mcp_server.install.json_edits import Json, dumps

_SECONDS: Final = 10


class Addition(NamedTuple):
    """Something of ours in a file of JSON or TOML: a member at `path`, or an item of the array there."""

    path: tuple[str, ...]
    value: Json
    is_item: bool = False


class AgentFile(NamedTuple):
    file: Path
    additions: tuple[Addition, ...] = ()
    frame: tuple[Addition, ...] = ()
    """Members that a new file needs besides; in an existing file they are the user's."""
    text: str = ""
    """The whole of a file that is ours alone."""


class Where(NamedTuple):
    scope: str
    root: Path
    """Of the repository."""
    home: Path
    program: str
    """How golore is called."""

    @property
    def is_user(self) -> bool:
        return self.scope == "user"


class Setup(NamedTuple):
    targets: tuple[AgentFile, ...]
    hint: str = ""
    """What is left for the user to do."""


def setup_for(agent: str, where: Where) -> Setup:
    return {
        "claude": _claude,
        "codex": _codex,
        "copilot": _copilot,
        "cursor": _cursor,
        "gemini": _gemini,
        "opencode": _opencode,
        "vscode": _vscode,
    }[agent](where)


def hook_command(where: Where, agent: str) -> str:
    return f"{where.program} hook {agent} 2>/dev/null || true"


def is_our_command(value: Json, agent: str) -> bool:
    """Whether a handler in a configuration is golore's hook for an agent."""
    if not isinstance(value, dict):
        return False
    commands = (value.get(name) for name in ("command", "bash"))
    return any(isinstance(one, str) and f"golore hook {agent}" in one.replace("'", "") for one in commands)


def _groups(where: Where, agent: str, events: dict[str, str], timeout: int) -> tuple[Addition, ...]:
    """Hooks in the form that Claude Code began: event, matcher, handlers."""
    handler: Json = {"type": "command", "command": hook_command(where, agent), "timeout": timeout}
    return tuple(
        Addition(("hooks", event), {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}, is_item=True)
        for event, matcher in events.items()
    )


def _server(where: Where) -> Json:
    return {"command": where.program, "args": ["mcp"]}


def _claude(where: Where) -> Setup:
    events = {"PostToolUse": "*", "SessionStart": "", "UserPromptSubmit": ""}
    hooks = _groups(where, "claude", events, _SECONDS)
    server = (Addition(("mcpServers", "golore"), _server(where)),)
    if where.is_user:
        own = os.environ.get("CLAUDE_CONFIG_DIR", "")
        settings = Path(own) if own else where.home / ".claude"
        servers = (Path(own) if own else where.home) / ".claude.json"
    else:
        settings, servers = where.root / ".claude", where.root / ".mcp.json"
    hint = "Claude Code asks once whether to trust the server." if not where.is_user else ""
    return Setup((AgentFile(settings / "settings.json", hooks), AgentFile(servers, server)), hint)


def _codex(where: Where) -> Setup:
    folder = Path(os.environ.get("CODEX_HOME") or where.home / ".codex") if where.is_user else where.root / ".codex"
    events = {"PostToolUse": "", "SessionStart": "", "UserPromptSubmit": ""}
    return Setup(
        (
            AgentFile(folder / "hooks.json", _groups(where, "codex", events, _SECONDS)),
            AgentFile(folder / "config.toml", (Addition(("mcp_servers", "golore"), _server(where)),)),
        ),
        "Codex runs new hooks after you have trusted them: type /hooks there.",
    )


def _copilot(where: Where) -> Setup:
    targets = [_copilot_hooks(where)]
    if where.is_user:
        server: Json = {"type": "local", "command": where.program, "args": ["mcp"], "tools": ["*"]}
        targets.append(
            AgentFile(_copilot_home(where) / "mcp-config.json", (Addition(("mcpServers", "golore"), server),))
        )
    hint = "" if where.is_user else "The MCP server of Copilot's command line is set for the user: --scope user."
    return Setup(tuple(targets), hint)


def _copilot_hooks(where: Where) -> AgentFile:
    """A file of our own, which VS Code reads too."""
    handler: Json = {"type": "command", "bash": hook_command(where, "copilot"), "timeoutSec": _SECONDS}
    events = ("postToolUse", "preCompact", "sessionStart", "userPromptSubmitted")
    hooks: Json = {"version": 1, "hooks": {event: [handler] for event in events}}
    folder = _copilot_home(where) / "hooks" if where.is_user else where.root / ".github" / "hooks"
    return AgentFile(folder / "golore.json", text=dumps(hooks))


def _copilot_home(where: Where) -> Path:
    return Path(os.environ.get("COPILOT_HOME") or where.home / ".copilot")


def _cursor(where: Where) -> Setup:
    folder = (where.home if where.is_user else where.root) / ".cursor"
    handler: Json = {"command": hook_command(where, "cursor"), "timeout": _SECONDS}
    hooks = tuple(
        Addition(("hooks", event), handler, is_item=True) for event in ("postToolUse", "preCompact", "sessionStart")
    )
    return Setup(
        (
            AgentFile(folder / "hooks.json", hooks, frame=(Addition(("version",), 1),)),
            AgentFile(folder / "mcp.json", (Addition(("mcpServers", "golore"), _server(where)),)),
        )
    )


def _gemini(where: Where) -> Setup:
    file = (where.home if where.is_user else where.root) / ".gemini" / "settings.json"
    events = {"AfterTool": ".*", "BeforeAgent": "", "PreCompress": "manual", "SessionStart": ""}
    hooks = _groups(where, "gemini", events, _SECONDS * 1000)
    return Setup((AgentFile(file, (Addition(("mcpServers", "golore"), _server(where)), *hooks)),))


def _opencode(where: Where) -> Setup:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or where.home / ".config") / "opencode"
    folder, plugins = (config, config / "plugins") if where.is_user else (where.root, where.root / ".opencode/plugins")
    file = folder / "opencode.jsonc"
    file = file if file.exists() else folder / "opencode.json"
    server: Json = {"type": "local", "command": [where.program, "mcp"], "enabled": True}
    frame = (Addition(("$schema",), "https://opencode.ai/config.json"),)
    return Setup(
        (
            AgentFile(file, (Addition(("mcp", "golore"), server),), frame),
            AgentFile(plugins / "golore.js", text=_PLUGIN.replace("PROGRAM", where.program)),
        )
    )


def _vscode(where: Where) -> Setup:
    server: Json = {"type": "stdio", "command": where.program, "args": ["mcp"]}
    folder = _vscode_user_folder(where.home) if where.is_user else where.root / ".vscode"
    return Setup((AgentFile(folder / "mcp.json", (Addition(("servers", "golore"), server),)), _copilot_hooks(where)))


def _vscode_user_folder(home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library/Application Support/Code/User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "Code/User"


_PLUGIN: Final = """\
// Written by `golore install opencode`, and removed by `golore uninstall opencode`.
// After each tool it asks golore what it knows about the Go file concerned, and adds that to what the tool printed.
import { spawn } from "node:child_process"

const ask = (payload) =>
  new Promise((resolve) => {
    const hook = spawn("PROGRAM", ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
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
    const known = await ask({
      hook_event_name: "PostToolUse",
      session_id: input.sessionID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: input.args,
    })
    if (known && typeof output.output === "string") output.output += "\\n\\n" + known
  },
  event: async ({ event }) => {
    if (event.type === "session.compacted") {
      await ask({ hook_event_name: "PostCompact", session_id: event.properties.sessionID, cwd: directory })
    }
  },
})
"""
