"""Reads events that other people wrote: the text of an event is used only if it is what golore would have written.

Its text must have the digest that its id says, its fields must have the right types, and its paths must stay inside the
repository. Nothing is stored here: see `event_replay`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

import msgspec
from golore.graph.errors import UsageError
from golore.graph.knowledge import event_log
from golore.graph.knowledge.event_log import Event, event_id, is_canonical
from golore.graph.knowledge.notes import KINDS, checked_text, cleaned
from golore.graph.knowledge.summaries import LEVELS, REVIEWED, SOURCES

_HEX: Final = frozenset("0123456789abcdef")
_LONGEST_NAME: Final = 2_000


class BadEvent(Exception):
    """The text of an event cannot be used. The message says why, as the end of a sentence."""


class _Head(msgspec.Struct):
    golore: int
    kind: str
    subject: str
    at: str


class _Pinned(msgspec.Struct):
    """The fields of `Anchor`."""

    level: str
    target: str
    name: str
    card_path: str
    home_level: str
    home: str
    home_name: str
    file: str
    written: str
    now: str
    body: str
    size: int
    names: int
    evidence: str
    fate: str
    signature: str


class NoteBody(msgspec.Struct):
    note: str
    text: str
    about: str
    author: str
    source: str
    tags: list[str]
    anchor: _Pinned
    lookalikes: list[str]


class _Superseded(msgspec.Struct):
    by: str


class _Confirmed(msgspec.Struct):
    home: str
    file: str
    written: str


class RatedBody(msgspec.Struct):
    useful: bool
    by: str


class SummaryBody(msgspec.Struct):
    id: str
    level: str
    text: str
    quality: str
    source: str
    model: str
    prompt: str
    inputs: str
    supersedes: str
    parts: list[tuple[str, str, str, str]]


class _Nothing(msgspec.Struct):
    pass


_BODIES: Final[dict[str, type[msgspec.Struct]]] = {
    event_log.NOTE: NoteBody,
    event_log.SUPERSEDED: _Superseded,
    event_log.CONFIRMED: _Confirmed,
    event_log.DONE: _Nothing,
    event_log.FORGOTTEN: _Nothing,
    event_log.RATED: RatedBody,
    event_log.UNRATED: _Nothing,
    event_log.SUMMARY: SummaryBody,
}


def read_event(id: str, data: bytes) -> Event:
    """The event with this id, from the bytes of its file. Raises `BadEvent`."""
    if len(data) > event_log.LONGEST:
        raise BadEvent(f"has more than {event_log.LONGEST:,} bytes")
    try:
        text = data.decode()
        head = msgspec.json.decode(data, type=_Head)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as failure:
        raise BadEvent("is not an event") from failure
    if event_id(text) != id:
        raise BadEvent("was changed after it was written; an event never changes")
    if head.golore != 1 or head.kind not in _BODIES:
        raise BadEvent("was written by a newer golore; upgrade to read it")
    if not is_canonical(text):
        # Otherwise the same event could have several texts, and what reads it later could fail.
        raise BadEvent("is not written as golore writes events")
    event = Event(id, head.kind, head.subject, head.at, text)
    _check(event, body_of(event))
    return event


def body_of(event: Event) -> msgspec.Struct:
    """The fields of an event that belong to its kind."""
    try:
        return msgspec.json.decode(event.text, type=_BODIES[event.kind])
    except msgspec.DecodeError as failure:
        raise BadEvent("is not an event") from failure


def _check(event: Event, body: msgspec.Struct) -> None:
    is_about_note = event.kind in (
        event_log.NOTE,
        event_log.SUPERSEDED,
        event_log.CONFIRMED,
        event_log.DONE,
        event_log.FORGOTTEN,
    )
    texts: list[str] = [event.subject, event.at]
    paths: list[str] = []
    is_right = not is_about_note or _is_id(event.subject)
    if isinstance(body, NoteBody):
        anchor = body.anchor
        texts += [body.about, body.author, body.source, *body.tags, *body.lookalikes]
        texts += [value for value in msgspec.to_builtins(anchor).values() if isinstance(value, str)]
        paths += [anchor.card_path, anchor.file]
        is_right = is_right and body.note in KINDS and {anchor.level, anchor.home_level} <= set(LEVELS)
        is_right = is_right and 0 <= anchor.size < 1 << 40 and 0 <= anchor.names < 1 << 40
        try:
            is_right = is_right and checked_text(body.text) == body.text
        except UsageError as failure:
            raise BadEvent("has no text, or one that is too long") from failure
    elif isinstance(body, _Superseded):
        is_right = is_right and _is_id(body.by)
    elif isinstance(body, _Confirmed):
        texts += [body.home, body.file, body.written]
        paths += [body.file]
    elif isinstance(body, RatedBody):
        texts += [body.by]
    elif isinstance(body, SummaryBody):
        texts += [body.id, body.text, body.model, body.prompt, body.inputs, body.supersedes]
        texts += [text for part in body.parts for text in part]
        paths += [part[2] for part in body.parts]
        is_right = body.level in LEVELS and body.quality == REVIEWED and body.source in SOURCES
    if not is_right or not all(map(_is_plain, texts)) or not all(map(_is_inside, paths)) or not _is_time(event.at):
        raise BadEvent("has fields that no golore writes")


def _is_id(text: str) -> bool:
    return 8 <= len(text) <= 64 and set(text) <= _HEX


def _is_plain(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and cleaned(text) == text and "\n" not in text


def _is_inside(path: str) -> bool:
    """Whether a path stays inside the repository."""
    return not path.startswith(("/", "~")) and "\\" not in path and ".." not in PurePosixPath(path).parts


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
