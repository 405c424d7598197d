"""The graph out of its store, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.commands.options import Make, add


def add_commands(make: Make) -> None:
    export = add(make, "export", "the whole graph, one JSON object a line, sorted", _export)
    export.add_argument("--format", choices=["jsonl"], default="jsonl", help="lines of JSON, the only one so far")
    export.add_argument("--output", type=Path, metavar="FILE", help="write to a file (default: standard output)")


def _export(options: argparse.Namespace) -> int:
    from golore.mcp_server.exporting import run_export

    return run_export(options.repo, options.output)
