"""Declares `recent`, which reads the git history."""

from __future__ import annotations

import argparse

from golore.mcp_server.cli.options import AddParser, add, positive_int


def add_commands(make: AddParser) -> None:
    about = "list the newest commits and uncommitted changes; for a file or symbol, who changed it and when"
    recent = add(make, "recent", about, _recent)
    recent.add_argument("target", nargs="?", default="", metavar="FILE|SYMBOL", help="such as store/store.go or Save")
    recent.add_argument("--limit", type=positive_int, default=10, metavar="N", help="at most N commits (default: 10)")


def _recent(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.recent import run_recent

    return run_recent(options.target, options.repo, as_json=options.as_json, limit=options.limit)
