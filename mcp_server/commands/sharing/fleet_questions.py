"""The commands about symbols with `--fleet`: ask all repositories in a lake, and print the answer as text or JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreError, UsageError
from golore.graph.lake import fleet_questions
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.phrases import listed
from golore.graph.queries import questions
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.services.targets import UnclearName, only_meaning
from golore.mcp_server.text.fleet_text import fleet_reply
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.replies import people_lines

_SHOWN: Final = 50
_NAMED: Final = 10
_KINDS: Final = {"callers": questions.CALLABLE, "implementers": questions.TYPES}


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
    with Fleet(open_lake(lake_address(address))) as fleet:
        name, package = _named(fleet, question, text, start)
        if question == "callers":
            answer = fleet_questions.callers(fleet, name, package)
        elif question == "implementers":
            answer = fleet_questions.implementers(fleet, name, package)
        elif question == "impact":
            answer = fleet_questions.impact(fleet, name, package, depth=depth)
        else:
            answer = fleet_questions.users(fleet, name, package, access)
    if as_json:
        _print_document(answer, limit)
    else:
        print_lines(people_lines(fleet_reply(answer), limit or _SHOWN))
    return 0


def _named(fleet: Fleet, question: str, text: str, start: Path) -> tuple[str, str]:
    """The qualified name that a text means, and its package: as the repository here knows it, or else the fleet."""
    unclear: UnclearName | None = None
    try:
        with open_repository(start) as opened:
            meaning = only_meaning(opened, text, _KINDS.get(question, frozenset()))
        if meaning.is_group:
            raise UsageError(f"{meaning.name} has several declarations. With --fleet, name one symbol.")
        return meaning.first.qualified_name, meaning.first.package
    except StoreError:
        pass
    except UnclearName as failure:
        if failure.matches.meanings:
            raise
        unclear = failure
    if any(one.declares(text) and fleet.symbols(one, [text]) for one in fleet.members):
        return text, ""
    names = fleet.names_ending(text)
    if len(names) == 1:
        return names[0], ""
    if names:
        raise UsageError(f"{text!r} may mean several symbols of the fleet: {listed(names, _NAMED)}. Give one of them.")
    raise unclear or UsageError(
        f"Nothing in the fleet is named {text!r}. Give its full name, such as github.com/spf13/cobra.Command.Flags."
    )


def _print_document(answer: FleetAnswer, limit: int | None) -> None:
    parts = (answer.resolved, answer.candidates, answer.accidental)
    resolved, candidates, accidental = (part[:limit] for part in parts)
    left_out = sum(len(part) - len(part[:limit]) for part in parts)
    shown = replace(answer, resolved=resolved, candidates=candidates, accidental=accidental)
    print_json({**to_json_value(shown), "left_out": left_out})
