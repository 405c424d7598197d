"""The commands about symbols: each resolves a name, queries the graph and prints the answer as text or JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from golore.graph.database.read_only import require_read_only
from golore.graph.database.store import Store
from golore.graph.queries import impact, questions
from golore.graph.queries.answers import Answer, Impact, Meaning, NameMatches, Route, SymbolAnswer
from golore.mcp_server.services.current_summary import symbol_summaries
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import UnclearName, only_field, only_meaning
from golore.mcp_server.text.output import print_json, print_lines, table_lines, to_json_value
from golore.mcp_server.text.replies import (
    answer_reply,
    details_lines,
    full_name,
    impact_reply,
    outline_lines,
    people_lines,
    route_reply,
    unresolved_lines,
)

_SHOWN: Final = 50
"""Rows of each section in text. JSON has all rows unless a limit is given."""
_STEPS: Final = 1_000
"""Steps of a path in text."""
_Stale = tuple[str, ...] | None
"""Files that changed since the last learn; None if that is unknown."""
_QUESTIONS: Final[dict[str, tuple[Callable[[Store, Meaning], Answer], frozenset[str]]]] = {
    "callers": (questions.callers, questions.CALLABLE),
    "callees": (questions.callees, questions.CALLING),
    "implementers": (questions.implementers, questions.TYPES),
    "users": (questions.users, frozenset()),
    "tests": (questions.tests, frozenset()),
}


def run_question(question: str, text: str, start: Path, *, as_json: bool, limit: int | None) -> int:
    ask, kinds = _QUESTIONS[question]
    with _open(start, as_json=as_json) as (opened, stale):
        meaning = only_meaning(opened, text, kinds)
        answer = ask(opened.store, meaning)
    return _print_answer(answer, stale, as_json=as_json, limit=limit)


def run_field_uses(access: str, text: str, start: Path, *, as_json: bool, limit: int | None) -> int:
    """Print where a field is read or written."""
    with _open(start, as_json=as_json) as (opened, stale):
        answer = questions.users(opened.store, only_field(opened, text), access)
    return _print_answer(answer, stale, as_json=as_json, limit=limit)


def _print_answer(answer: Answer, stale: _Stale, *, as_json: bool, limit: int | None) -> int:
    if as_json:
        print_json({**_answer_document(answer, limit), "stale": stale})
    else:
        print_lines(people_lines(answer_reply(answer, full_name), limit or _SHOWN))
    return 0


def run_show(text: str, start: Path, *, as_json: bool) -> int:
    with _open(start, as_json=as_json) as (opened, stale):
        meaning = only_meaning(opened, text)
        if meaning.is_group and not as_json:
            print_lines(outline_lines(meaning))
            return 0
        shown = questions.show(opened.store, meaning)
        summaries = symbol_summaries(opened.store, (symbol.id for symbol in meaning.symbols if not symbol.external))
    if as_json:
        print_json({**_show_document(shown), "summaries": summaries, "stale": stale})
    else:
        summary_lines = [f"summary ({one['quality']}): {one['text']}" for one in summaries]
        print_lines([*_show_lines(shown), *summary_lines])
    return 0


def run_impact(text: str, start: Path, *, as_json: bool, depth: int, limit: int | None) -> int:
    with _open(start, as_json=as_json) as (opened, stale):
        meaning = only_meaning(opened, text)
        found = impact.impact(opened.store, meaning, depth)
    if as_json:
        print_json({**_impact_document(found, limit), "stale": stale})
    else:
        print_lines(people_lines(impact_reply(found, full_name), limit or _SHOWN))
    return 0


def run_path(source: str, target: str, start: Path, *, as_json: bool) -> int:
    with _open(start, as_json=as_json) as (opened, stale):
        first = only_meaning(opened, source, questions.CALLING)
        last = only_meaning(opened, target, questions.CALLABLE)
        route = impact.path(opened.store, first, last)
    if as_json:
        print_json({**_route_document(route), "stale": stale})
    else:
        print_lines(people_lines(route_reply(route, full_name), _STEPS))
    return 0


def run_query(cypher: str, start: Path, *, as_json: bool, seconds: float) -> int:
    require_read_only(cypher)
    with QueryProcess() as queries:
        queries.start()  # while this process opens the store to compare it with the files
        with _open(start, as_json=as_json) as (opened, _):
            directory = opened.store.directory
        rows = queries.query(directory, cypher, seconds=seconds)
    if as_json:
        print_json({"rows": rows})
    else:
        print_lines(table_lines(rows))
    return 0


@contextmanager
def _open(start: Path, *, as_json: bool) -> Generator[tuple[OpenRepository, _Stale]]:
    """Open the store and warn about files that changed since the last learn. With JSON, print what an unclear name may
    mean before raising `UnclearName`."""
    with open_repository(start) as opened:
        stale = warn_if_stale(opened.repository.root, opened.store)
        try:
            yield opened, stale
        except UnclearName as unclear:
            if as_json:
                print_json({**_unclear_name_document(unclear.matches), "stale": stale})
            raise


def _show_lines(shown: SymbolAnswer) -> list[str]:
    lines: list[str] = []
    for details in shown.declarations:
        lines += [*details_lines(details), ""]
    return [*lines[:-1], *unresolved_lines(shown.unresolved, full_name)]


def _unclear_name_document(found: NameMatches) -> dict[str, Any]:
    if found.meanings:
        return {"ambiguous": [_meaning_document(meaning) for meaning in found.meanings]}
    return {"unknown": found.text, "suggestions": [to_json_value(symbol) for symbol in found.suggestions]}


def _meaning_document(meaning: Meaning) -> dict[str, Any]:
    first = meaning.first
    document = {
        "name": meaning.name,
        "kind": "file" if meaning.is_group else first.kind,
        "file": first.file,
        "line": first.line,
        "declarations": [to_json_value(symbol) for symbol in meaning.symbols],
    }
    return {**document, "explanation": meaning.explanation} if meaning.explanation else document


def _answer_document(answer: Answer, limit: int | None) -> dict[str, Any]:
    shown = replace(answer, resolved=answer.resolved[:limit], candidates=answer.candidates[:limit])
    left_out = len(answer.resolved) + len(answer.candidates) - len(shown.resolved) - len(shown.candidates)
    return {
        **to_json_value(shown),
        "subject": _meaning_document(answer.subject),
        "left_out": left_out,
        "other_accesses": dict(answer.other_accesses),
    }


def _show_document(shown: SymbolAnswer) -> dict[str, Any]:
    return {**to_json_value(shown), "subject": _meaning_document(shown.subject)}


def _impact_document(found: Impact, limit: int | None) -> dict[str, Any]:
    parts = (found.resolved, found.candidates, found.tests)
    resolved, candidates, tests = (part[:limit] for part in parts)
    left_out = sum(len(part) - len(part[:limit]) for part in parts)
    shown = replace(found, resolved=resolved, candidates=candidates, tests=tests)
    return {**to_json_value(shown), "subject": _meaning_document(found.subject), "left_out": left_out}


def _route_document(route: Route) -> dict[str, Any]:
    ends = {"source": _meaning_document(route.source), "target": _meaning_document(route.target)}
    return {**to_json_value(route), **ends, "found": bool(route.steps)}
