"""Questions to the graph."""

from __future__ import annotations

import argparse
from typing import Final

from golore.mcp_server.cli.options import Make, add, add_limit, add_symbol, positive

_QUESTIONS: Final = {
    "callers": "who calls a function or method",
    "callees": "what a function or method calls",
    "implementers": "which types satisfy an interface; for another type, which interfaces it satisfies",
    "users": "who calls, refers to or embeds a symbol",
}


def add_commands(make: Make) -> None:
    _add_context(make)
    show = add(make, "show", "a declaration: signature, documentation, place, relations, summary", _show)
    add_symbol(show)
    show.add_argument(
        "--history", action="store_true", help="all its summaries, newest first; also of a file, a package or ."
    )
    for name, about in _QUESTIONS.items():
        asked = add(make, name, about, _question)
        asked.set_defaults(question=name)
        add_symbol(asked)
        add_limit(asked)
    _add_impact(make)
    path = add(make, "path", "how one function comes to call another", _path)
    path.add_argument("source", metavar="A", help="where to begin")
    path.add_argument("target", metavar="B", help="what is called in the end")
    _add_search(make)
    query = add(make, "query", "ask the graph in Cypher; only reading is allowed", _query)
    query.add_argument("cypher", metavar="CYPHER", help="such as: MATCH (s:Symbol) RETURN s.qualified_name LIMIT 10")


def _add_context(make: Make) -> None:
    about = "what an agent is told of a file, a package or a symbol, and the files that belong to it"
    context = add(make, "context", about, _context)
    context.add_argument("target", metavar="FILE|PACKAGE|SYMBOL", help="such as store/store.go, store/ or Store.Save")
    context.add_argument("--budget", type=positive, metavar="N", help="characters of text (default: about 2,000)")


def _add_impact(make: Make) -> None:
    impact = add(make, "impact", "what a change of a symbol may reach, tests listed apart", _impact)
    add_symbol(impact)
    add_limit(impact)
    impact.add_argument("--depth", type=positive, default=3, metavar="N", help="steps to follow (default: 3)")


def _add_search(make: Make) -> None:
    search = add(make, "search", "find files, declarations, packages and notes by a name or by words", _search)
    search.add_argument("words", nargs="+", metavar="QUERY", help="a name, a part of one, words, or a sentence")
    search.add_argument("--kind", default="", metavar="KIND", help="func, struct, symbol, file, package, note, doc, …")
    search.add_argument("--limit", type=positive, default=20, metavar="N", help="results (default: 20)")
    search.add_argument(
        "--path", "--package", default="", metavar="GLOB", help="only below this directory or import path, or a glob"
    )
    search.add_argument("--module", default="", metavar="PATH", help="only in this module")
    search.add_argument("--tests", action=argparse.BooleanOptionalAction, help="only tests, or none (default: both)")
    search.add_argument("--generated", action="store_true", help="generated files as well")
    search.add_argument("--explain", action="store_true", help="say what each score is made of")


def _context(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.context import run_context

    return run_context(options.target, options.repo, as_json=options.as_json, budget=options.budget)


def _show(options: argparse.Namespace) -> int:
    if options.history:
        from golore.mcp_server.commands.summary_history import run_history

        return run_history(options.symbol, options.repo, as_json=options.as_json)
    from golore.mcp_server.commands.questions import run_show

    return run_show(options.symbol, options.repo, as_json=options.as_json)


def _question(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.questions import run_question

    return run_question(options.question, options.symbol, options.repo, as_json=options.as_json, limit=options.limit)


def _impact(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.questions import run_impact

    return run_impact(options.symbol, options.repo, as_json=options.as_json, depth=options.depth, limit=options.limit)


def _path(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.questions import run_path

    return run_path(options.source, options.target, options.repo, as_json=options.as_json)


def _search(options: argparse.Namespace) -> int:
    from golore.graph.search.search import SearchRequest
    from golore.mcp_server.commands.search import run_search

    request = SearchRequest(
        " ".join(options.words),
        options.kind,
        options.limit,
        options.path,
        options.module,
        options.tests,
        options.generated,
        options.explain,
    )
    return run_search(request, options.repo, as_json=options.as_json)


def _query(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.questions import run_query

    return run_query(options.cypher, options.repo, as_json=options.as_json)
