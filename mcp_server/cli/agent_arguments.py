"""What agents run or ask, and their configuration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from golore.mcp_server.cli.options import Make, add, add_plain, whole

AGENTS: Final = ("claude", "codex", "copilot", "cursor", "gemini", "opencode", "vscode")
"""Those that golore can be installed for."""
SCOPES: Final = ("project", "user")


def add_commands(make: Make) -> None:
    _add_servers(make)
    _add_agents(make)


def _add_servers(make: Make) -> None:
    about = "answer a coding agent over MCP, on standard input and output"
    mcp = add_plain(make, "mcp", about, _mcp)
    about = "answer coding agents over MCP, on a port of this machine, with a token"
    serve = add(make, "serve", about, _serve, reads=False)
    serve.add_argument("--port", type=whole, metavar="N", help="the port (default: 7425; 0: any that is free)")
    for parser in (mcp, serve):
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="repositories (default: the one here)")


def _add_agents(make: Make) -> None:
    for name, about, run in (
        ("install", "have an agent ask golore: hooks and the MCP server in its configuration", _install),
        ("uninstall", "take out of an agent's configuration what install put in", _uninstall),
    ):
        parser = make(name, help=about, description=f"{about[:1].upper()}{about[1:]}. The change is shown first.")
        parser.set_defaults(run=run)
        parser.add_argument("agent", choices=AGENTS, metavar="AGENT", help=", ".join(AGENTS))
        parser.add_argument("--scope", choices=SCOPES, default="project", help="for this repository, or for this user")
        parser.add_argument("--yes", action="store_true", help="make the change without asking")
        parser.add_argument("--repo", type=Path, default=Path(), metavar="PATH", help="the repository (default: here)")
    about = "tell an agent what is known of the file it opens; agents run this, see `install`"
    hook = add_plain(make, "hook", about, _hook)
    hook.add_argument("agent", nargs="?", default="", metavar="AGENT", help=", ".join(AGENTS))


def _mcp(options: argparse.Namespace) -> int:
    from golore.mcp_server.server.app import run_mcp

    return run_mcp(options.paths)


def _serve(options: argparse.Namespace) -> int:
    from golore.mcp_server.server.http import PORT, run_serve

    port = PORT if options.port is None else options.port
    return run_serve(options.paths, port=port, as_json=options.as_json)


def _install(options: argparse.Namespace) -> int:
    from golore.mcp_server.install.installer import run_install

    return run_install(options.agent, scope=options.scope, repo=options.repo, is_agreed=options.yes)


def _uninstall(options: argparse.Namespace) -> int:
    from golore.mcp_server.install.installer import run_uninstall

    return run_uninstall(options.agent, scope=options.scope, repo=options.repo, is_agreed=options.yes)


def _hook(options: argparse.Namespace) -> int:
    from golore.mcp_server.hooks.hook import run_hook

    return run_hook(options.agent)
