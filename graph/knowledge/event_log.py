"""Events: what people and agents did with notes, ratings and reviewed summaries, for exchange with a team.

An event is written in the transaction of the action that it records and never changes. Its id is the digest of its
text, so the same event has the same id everywhere, a changed text is noticed, and two people never write one id with
different texts. Sets of events merge by union: `event_replay` derives the tables of notes, ratings and summaries from
them, in whatever order they arrive.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from golore.graph.files.knowledge_db import Knowledge, Transaction

NOTE: Final = "note"
SUPERSEDED: Final = "superseded"
CONFIRMED: Final = "confirmed"
DONE: Final = "done"
FORGOTTEN: Final = "forgotten"
RATED: Final = "rated"
UNRATED: Final = "unrated"
SUMMARY: Final = "summary"
ALL_ITEMS: Final = "*"
"""Subject of an `unrated` event that concerns all items."""
LONGEST: Final = 1 << 20
"""Bytes of the largest event."""
_VERSION: Final = 1
_ID_BYTES: Final = 16
_DEEPEST: Final = 20
"""Every level of a text is indented by one more space."""


class Event(NamedTuple):
    id: str
    kind: str
    subject: str
    """id of a note, item of a rating, or level and subject of a summary"""
    at: str
    text: str
    """JSON, as it is written to a file: `kind`, `subject`, `at`, `golore`, and what belongs to the kind"""

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.text)


def make_event(kind: str, subject: str, at: str, more: Mapping[str, object]) -> Event:
    body = {"golore": _VERSION, "kind": kind, "subject": subject, "at": at, **more}
    text = _text(body)
    return Event(event_id(text), kind, subject, at, text)


def is_canonical(text: str) -> bool:
    """Whether a text is as events are written, and not nested deeper than any of them."""
    try:
        return f"\n{' ' * _DEEPEST}" not in text and _text(json.loads(text)) == text
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError
        return False


def _text(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def event_id(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_ID_BYTES).hexdigest()


def record(run: Transaction, kind: str, subject: str, at: str, more: Mapping[str, object]) -> None:
    """Write an event in the transaction of the action that it records."""
    add_events(run, [make_event(kind, subject, at, more)])


def add_events(run: Transaction, events: Iterable[Event]) -> None:
    run.run_many("INSERT OR IGNORE INTO events(id, kind, subject, at, text) VALUES (?, ?, ?, ?, ?)", events)


def remove_events_of(run: Transaction, subject: str) -> None:
    """Delete all events of a forgotten note, except that it was forgotten."""
    run.run("DELETE FROM events WHERE subject = ? AND kind <> ?", (subject, FORGOTTEN))


def event_ids(knowledge: Knowledge) -> set[str]:
    return {id for (id,) in knowledge.rows("SELECT id FROM events")}


def all_events(knowledge: Knowledge) -> Iterator[Event]:
    """All events, ordered by id."""
    return map(Event._make, knowledge.rows(f"SELECT {_COLUMNS} FROM events ORDER BY id"))


def events_of(run: Transaction, kind: str, subject: str) -> list[Event]:
    """The events of a kind about a subject, oldest first."""
    statement = f"SELECT {_COLUMNS} FROM events WHERE subject = ? AND kind = ? ORDER BY at, id"
    return [Event._make(row) for row in run.rows(statement, (subject, kind))]


_COLUMNS: Final = "id, kind, subject, at, text"
