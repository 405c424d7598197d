"""Asks all repositories of a lake about a name, as the repository here knows it, or else the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.errors import StoreError, UsageError
from golore.graph.lake import fleet_questions
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.phrases import listed
from golore.graph.queries import questions
from golore.graph.queries.answers import Meaning
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.services.targets import UnclearName, only_meaning

FLEET_QUESTIONS: Final = ("callers", "users", "reads", "writes", "implementers", "impact")
_NAMED: Final = 10
_KINDS: Final = {"callers": questions.CALLABLE, "implementers": questions.TYPES}


def open_fleet(address: str = "") -> Fleet:
    """All repositories of a lake. `address`: of the lake; empty: the one of the user's settings."""
    return Fleet(open_lake(lake_address(address)))


def ask_fleet(
    fleet: Fleet, question: str, text: str, here: OpenRepository | Path | None, *, access: str = "", depth: int = 1
) -> FleetAnswer:
    """`here`: the repository whose names are meant first, open or as a path in it; None if there is none. `access`:
    `reads` or `writes` of a field."""
    name, package = _named(fleet, question, text, here)
    if question == "callers":
        return fleet_questions.callers(fleet, name, package)
    if question == "implementers":
        return fleet_questions.implementers(fleet, name, package)
    if question == "impact":
        return fleet_questions.impact(fleet, name, package, depth=depth)
    return fleet_questions.users(fleet, name, package, access.removesuffix("s"))


def _named(fleet: Fleet, question: str, text: str, here: OpenRepository | Path | None) -> tuple[str, str]:
    """The qualified name that a text means, and its package: as the repository here knows it, or else the fleet."""
    unclear: UnclearName | None = None
    try:
        if here is not None:
            meaning = _meaning(here, text, _KINDS.get(question, frozenset()))
            if meaning.is_group:
                raise UsageError(f"{meaning.name} has several declarations. With --fleet, name one symbol.")
            return meaning.first.qualified_name, meaning.first.package
    except StoreError:
        pass
    except UnclearName as failure:
        if failure.matches.meanings:
            raise
        unclear = failure
    if fleet.declaration(text) is not None:
        return text, ""
    names = fleet.names_ending(text)
    if len(names) == 1:
        return names[0], ""
    if names:
        raise UsageError(f"{text!r} may mean several symbols of the fleet: {listed(names, _NAMED)}. Give one of them.")
    raise unclear or UsageError(
        f"Nothing in the fleet is named {text!r}. Give its full name, such as github.com/spf13/cobra.Command.Flags."
    )


def _meaning(here: OpenRepository | Path, text: str, kinds: frozenset[str]) -> Meaning:
    if isinstance(here, Path):
        with open_repository(here) as opened:
            return only_meaning(opened, text, kinds)
    return only_meaning(here, text, kinds)
