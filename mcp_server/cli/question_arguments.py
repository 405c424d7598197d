"""Declares the commands that query the graph: `context`, `show`, `callers`, `impact`, `path`, `search`, `query`, …"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from golore.mcp_server.cli.options import (
    AddParser,
    add,
    add_diagram,
    add_fleet,
    add_full,
    add_limit,
    add_symbol,
    positive_int,
)

_QUESTIONS: Final = {
    "callers": "list the callers of a function or method",
    "callees": "list what a function or method calls",
    "implementers": "list the types that satisfy an interface, or the interfaces that another type satisfies",
    "users": "list the symbols that call, refer to or embed a symbol",
    "tests": "list the tests that reach a symbol",
}
_ASKED_ACROSS: Final = ("callers", "implementers", "users")
_OF_PROGRAMS: Final = ("callers", "callees")
_MAX_SECONDS: Final = 3_600


def add_commands(make: AddParser) -> None:
    for name in COMMANDS:
        add_command(make, name)


def add_command(make: AddParser, name: str) -> None:
    """Declare one of `COMMANDS`: declaring all takes 4 ms."""
    if name in _QUESTIONS:
        _add_question(make, name)
    else:
        _OTHERS[name](make)


def _add_show(make: AddParser) -> None:
    show = add(make, "show", "print a declaration: signature, documentation, location, relations, summary", _show)
    add_symbol(show)
    show.add_argument(
        "--history",
        action="store_true",
        help="print all summaries, newest first; SYMBOL may also be a file, a package or .",
    )


def _add_question(make: AddParser, name: str) -> None:
    command = add(make, name, _QUESTIONS[name], _question)
    command.set_defaults(question=name)
    add_symbol(command)
    add_limit(command)
    add_full(command)
    add_diagram(command)
    if name in _ASKED_ACROSS:
        add_fleet(command)
    if name in _OF_PROGRAMS:
        command.add_argument(
            "--program",
            metavar="DIRECTORY",
            help="only candidates that this program, a directory with package main, can run",
        )
    if name == "users":
        access = command.add_mutually_exclusive_group()
        access.add_argument(
            "--reads", dest="access", action="store_const", const="reads", help="of a field: only where it is read"
        )
        access.add_argument(
            "--writes", dest="access", action="store_const", const="writes", help="of a field: only assignments to it"
        )


def _add_path(make: AddParser) -> None:
    path = add(make, "path", "print a chain of calls from one function to another", _path)
    path.add_argument("source", metavar="A", help="function to start from")
    path.add_argument("target", metavar="B", help="function to reach")
    add_full(path)
    add_diagram(path)


def _add_query(make: AddParser) -> None:
    query = add(make, "query", "run a read-only Cypher query on the graph", _query)
    query.add_argument("cypher", metavar="CYPHER", help="such as: MATCH (s:Symbol) RETURN s.qualified_name LIMIT 10")
    query.add_argument(
        "--near",
        default="",
        metavar="TEXT",
        help="$near in the query is the vector of this text, to compare with `vector` of nodes; needs `golore embed`",
    )
    query.add_argument(
        "--seconds", type=_seconds, default=60, metavar="N", help="stop the query after N seconds (default: 60)"
    )


def _add_explore(make: AddParser) -> None:
    explore = add(make, "explore", "print the source that explains something, in one reply", _explore)
    explore.add_argument(
        "words",
        nargs="+",
        metavar="QUESTION|SYMBOL|FILE:LINES",
        help="a question in words, symbols, lines such as store.go:10-40, or a stack trace; - reads standard input",
    )
    explore.add_argument(
        "--budget", type=positive_int, default=3_000, metavar="N", help="at most N tokens of text (default: 3,000)"
    )


def _add_context(make: AddParser) -> None:
    about = "print what an agent is shown for a file, a package or a symbol, and the related files"
    context = add(make, "context", about, _context)
    context.add_argument("target", metavar="FILE|PACKAGE|SYMBOL", help="such as store/store.go, store/ or Store.Save")
    context.add_argument(
        "--budget", type=positive_int, metavar="N", help="at most N characters of text (default: about 2,000)"
    )


def _add_impact(make: AddParser) -> None:
    impact = add(make, "impact", "list what a change of a symbol may affect; tests are listed separately", _impact)
    add_symbol(impact)
    add_limit(impact)
    add_full(impact)
    add_diagram(impact)
    add_fleet(impact)
    impact.add_argument(
        "--depth", type=positive_int, default=3, metavar="N", help="follow at most N steps (default: 3)"
    )


def _add_search(make: AddParser) -> None:
    search = add(make, "search", "find files, symbols, packages, notes and documents by name or by words", _search)
    search.add_argument("words", nargs="+", metavar="QUERY", help="a name, part of a name, words, or a sentence")
    search.add_argument(
        "--kind", default="", metavar="KIND", help="only this kind: func, struct, symbol, file, package, note, doc, …"
    )
    search.add_argument("--limit", type=positive_int, default=20, metavar="N", help="at most N results (default: 20)")
    search.add_argument(
        "--path",
        "--package",
        default="",
        metavar="GLOB",
        help="only below this directory or import path, or matching a glob",
    )
    search.add_argument("--module", default="", metavar="PATH", help="only in this module")
    search.add_argument(
        "--tests", action=argparse.BooleanOptionalAction, help="only tests, or no tests (default: both)"
    )
    search.add_argument("--generated", action="store_true", help="include generated files")
    search.add_argument("--explain", action="store_true", help="print the parts of each score")
    add_fleet(search)


_OTHERS: Final[dict[str, Callable[[AddParser], None]]] = {
    "explore": _add_explore,
    "context": _add_context,
    "show": _add_show,
    "impact": _add_impact,
    "path": _add_path,
    "search": _add_search,
    "query": _add_query,
}
COMMANDS: Final = ("explore", "context", "show", *_QUESTIONS, "impact", "path", "search", "query")
"""In the order of `golore --help`."""


def _explore(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.explore import run_explore

    return run_explore(options.words, options.repo, as_json=options.as_json, budget=options.budget)


def _context(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.context import run_context

    return run_context(options.target, options.repo, as_json=options.as_json, budget=options.budget)


def _show(options: argparse.Namespace) -> int:
    if options.history:
        from golore.mcp_server.commands.summaries.summary_history import run_history

        return run_history(options.symbol, options.repo, as_json=options.as_json)
    from golore.mcp_server.commands.show import run_show

    return run_show(options.symbol, options.repo, as_json=options.as_json)


def _question(options: argparse.Namespace) -> int:
    if options.question in _ASKED_ACROSS and options.fleet is not None:
        access = options.access if options.question == "users" else None
        return _ask_fleet(options, options.question, access=access or "")
    from golore.mcp_server.commands.questions import Shape, run_question

    question = options.access if options.question == "users" and options.access else options.question
    shape = Shape(as_json=options.as_json, diagram=options.diagram, limit=options.limit, full=options.full)
    program = options.program if question in _OF_PROGRAMS else None
    return run_question(question, options.symbol, options.repo, shape, program)


def _ask_fleet(options: argparse.Namespace, question: str, *, access: str = "", depth: int = 1) -> int:
    from golore.graph.errors import UsageError
    from golore.mcp_server.commands.sharing.fleet_questions import run_fleet_question

    if options.diagram:
        raise UsageError("There are no diagrams of a whole fleet. Leave out --format.")
    return run_fleet_question(
        question,
        options.symbol,
        options.repo,
        options.fleet,
        as_json=options.as_json,
        limit=options.limit,
        access=access,
        depth=depth,
    )


def _impact(options: argparse.Namespace) -> int:
    if options.fleet is not None:
        return _ask_fleet(options, "impact", depth=options.depth)
    from golore.mcp_server.commands.questions import Shape, run_impact

    shape = Shape(as_json=options.as_json, diagram=options.diagram, limit=options.limit, full=options.full)
    return run_impact(options.symbol, options.repo, shape, depth=options.depth)


def _path(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.questions import Shape, run_path

    shape = Shape(as_json=options.as_json, diagram=options.diagram, full=options.full)
    return run_path(options.source, options.target, options.repo, shape)


def _search(options: argparse.Namespace) -> int:
    if options.fleet is not None:
        from golore.graph.errors import UsageError
        from golore.mcp_server.commands.sharing.fleet_questions import run_fleet_search

        if options.path or options.module or options.tests is not None or options.generated or options.explain:
            raise UsageError("With --fleet, a search has only --kind and --limit. Leave out the others.")
        query = " ".join(options.words)
        return run_fleet_search(query, options.fleet, kind=options.kind, limit=options.limit, as_json=options.as_json)
    from golore.graph.search.results.hits import SearchRequest
    from golore.mcp_server.commands.search import run_search

    request = SearchRequest(
        " ".join(options.words),
        kind=options.kind,
        limit=options.limit,
        path=options.path,
        module=options.module,
        tests=options.tests,
        generated=options.generated,
        explain=options.explain,
    )
    return run_search(request, options.repo, as_json=options.as_json)


def _seconds(text: str) -> int:
    number = positive_int(text)
    if number > _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is more than {_MAX_SECONDS}")
    return number


def _query(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.query import run_query

    return run_query(options.cypher, options.repo, as_json=options.as_json, seconds=options.seconds, near=options.near)
