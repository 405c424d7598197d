"""Declares `export`, `import`, `adopt`, `snapshot`, `restore` and `diff`."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import AddParser, add, add_repository


def add_commands(make: AddParser) -> None:
    export = add(
        make, "export", "write the store as JSON lines or Parquet, or the graph as SCIP, GraphML or CSV", _export
    )
    export.add_argument(
        "--format",
        choices=["jsonl", "parquet", "scip", "graphml", "csv"],
        default="jsonl",
        help="jsonl: sorted JSON lines; parquet: a directory that also has the facts, so that a learn after the import "
        "parses only changed files. For other programs: scip, a code index; graphml; csv, a directory",
    )
    export.add_argument(
        "--output", type=Path, metavar="PATH", help="file or directory to write (default: standard output)"
    )
    load = add(make, "import", "create the store from an export of another machine or of CI", _import, reads=False)
    load.add_argument(
        "source", type=Path, metavar="EXPORT", help="a file of JSON lines, or a directory of Parquet files"
    )
    load.add_argument(
        "--replace", action="store_true", help="delete local notes and summaries that are not in the export"
    )
    add_repository(load)
    adopt = add(
        make, "adopt", "use a store that was moved, copied or made by somebody else; shows its notes first", _adopt
    )
    adopt.add_argument(
        "source",
        nargs="?",
        type=Path,
        metavar="STORE",
        help="a store directory to take notes from (default: the store at hand, or the last one that was set aside)",
    )
    adopt.add_argument("--yes", action="store_true", dest="is_agreed", help="do not ask")
    _add_snapshots(make)


def _add_snapshots(make: AddParser) -> None:
    snapshot = add(
        make, "snapshot", "save a copy of the store under a name; without one, list the snapshots", _snapshot
    )
    snapshot.add_argument("name", nargs="?", metavar="NAME", help="letters, digits, dots, dashes and underscores")
    snapshot.add_argument("--list", action="store_true", dest="listed", help="list the snapshots")
    snapshot.add_argument("--replace", action="store_true", help="replace a snapshot of the same name")
    snapshot.add_argument("--remove", action="store_true", help="delete the snapshot of that name")
    restore = add(make, "restore", "restore the store from a snapshot", _restore)
    restore.add_argument("name", metavar="NAME", help="a name that `golore snapshot --list` prints")
    diff = add(make, "diff", "print what was added, removed or changed between two snapshots, or since one", _diff)
    diff.add_argument("before", metavar="A", help="a snapshot")
    diff.add_argument(
        "after", nargs="?", default="now", metavar="B", help="another snapshot (default: now, the current store)"
    )


def _export(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.export import run_export

    return run_export(options.repo, options.output, format=options.format, as_json=options.as_json)


def _import(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.import_store import run_import

    return run_import(options.source, options.repo, replace=options.replace, as_json=options.as_json)


def _adopt(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.adopt import run_adopt

    return run_adopt(options.repo, options.source, is_agreed=options.is_agreed, as_json=options.as_json)


def _snapshot(options: argparse.Namespace) -> int:
    from golore.graph.errors import UsageError
    from golore.mcp_server.commands.sharing.snapshots import run_list, run_remove, run_snapshot

    if options.listed or (options.name is None and not options.remove):
        return run_list(options.repo, as_json=options.as_json)
    if options.name is None:
        raise UsageError("Name the snapshot to remove: `golore snapshot --remove NAME`.")
    if options.remove:
        return run_remove(options.repo, options.name, as_json=options.as_json)
    return run_snapshot(options.repo, options.name, replace=options.replace, as_json=options.as_json)


def _restore(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.snapshots import run_restore

    return run_restore(options.repo, options.name, as_json=options.as_json)


def _diff(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.snapshots import run_diff

    return run_diff(options.repo, options.before, options.after, as_json=options.as_json)
