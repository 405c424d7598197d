"""`golore show`: prints everything that is known about a declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from golore.graph.queries.answers import SymbolAnswer
from golore.graph.queries.names.short_names import ShortNames
from golore.mcp_server.commands.questions import meaning_document, open_for_question
from golore.mcp_server.services.knowledge.current_summary import symbol_summaries
from golore.mcp_server.services.name_questions import ask_details
from golore.mcp_server.services.targets import only_meaning
from golore.mcp_server.text.output import print_answer, print_json, to_json_value
from golore.mcp_server.text.replies import details_lines, full_name, outline_lines, unresolved_lines


def run_show(text: str, start: Path, *, as_json: bool) -> int:
    with open_for_question(start, as_json=as_json) as (opened, stale):
        meaning = only_meaning(opened, text)
        if meaning.is_group and not as_json:
            print_answer(outline_lines(meaning, ShortNames(opened.store)))
            return 0
        shown = ask_details(opened, meaning)
        summaries = symbol_summaries(opened.store, (symbol.id for symbol in meaning.symbols if not symbol.external))
    if as_json:
        print_json({**_show_document(shown), "summaries": summaries, "stale": stale})
    else:
        summary_lines = [f"summary ({one['quality']}): {one['text']}" for one in summaries]
        print_answer([*_show_lines(shown), *summary_lines])
    return 0


def _show_lines(shown: SymbolAnswer) -> list[str]:
    lines: list[str] = []
    for details in shown.declarations:
        lines += [*details_lines(details), ""]
    return [*lines[:-1], *unresolved_lines(shown.unresolved, full_name)]


def _show_document(shown: SymbolAnswer) -> dict[str, Any]:
    return {**to_json_value(shown), "subject": meaning_document(shown.subject)}
