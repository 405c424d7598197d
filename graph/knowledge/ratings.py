"""What people and agents found useful of what they were shown, or not, and how much that moves it in a search.

A rating is about a file, a symbol or a note, by its path, qualified name or id. It counts half after two months; all
that was said of one thing together moves it by less than a third, up or down; and it can be looked at and taken back.
The ratings are kept in `knowledge.db`; the search index has a copy for the hook, which reads nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from golore.graph.files.knowledge_db import Knowledge

LARGEST: Final = 0.3
HALF_LIFE: Final = 60 * 86_400
_FORGOTTEN: Final = 12
"""Half-lives after which a rating is dropped when another one is given."""


class Rating(NamedTuple):
    item: str
    useful: bool
    at: str
    by: str


class RatedItem(NamedTuple):
    """How something was rated all in all. `worth` is what its score is raised by, at most `LARGEST` either way."""

    item: str
    worth: float
    useful: int
    useless: int


def rate(knowledge: Knowledge, item: str, *, useful: bool, by: str = "", now: datetime | None = None) -> RatedItem:
    """Note that something was useful, or not; how it stands then."""
    moment = now or datetime.now(UTC)
    with knowledge.transaction() as run:
        row = (item, useful, moment.isoformat(timespec="seconds"), " ".join(by.split())[:80])
        run.run("INSERT INTO ratings(item, useful, at, by) VALUES (?, ?, ?, ?)", row)
        for number, at in list(run.rows("SELECT number, at FROM ratings")):
            if _age(at, moment) > _FORGOTTEN * HALF_LIFE:
                run.run("DELETE FROM ratings WHERE number = ?", (number,))
    return next(one for one in rated_items(knowledge, now=moment) if one.item == item)


def take_back(knowledge: Knowledge, item: str = "") -> int:
    """Forget what was said of one thing, or of everything; how many ratings that were."""
    with knowledge.transaction() as run:
        return run.run("DELETE FROM ratings WHERE item = ?", (item,)) if item else run.run("DELETE FROM ratings")


def ratings(knowledge: Knowledge) -> Iterator[Rating]:
    """All of them, the newest first."""
    for item, useful, at, by in knowledge.rows("SELECT item, useful, at, by FROM ratings ORDER BY number DESC"):
        yield Rating(item, bool(useful), at, by)


def rated_items(knowledge: Knowledge, *, now: datetime | None = None) -> list[RatedItem]:
    """Of all that was rated, what stands highest first."""
    moment = now or datetime.now(UTC)
    sums: defaultdict[str, float] = defaultdict(float)
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in ratings(knowledge):
        sums[one.item] += (1 if one.useful else -1) * 0.5 ** (max(0.0, _age(one.at, moment)) / HALF_LIFE)
        counts[one.item][0 if one.useful else 1] += 1
    found = [RatedItem(item, _bounded(value), *counts[item]) for item, value in sums.items()]
    return sorted(found, key=lambda one: (-one.worth, one.item))


def favours(knowledge: Knowledge, *, now: datetime | None = None) -> dict[str, float]:
    """By item, what its score is raised by."""
    return {one.item: one.worth for one in rated_items(knowledge, now=now)}


def _bounded(value: float) -> float:
    return round(LARGEST * value / (1 + abs(value)), 4)


def _age(at: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(at)).total_seconds()
