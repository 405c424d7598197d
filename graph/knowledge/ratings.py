"""Ratings: what people and agents found useful or not, and how much that changes its score in a search.

A rating is about a file, a symbol or a note, named by path, qualified name or id. It counts half after two months. A
summary that is rated as useless is rejected (see `NOT_REJECTED`). All
ratings of one item together change its score by less than a third, up or down. Ratings can be listed and taken back.
They are stored in `knowledge.db`; the search index has a copy for the hook, which reads nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge import event_log

LARGEST: Final = 0.3
"""Bound of the change of a score, as a share of it."""
HALF_LIFE: Final = 60 * 86_400
"""Seconds after which a rating counts half."""
_MAX_HALF_LIVES: Final = 12
"""A rating older than this is deleted when another one is stored."""

SUMMARY_ITEM: Final = "summary "
"""The item of a rating of a summary: this and the id of the summary."""
NOT_REJECTED: Final = (
    f"NOT EXISTS (SELECT 1 FROM ratings WHERE ratings.item = '{SUMMARY_ITEM}' || summaries.id AND NOT ratings.useful)"
)
"""Condition for rows of `summaries`. Rejections are ratings, because those are shared and exported, and can be
taken back."""


class Rating(NamedTuple):
    item: str
    useful: bool
    at: str
    by: str


class RatedItem(NamedTuple):
    """All ratings of one item. Its score is multiplied by 1 + `worth`, which is less than `LARGEST` either way."""

    item: str
    worth: float
    useful: int
    useless: int


def rate(knowledge: Knowledge, item: str, *, useful: bool, by: str = "", now: datetime | None = None) -> RatedItem:
    """Store a rating, and return all ratings of the item together."""
    moment = now or datetime.now(UTC)
    with knowledge.transaction() as run:
        row = (item, useful, moment.isoformat(timespec="seconds"), " ".join(by.split())[:80])
        run.run("INSERT INTO ratings(item, useful, at, by) VALUES (?, ?, ?, ?)", row)
        event_log.record(run, event_log.RATED, item, row[2], {"useful": useful, "by": row[3]})
        for number, at in list(run.rows("SELECT number, at FROM ratings")):
            if is_expired(at, moment):
                run.run("DELETE FROM ratings WHERE number = ?", (number,))
    return next(one for one in rated_items(knowledge, now=moment) if one.item == item)


def remove_ratings(knowledge: Knowledge, item: str = "") -> int:
    """Delete the ratings of one item, or all if `item` is empty. Returns their number."""
    with knowledge.transaction() as run:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        event_log.record(run, event_log.UNRATED, item or event_log.ALL_ITEMS, at, {})
        return run.run("DELETE FROM ratings WHERE item = ?", (item,)) if item else run.run("DELETE FROM ratings")


def is_expired(at: str, now: datetime) -> bool:
    return _age(at, now) > _MAX_HALF_LIVES * HALF_LIFE


def ratings(knowledge: Knowledge) -> Iterator[Rating]:
    """All ratings, the newest first."""
    for item, useful, at, by in knowledge.rows("SELECT item, useful, at, by FROM ratings ORDER BY number DESC"):
        yield Rating(item, bool(useful), at, by)


def rated_items(knowledge: Knowledge, *, now: datetime | None = None) -> list[RatedItem]:
    """All rated items, the highest `worth` first."""
    moment = now or datetime.now(UTC)
    sums: defaultdict[str, float] = defaultdict(float)
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for rating in ratings(knowledge):
        sums[rating.item] += (1 if rating.useful else -1) * 0.5 ** (max(0.0, _age(rating.at, moment)) / HALF_LIFE)
        counts[rating.item][0 if rating.useful else 1] += 1
    found = [RatedItem(item, _bounded(value), *counts[item]) for item, value in sums.items()]
    return sorted(found, key=lambda one: (-one.worth, one.item))


def score_changes(knowledge: Knowledge, *, now: datetime | None = None) -> dict[str, float]:
    """Item → `worth`, for all rated items."""
    return {one.item: one.worth for one in rated_items(knowledge, now=now)}


def _bounded(value: float) -> float:
    return round(LARGEST * value / (1 + abs(value)), 4)


def _age(at: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(at)).total_seconds()
