"""The questions about symbols, such as `golore callers`: each resolves a name, queries the graph and prints the answer.

`show` and `query` are modules of their own: what they import takes as long as a question.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.queries.answers import Answer, Impact, Meaning, NameMatches, Route
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.mcp_server.services.name_questions import ask, ask_impact, ask_path
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import UnclearName, directory_below
from golore.mcp_server.text.output import print_answer, print_json, require_one_form, to_json_value
from golore.mcp_server.text.replies import (
    answer_reply,
    full_name,
    impact_reply,
    people_lines,
    route_reply,
)
from msgspec.structs import replace

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

    def naming(self, store: Store) -> Naming:
        return full_name if self.full else ShortNames(store)


def run_question(question: str, text: str, start: Path, shape: Shape, program: str | None = None) -> int:
    """Print the answer to one of the questions of `ask`. `program`: only the candidates of the program there."""
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with open_for_question(start, as_json=shape.as_json) as (opened, stale):
        answer = ask(opened, question, text)
        if program is not None:
            from golore.graph.analysis.program_candidates import ProgramDispatch

            answer = ProgramDispatch(opened.store, directory_below(opened, program)).restrict(answer)
        reply = answer_reply(answer, shape.naming(opened.store))
    if shape.diagram:
        return _print_diagram(_cut_answer(answer, shape.limit), shape.diagram)
    if shape.as_json:
        print_json({**_answer_document(answer, shape.limit), "stale": stale})
    else:
        print_answer(people_lines(reply, shape.limit or _SHOWN))
    return 0


def run_impact(text: str, start: Path, shape: Shape, *, depth: int) -> int:
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with open_for_question(start, as_json=shape.as_json) as (opened, stale):
        found = ask_impact(opened, text, depth=depth)
        reply = impact_reply(found, shape.naming(opened.store))
    if shape.diagram:
        return _print_diagram(_cut_impact(found, shape.limit), shape.diagram)
    if shape.as_json:
        print_json({**_impact_document(found, shape.limit), "stale": stale})
    else:
        print_answer(people_lines(reply, shape.limit or _SHOWN))
    return 0


def run_path(source: str, target: str, start: Path, shape: Shape) -> int:
    require_one_form(as_json=shape.as_json, diagram=shape.diagram)
    with open_for_question(start, as_json=shape.as_json) as (opened, stale):
        route = ask_path(opened, source, target)
        reply = route_reply(route, shape.naming(opened.store))
    if shape.diagram:
        return _print_diagram(route, shape.diagram)
    if shape.as_json:
        print_json({**_route_document(route), "stale": stale})
    else:
        print_answer(people_lines(reply, _STEPS))
    return 0


def _print_diagram(answer: Answer | Impact | Route, format: str) -> int:
    from golore.graph.queries.answer_diagrams import diagram_of
    from golore.mcp_server.text.diagrams import print_diagram

    print_diagram(diagram_of(answer), format)
    return 0


@contextmanager
def open_for_question(start: Path, *, as_json: bool) -> Generator[tuple[OpenRepository, _Stale]]:
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


def _unclear_name_document(found: NameMatches) -> dict[str, Any]:
    if found.meanings:
        return {"ambiguous": [meaning_document(meaning) for meaning in found.meanings]}
    return {"unknown": found.text, "suggestions": [to_json_value(symbol) for symbol in found.suggestions]}


def meaning_document(meaning: Meaning) -> dict[str, Any]:
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
        "subject": meaning_document(answer.subject),
        "left_out": left_out,
        "other_accesses": dict(answer.other_accesses),
    }


def _impact_document(found: Impact, limit: int | None) -> dict[str, Any]:
    parts = (found.resolved, found.candidates, found.tests)
    left_out = sum(len(part) - len(part[:limit]) for part in parts)
    return {
        **to_json_value(_cut_impact(found, limit)),
        "subject": meaning_document(found.subject),
        "left_out": left_out,
    }


def _route_document(route: Route) -> dict[str, Any]:
    ends = {"source": meaning_document(route.source), "target": meaning_document(route.target)}
    return {**to_json_value(route), **ends, "found": bool(route.steps)}
