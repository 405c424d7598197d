"""Declares the commands for agents: `mcp`, `serve`, `install`, `uninstall` and `hook`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from golore.graph.errors import UsageError
from golore.mcp_server.cli.options import AddParser, add, add_plain, non_negative_int

AGENTS: Final = ("claude", "codex", "copilot", "cursor", "gemini", "opencode", "vscode")
"""Agents that golore can be installed for."""
SCOPES: Final = ("project", "user")


def add_commands(make: AddParser) -> None:
    _add_servers(make)
    _add_agents(make)


def _add_servers(make: AddParser) -> None:
    about = "run the MCP server for one coding agent, on standard input and output"
    mcp = add_plain(make, "mcp", about, _mcp)
    about = "run the MCP server over HTTP on a local port; clients need its token"
    serve = add(make, "serve", about, _serve, reads=False)
    serve.add_argument(
        "--port", type=non_negative_int, metavar="N", help="port to listen on (default: 7425; 0: any free port)"
    )
    for parser in (mcp, serve):
        parser.add_argument(
            "paths", nargs="*", type=Path, metavar="PATH", help="repositories to serve (default: the current one)"
        )


def _add_agents(make: AddParser) -> None:
    for name, about, run in (
        ("install", "add golore's hooks and MCP server to an agent's configuration, and try them", _install),
        ("uninstall", "remove from an agent's configuration what install added", _uninstall),
    ):
        description = f"{about[:1].upper()}{about[1:]}. Shows the change and asks before making it."
        parser = make(name, help=about, description=description)
        parser.set_defaults(run=run)
        if run is _install:
            parser.add_argument("agent", choices=AGENTS, metavar="AGENT", help=", ".join(AGENTS))
        else:
            parser.add_argument("agent", nargs="?", choices=AGENTS, metavar="AGENT", help=", ".join(AGENTS))
            everything = "for all agents, in the repository and for this user, with golore's state but without stores"
            parser.add_argument("--all", action="store_true", dest="is_all", help=everything)
        parser.add_argument(
            "--scope", choices=SCOPES, default="project", help="configure this repository (default) or this user"
        )
        parser.add_argument("--yes", action="store_true", help="make the change without asking")
        parser.add_argument(
            "--repo", type=Path, default=Path(), metavar="PATH", help="the repository (default: current directory)"
        )
    about = "print what is known about the file that an agent opens; agents run this, see `install`"
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
    if options.is_all == bool(options.agent):
        raise UsageError("Name an agent, or use `--all`.")
    if options.is_all:
        from golore.mcp_server.install.uninstall_all import run_uninstall_all

        return run_uninstall_all(repo=options.repo, is_agreed=options.yes)
    from golore.mcp_server.install.installer import run_uninstall

    return run_uninstall(options.agent, scope=options.scope, repo=options.repo, is_agreed=options.yes)


def _hook(options: argparse.Namespace) -> int:
    from golore.mcp_server.hooks.hook import run_hook

    return run_hook(options.agent)
