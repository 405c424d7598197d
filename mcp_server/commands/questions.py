"""The commands about symbols: each resolves a name, queries the graph and prints the answer as text or JSON."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.analysis.program_candidates import ProgramDispatch
from golore.graph.queries.answers import Answer, Impact, Meaning, NameMatches, Route, SymbolAnswer
from golore.graph.queries.names.short_names import Naming, ShortNames, assumed_short_name
from golore.mcp_server.services.graph_query import query_graph, require_query
from golore.mcp_server.services.knowledge.current_summary import symbol_summaries
from golore.mcp_server.services.name_questions import ask, ask_details, ask_impact, ask_path
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import UnclearName, directory_below, only_meaning
from golore.mcp_server.text.output import print_json, print_lines, require_one_form, table_lines, to_json_value
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


class Shape(NamedTuple):
    """How an answer is printed: as JSON, as a diagram (`mermaid`, `dot`), or as text. `limit`: rows of a section.
    `full`: with import paths in names."""

    as_json: bool = False
    diagram: str | None = None
    limit: int | None = None
    full: bool = False

    @property
    def naming(self) -> Naming:
        return full_name if self.full else assumed_short_name


def run_question(question: str, text: str, start: Path, shape: Shape, program: str | None = None) -> int:
    """Print the answer to one of the questions of `ask`. `program`: only the candidates of the program there."""
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with _open(start, as_json=shape.as_json) as (opened, stale):
        answer = ask(opened, question, text)
        if program is not None:
            answer = ProgramDispatch(opened.store, directory_below(opened, program)).restrict(answer)
    if shape.diagram:
        return _print_diagram(_cut_answer(answer, shape.limit), shape.diagram)
    if shape.as_json:
        print_json({**_answer_document(answer, shape.limit), "stale": stale})
    else:
        print_lines(people_lines(answer_reply(answer, shape.naming), shape.limit or _SHOWN))
    return 0


def run_show(text: str, start: Path, *, as_json: bool) -> int:
    with _open(start, as_json=as_json) as (opened, stale):
        meaning = only_meaning(opened, text)
        if meaning.is_group and not as_json:
            print_lines(outline_lines(meaning, ShortNames(opened.store)))
            return 0
        shown = ask_details(opened, meaning)
        summaries = symbol_summaries(opened.store, (symbol.id for symbol in meaning.symbols if not symbol.external))
    if as_json:
        print_json({**_show_document(shown), "summaries": summaries, "stale": stale})
    else:
        summary_lines = [f"summary ({one['quality']}): {one['text']}" for one in summaries]
        print_lines([*_show_lines(shown), *summary_lines])
    return 0


def run_impact(text: str, start: Path, shape: Shape, *, depth: int) -> int:
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with _open(start, as_json=shape.as_json) as (opened, stale):
        found = ask_impact(opened, text, depth=depth)
    if shape.diagram:
        return _print_diagram(_cut_impact(found, shape.limit), shape.diagram)
    if shape.as_json:
        print_json({**_impact_document(found, shape.limit), "stale": stale})
    else:
        print_lines(people_lines(impact_reply(found, shape.naming), shape.limit or _SHOWN))
    return 0


def run_path(source: str, target: str, start: Path, shape: Shape) -> int:
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with _open(start, as_json=shape.as_json) as (opened, stale):
        route = ask_path(opened, source, target)
    if shape.diagram:
        return _print_diagram(route, shape.diagram)
    if shape.as_json:
        print_json({**_route_document(route), "stale": stale})
    else:
        print_lines(people_lines(route_reply(route, shape.naming), _STEPS))
    return 0


def _print_diagram(answer: Answer | Impact | Route, format: str) -> int:
    from golore.graph.queries.answer_diagrams import diagram_of
    from golore.mcp_server.text.diagrams import print_diagram

    print_diagram(diagram_of(answer), format)
    return 0


def run_query(cypher: str, start: Path, *, as_json: bool, seconds: float, near: str = "") -> int:
    require_query(cypher, near)
    with QueryProcess() as queries:
        queries.start()  # while this process opens the store to compare it with the files
        with _open(start, as_json=as_json) as (opened, _):
            directory = opened.store.directory
        rows = query_graph(queries, directory, cypher, near=near, seconds=seconds)
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


def _cut_answer(answer: Answer, limit: int | None) -> Answer:
    return replace(answer, resolved=answer.resolved[:limit], candidates=answer.candidates[:limit])


def _cut_impact(found: Impact, limit: int | None) -> Impact:
    return replace(
        found, resolved=found.resolved[:limit], candidates=found.candidates[:limit], tests=found.tests[:limit]
    )


def _answer_document(answer: Answer, limit: int | None) -> dict[str, Any]:
    shown = _cut_answer(answer, limit)
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
    left_out = sum(len(part) - len(part[:limit]) for part in parts)
    return {
        **to_json_value(_cut_impact(found, limit)),
        "subject": _meaning_document(found.subject),
        "left_out": left_out,
    }


def _route_document(route: Route) -> dict[str, Any]:
    ends = {"source": _meaning_document(route.source), "target": _meaning_document(route.target)}
    return {**to_json_value(route), **ends, "found": bool(route.steps)}
