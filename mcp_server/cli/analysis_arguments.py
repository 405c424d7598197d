"""Declares the commands that analyse packages and changes: `cycles`, `dead`, `breaking`, `affected`."""

from __future__ import annotations

import argparse

from golore.mcp_server.cli.options import AddParser, add, add_diagram, add_fleet, add_limit, positive_int


def add_commands(make: AddParser) -> None:
    about = "list import cycles, and directories that depend on each other with the fewest imports to remove"
    cycles = add(make, "cycles", about, _cycles)
    cycles.add_argument("target", nargs="?", default="", metavar="DIRECTORY", help="only packages below it")
    cycles.add_argument("--tests", action="store_true", help="count the imports of test files between directories, too")
    add_limit(cycles)
    add_diagram(cycles)
    about = "list declarations that nothing reaches from main and init, and what only reflection or the like reaches"
    dead = add(make, "dead", about, _dead)
    dead.add_argument("target", nargs="?", default="", metavar="DIRECTORY", help="only packages below it")
    dead.add_argument("--tests", action="store_true", help="what tests reach is in use, too")
    dead.add_argument(
        "--exported",
        action="store_true",
        help="what other modules can import is in use, too (default: only if the repository has no program)",
    )
    add_limit(dead)
    add_fleet(dead)
    about = "list the changes of exported API that break code which uses it, between two revisions"
    breaking = add(make, "breaking", about, _breaking)
    breaking.add_argument(
        "revisions", nargs="?", default="", metavar="A..B", help="such as v1.2.0..HEAD (default: HEAD and the files)"
    )
    choice = breaking.add_mutually_exclusive_group()
    choice.add_argument("--base", default="", metavar="REV", help="compare the files with this revision")
    choice.add_argument("--staged", action="store_true", help="compare what is staged with HEAD")
    add_limit(breaking)
    add_fleet(breaking)
    about = "list what a change affects: code that uses it, tests to run, breaking changes, notes, files left out"
    affected = add(make, "affected", about, _affected)
    affected.add_argument(
        "change",
        nargs="?",
        default="",
        metavar="A..B|PATCH",
        help="a range of revisions, or a file with a unified diff against HEAD (default: HEAD and the files)",
    )
    choice = affected.add_mutually_exclusive_group()
    choice.add_argument("--base", default="", metavar="REV", help="compare the files with this revision")
    choice.add_argument("--staged", action="store_true", help="compare what is staged with HEAD")
    affected.add_argument("--markdown", action="store_true", help="print a comment for a pull request")
    affected.add_argument("--top", type=positive_int, metavar="N", help="choose at most N tests, the nearest first")
    affected.add_argument("--benchmarks", action="store_true", help="choose benchmarks, too")
    affected.add_argument("--depth", type=positive_int, default=3, metavar="N", help="steps to users (default: 3)")
    add_limit(affected)
    add_fleet(affected)
    add_diagram(affected)


def _cycles(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.analysis.cycles import run_cycles

    return run_cycles(
        options.target,
        options.repo,
        as_json=options.as_json,
        tests=options.tests,
        limit=options.limit,
        diagram=options.diagram,
    )


def _dead(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.analysis.dead import run_dead

    return run_dead(
        options.target,
        options.repo,
        as_json=options.as_json,
        tests=options.tests,
        exported=options.exported,
        limit=options.limit,
        fleet=options.fleet,
    )


def _breaking(options: argparse.Namespace) -> int:
    from golore.learner.changes.compared_files import Request
    from golore.mcp_server.commands.analysis.breaking import run_breaking

    request = Request(options.base, options.revisions, staged=options.staged)
    return run_breaking(request, options.repo, as_json=options.as_json, limit=options.limit, fleet=options.fleet)


def _affected(options: argparse.Namespace) -> int:
    from golore.graph.changes.affected import AffectedLimits
    from golore.mcp_server.commands.analysis.affected import request_for, run_affected

    return run_affected(
        request_for(options.change, options.base, staged=options.staged),
        options.repo,
        AffectedLimits(options.depth, top=options.top, benchmarks=options.benchmarks),
        as_json=options.as_json,
        markdown=options.markdown,
        limit=options.limit,
        fleet=options.fleet,
        diagram=options.diagram,
    )
