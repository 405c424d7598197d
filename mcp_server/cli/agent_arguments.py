"""Declares the commands for agents: `mcp`, `serve`, `install`, `uninstall` and `hook`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from golore.graph.errors import UsageError
from golore.mcp_server.cli.options import AddParser, add, add_plain, non_negative_int, positive_int

AGENTS: Final = ("claude", "codex", "copilot", "cursor", "gemini", "opencode", "vscode")
"""Agents that golore can be installed for."""
SCOPES: Final = ("project", "user")


def add_commands(make: AddParser) -> None:
    _add_servers(make)
    _add_agents(make)


def _add_servers(make: AddParser) -> None:
    about = "run the MCP server for one coding agent, on standard input and output"
    mcp = add_plain(make, "mcp", about, _mcp)
    about = "run the MCP server over HTTP: on a local port for yourself, or for a team that has a lake"
    serve = add(make, "serve", about, _serve, reads=False)
    serve.add_argument(
        "--port", type=non_negative_int, metavar="N", help="port to listen on (default: 7425; 0: any free port)"
    )
    _add_team(serve)
    for parser in (mcp, serve):
        parser.add_argument(
            "paths", nargs="*", type=Path, metavar="PATH", help="repositories to serve (default: the current one)"
        )


def _add_team(serve: argparse.ArgumentParser) -> None:
    team = serve.add_argument_group("for a team")
    team.add_argument(
        "--lake",
        nargs="?",
        const="",
        metavar="LAKE",
        help="serve all repositories of a lake: a directory, s3:// or gs:// (default: the one of your settings)",
    )
    team.add_argument("--tokens", type=Path, metavar="FILE", help="the file that says who may ask about what")
    team.add_argument(
        "--listen",
        default="127.0.0.1:7425",
        metavar="HOST:PORT",
        help="IP address and port (default: 127.0.0.1:7425; port 0: any free one)",
    )
    team.add_argument(
        "--processes", type=positive_int, default=1, metavar="N", help="processes that answer (default: 1)"
    )
    team.add_argument(
        "--refresh",
        type=positive_int,
        default=30,
        metavar="SECONDS",
        help="look for new publications and notes this often (default: 30)",
    )
    team.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate, if no reverse proxy adds TLS")
    team.add_argument("--tls-key", type=Path, metavar="FILE", help="its key")
    team.add_argument("--new-token", metavar="NAME", help="add a token to the file of --tokens, print it, and exit")
    team.add_argument(
        "--repositories", nargs="+", default=[], metavar="PATTERN", help="what a new token may read: github.com/acme/*"
    )
    team.add_argument("--write-notes", action="store_true", help="a new token may write notes, too")


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
    if options.new_token is not None or options.lake is not None:
        return _serve_team(options)
    if options.tokens is not None:
        raise UsageError("Name the lake to serve with --lake, or a new token with --new-token.")
    from golore.mcp_server.server.http import PORT, run_serve

    port = PORT if options.port is None else options.port
    return run_serve(options.paths, port=port, as_json=options.as_json)


def _serve_team(options: argparse.Namespace) -> int:
    if options.paths or options.port is not None:
        raise UsageError("With --lake, give no paths, and the port as --listen HOST:PORT.")
    from golore.mcp_server.team.team_command import TeamOptions, run_new_token, run_serve_lake

    if options.new_token is not None:
        patterns = tuple(options.repositories)
        return run_new_token(
            options.tokens, options.new_token, patterns, may_write=options.write_notes, as_json=options.as_json
        )
    team = TeamOptions(
        options.lake,
        options.tokens,
        options.listen,
        options.processes,
        options.refresh,
        options.tls_cert,
        options.tls_key,
    )
    return run_serve_lake(team, as_json=options.as_json)


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
