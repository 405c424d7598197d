"""What sessions with agents have taught."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import Make, add


def add_commands(make: Make) -> None:
    about = "find corrections in an agent's transcripts, and make notes of those you accept"
    sessions = add(make, "learn-sessions", about, _learn_sessions)
    sessions.add_argument(
        "path",
        nargs="?",
        type=Path,
        metavar="PATH",
        help="a transcript, or a directory of them (default: this repository's)",
    )
    sessions.add_argument("--agent", choices=["claude"], default="claude", help="whose transcripts (default: claude)")
    sessions.add_argument("--since", default="", metavar="WHEN", help="12h, 7d, 2w or a date (default: everything)")
    sessions.add_argument("--accept", action="append", default=[], metavar="ID", help="make a note of it; or all")
    sessions.add_argument("--reject", action="append", default=[], metavar="ID", help="drop it for good; or all")
    sessions.add_argument("--hook", action="store_true", help="for a hook: read the session on standard input, quietly")


def _learn_sessions(options: argparse.Namespace) -> int:
    from golore.mcp_server.sessions.learn_sessions import run_in_hook, run_sessions

    if options.hook:
        return run_in_hook()
    return run_sessions(
        options.repo,
        options.path,
        since=options.since,
        accept=options.accept,
        reject=options.reject,
        as_json=options.as_json,
    )
