"""The commands about symbols with `--fleet`: ask all repositories in a lake, and print the answer as text or JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.lake.fleet_search import search_names
from golore.mcp_server.services.fleet.fleet_asking import ask_fleet, open_fleet
from golore.mcp_server.text.fleet_text import fleet_reply, fleet_search_reply
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.replies import people_lines

_SHOWN: Final = 50


def run_fleet_question(
    question: str,
    text: str,
    start: Path,
    address: str,
    *,
    as_json: bool,
    limit: int | None,
    access: str = "",
    depth: int = 1,
) -> int:
    with open_fleet(address) as fleet:
        answer = ask_fleet(fleet, question, text, start, access=access, depth=depth)
    if as_json:
        _print_document(answer, limit)
    else:
        print_lines(people_lines(fleet_reply(answer), limit or _SHOWN))
    return 0


def run_fleet_search(query: str, address: str, *, kind: str, limit: int, as_json: bool) -> int:
    """`golore search --fleet`."""
    with open_fleet(address) as fleet:
        found = search_names(fleet, query, kind=kind, limit=limit)
    if as_json:
        print_json(to_json_value(found))
    else:
        print_lines(people_lines(fleet_search_reply(found), limit))
    return 0


def _print_document(answer: FleetAnswer, limit: int | None) -> None:
    parts = (answer.resolved, answer.candidates, answer.accidental)
    resolved, candidates, accidental = (part[:limit] for part in parts)
    left_out = sum(len(part) - len(part[:limit]) for part in parts)
    shown = replace(answer, resolved=resolved, candidates=candidates, accidental=accidental)
    print_json({**to_json_value(shown), "left_out": left_out})
