"""`sync_events`: exchanges notes, ratings and reviewed summaries with a team, through files or keys of events.

Both sides end with the union of their events. What was forgotten here is removed there, and the other way round. An
event whose text contains a secret is not sent. Events of others are checked before anything is written; one that
cannot be used is left where it is, and is named in the messages.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.event_log import FORGOTTEN, Event, all_events, event_ids
from golore.graph.knowledge.event_reading import BadEvent, read_event
from golore.graph.knowledge.event_replay import add_missing_events, add_received
from golore.graph.phrases import counted
from golore.graph.safety.secret_filter import remove_secrets

_NAMED: Final = 5
_MAX_BYTES: Final = 256 << 20
"""Bytes of new events that one exchange reads."""


class EventPlace(Protocol):
    """Where a team keeps its events."""

    @property
    def name(self) -> str: ...

    def ids(self) -> set[str]: ...

    def read(self, id: str) -> bytes: ...

    def write(self, id: str, data: bytes) -> None: ...

    def remove(self, id: str) -> None: ...


class Exchange(NamedTuple):
    """What was exchanged: the number of events received and sent by kind, of events removed there because their note
    was forgotten, and messages."""

    received: dict[str, int]
    sent: dict[str, int]
    removed: int
    messages: tuple[str, ...]


def sync_events(store_directory: Path, place: EventPlace) -> Exchange:
    """Exchange events. An interrupted exchange is completed by the next one."""
    with Knowledge.open(store_directory) as knowledge:
        add_missing_events(knowledge)
        there = place.ids()
        received, messages = _receive(knowledge, place, there)
        sent, held = _send(knowledge, place, there)
        removed = _remove_forgotten(knowledge, place, there)
    if held:
        messages.append(
            f"{counted(held, 'note')} with something that looks like a secret stayed here. Supersede each with one "
            "without it, and forget the old one."
        )
    return Exchange(received, sent, removed, tuple(messages))


def _receive(knowledge: Knowledge, place: EventPlace, there: set[str]) -> tuple[dict[str, int], list[str]]:
    events: list[Event] = []
    messages: list[str] = []
    bad = size = 0
    for id in sorted(there - event_ids(knowledge)):
        try:
            data = place.read(id)
            events.append(read_event(id, data))
        except (BadEvent, OSError) as failure:
            bad += 1
            reason = str(failure) if isinstance(failure, BadEvent) else "cannot be read"
            if bad <= _NAMED:
                messages.append(f"{id}.json in {place.name} {reason}, so it was left out.")
            continue
        size += len(data)
        if size > _MAX_BYTES:
            messages.append(f"{place.name} has more than {_MAX_BYTES >> 20} MB of new events. Run this again.")
            break
    if bad > _NAMED:
        messages.append(f"{counted(bad - _NAMED, 'more event')} could not be used.")
    add_received(knowledge, events)
    return dict(Counter(event.kind for event in events)), messages


def _send(knowledge: Knowledge, place: EventPlace, there: set[str]) -> tuple[dict[str, int], int]:
    """Write the events that are not there. Returns their numbers, and of those held back because of a secret."""
    sent: Counter[str] = Counter()
    held = 0
    for event in all_events(knowledge):
        if event.id in there:
            continue
        if remove_secrets(str(event.body.get("text", ""))).removed:
            held += 1
            continue
        place.write(event.id, event.text.encode())
        sent[event.kind] += 1
    return dict(sent), held


def _remove_forgotten(knowledge: Knowledge, place: EventPlace, there: set[str]) -> int:
    """Remove the events of forgotten notes, so that their text is nowhere."""
    known = {event.id: event for event in all_events(knowledge)}
    forgotten = {event.subject for event in known.values() if event.kind == FORGOTTEN}
    removed = 0
    for id in sorted(there - known.keys()) if forgotten else ():
        try:
            event = read_event(id, place.read(id))
        except (BadEvent, OSError):
            continue
        if event.subject in forgotten:
            place.remove(id)
            removed += 1
    return removed
