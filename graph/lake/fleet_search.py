"""Finds declarations of all repositories in a lake by parts of their names. Texts and documents are not searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from golore.graph.lake.fleet import Fleet
from golore.graph.lake.fleet_answers import MemberState
from golore.graph.lake.fleet_questions import member_states

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class FleetHit:
    repository: str
    kind: str
    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class FleetHits:
    """`found`: the number of all declarations that match."""

    query: str
    hits: tuple[FleetHit, ...]
    found: int
    covered: tuple[MemberState, ...]
    unreadable: dict[str, str]
    index_failure: str


def search_names(fleet: Fleet, query: str, *, kind: str, limit: int) -> FleetHits:
    """Exported declarations whose qualified name has all words of the query, the nearest names first."""
    words = query.split()
    rows = [row for row in fleet.declarations(words) if kind in ("", "symbol", row["kind"])]
    ordered = sorted(rows, key=lambda row: (_distance(row["name"], words), row["name"], row["repository"]))
    hits = tuple(FleetHit(**row) for row in ordered[:limit])
    states, unreadable = member_states(fleet), dict(sorted(fleet.unreadable.items()))
    return FleetHits(query, hits, len(ordered), states, unreadable, fleet.index_failure)


def _distance(name: str, words: Sequence[str]) -> tuple[Any, ...]:
    """Small if the words are the last parts of the name; among equals, short names come first."""
    tail = name.rpartition("/")[2]
    last = tail.rpartition(".")[2]
    asked = ".".join(words).lower()
    if asked in (last.lower(), tail.lower()) or f".{tail}".lower().endswith(f".{asked}"):
        rank = 0
    elif last.lower().startswith(asked):
        rank = 1
    else:
        parts = {part.lower() for part in _WORD.findall(tail)}
        rank = 2 if all(word.lower() in parts for word in words) else 3
    return rank, len(tail)
