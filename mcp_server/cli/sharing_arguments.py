"""The graph and its knowledge out of their store, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import Make, add, add_repository


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
    _add_snapshots(make)


def _add_snapshots(make: Make) -> None:
    snapshot = add(make, "snapshot", "keep the store as it is under a name", _snapshot)
    snapshot.add_argument("name", nargs="?", metavar="NAME", help="letters, digits, dots, dashes and underscores")
    snapshot.add_argument("--list", action="store_true", dest="listed", help="which snapshots there are")
    snapshot.add_argument("--replace", action="store_true", help="take the place of one with the same name")
    snapshot.add_argument("--remove", action="store_true", help="remove the snapshot of that name instead")
    restore = add(make, "restore", "make the store what it was at a snapshot", _restore)
    restore.add_argument("name", metavar="NAME", help="as `golore snapshot --list` tells")
    diff = add(make, "diff", "what came, went or changed between two snapshots, or since one", _diff)
    diff.add_argument("before", metavar="A", help="a snapshot")
    diff.add_argument("after", nargs="?", default="now", metavar="B", help="another one (default: now)")


def _export(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.export import run_export

    return run_export(options.repo, options.output, format=options.format)


def _import(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.import_store import run_import

    return run_import(options.source, options.repo, replace=options.replace, as_json=options.as_json)


def _snapshot(options: argparse.Namespace) -> int:
    from golore.graph.errors import UsageError
    from golore.mcp_server.commands.snapshots import run_list, run_remove, run_snapshot

    if options.listed or (options.name is None and not options.remove):
        return run_list(options.repo, as_json=options.as_json)
    if options.name is None:
        raise UsageError("Name the snapshot that is to be removed.")
    if options.remove:
        return run_remove(options.repo, options.name)
    return run_snapshot(options.repo, options.name, replace=options.replace, as_json=options.as_json)


def _restore(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.snapshots import run_restore

    return run_restore(options.repo, options.name, as_json=options.as_json)


def _diff(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.snapshots import run_diff

    return run_diff(options.repo, options.before, options.after, as_json=options.as_json)
