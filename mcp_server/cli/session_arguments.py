"""Declares `learn-sessions`, which proposes notes from the transcripts of an agent."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import AddParser, add

_AGENTS = ["claude", "codex", "gemini", "copilot", "opencode"]
"""As in `sessions.transcripts`, which is imported only to run the command."""


def add_commands(make: AddParser) -> None:
    about = "find corrections in agents' transcripts, and turn those that you accept into notes"
    sessions = add(make, "learn-sessions", about, _learn_sessions)
    sessions.add_argument(
        "path",
        nargs="?",
        type=Path,
        metavar="PATH",
        help="a transcript, or a directory of transcripts (default: those of this repository)",
    )
    sessions.add_argument("--agent", choices=_AGENTS, default="", help="only transcripts of this agent (default: all)")
    sessions.add_argument(
        "--since", default="", metavar="WHEN", help="only messages of the last 12h, 7d or 2w, or since a date"
    )
    sessions.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="a model of Ollama that decides about doubtful messages (default: none)",
    )
    sessions.add_argument("--host", metavar="URL", help="URL of Ollama's server (default: on this machine)")
    sessions.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="turn a proposal, or `all`, into notes"
    )
    sessions.add_argument(
        "--reject", action="append", default=[], metavar="ID", help="drop a proposal, or `all`, permanently"
    )
    sessions.add_argument(
        "--hook", action="store_true", help="for a hook: read its input, propose notes, print nothing"
    )


def _learn_sessions(options: argparse.Namespace) -> int:
    from golore.mcp_server.sessions.learn_sessions import run_in_hook, run_sessions

    if options.hook:
        return run_in_hook()
    return run_sessions(
        options.repo,
        options.path,
        agent=options.agent,
        since=options.since,
        model=options.model,
        host=options.host,
        accept=options.accept,
        reject=options.reject,
        as_json=options.as_json,
    )
