"""The graph and its knowledge out of their store, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.commands.options import Make, add, add_repository


def add_commands(make: Make) -> None:
    export = add(make, "export", "the whole graph with notes and summaries, one JSON object a line, sorted", _export)
    export.add_argument(
        "--format",
        choices=["jsonl", "parquet"],
        default="jsonl",
        help="lines of JSON, or a directory of Parquet files with what a learn needs to go on from there",
    )
    export.add_argument("--output", type=Path, metavar="PATH", help="write there (default: standard output)")
    load = add(make, "import", "make the store from an export: of another machine, or of CI", _import, reads=False)
    load.add_argument("source", type=Path, metavar="EXPORT", help="a file of JSON lines, or a directory of Parquet")
    load.add_argument(
        "--replace", action="store_true", help="drop notes and summaries that are here and not in the export"
    )
    add_repository(load)


def _export(options: argparse.Namespace) -> int:
    from golore.mcp_server.exporting import run_export

    return run_export(options.repo, options.output, format=options.format)


def _import(options: argparse.Namespace) -> int:
    from golore.mcp_server.importing import run_import

    return run_import(options.source, options.repo, replace=options.replace, as_json=options.as_json)
