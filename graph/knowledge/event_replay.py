"""Applies received events to the tables of notes, ratings and summaries, and makes events of what is older than them.

Applying is repeatable and does not depend on the order: a note exists if its event is there and it was not forgotten, a
task is done since the earliest `done`, a note is confirmed by the latest `confirmed`, and a rating counts unless a
later `unrated` removed it. Where a note belongs in this checkout is found by the next learn, as for notes of other
worktrees.

Events come from other people, so each is checked before anything is written: its text is what its id says, its fields
have the right types, and its paths stay inside the repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.files.shared_knowledge import CARD
from golore.graph.knowledge import event_log
from golore.graph.knowledge.event_log import ALL_ITEMS, Event, add_events, event_id, events_of, make_event
from golore.graph.knowledge.notes import (
    KINDS,
    Anchor,
    checked_text,
    cleaned,
    next_revision,
    note_event_parts,
    put_anchor,
    remove_note,
)
from golore.graph.knowledge.ratings import is_expired
from golore.graph.knowledge.summaries import (
    LEVELS,
    REVIEWED,
    SOURCES,
    SummaryRecord,
    record_change,
    summary_event_parts,
    update_parents,
)

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


class _Note(msgspec.Struct):
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


class _Rated(msgspec.Struct):
    useful: bool
    by: str


class _Summary(msgspec.Struct):
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
    event_log.NOTE: _Note,
    event_log.SUPERSEDED: _Superseded,
    event_log.CONFIRMED: _Confirmed,
    event_log.DONE: _Nothing,
    event_log.FORGOTTEN: _Nothing,
    event_log.RATED: _Rated,
    event_log.UNRATED: _Nothing,
    event_log.SUMMARY: _Summary,
}


def read_event(id: str, data: bytes) -> Event:
    """The event with this id, from the bytes of its file. Raises `BadEvent`."""
    if len(data) > event_log.LONGEST:
        raise BadEvent(f"has more than {event_log.LONGEST:,} bytes")
    try:
        text = data.decode()
        head = msgspec.json.decode(data, type=_Head)
    except (UnicodeDecodeError, msgspec.DecodeError) as failure:
        raise BadEvent("is not an event") from failure
    if event_id(text) != id:
        raise BadEvent("was changed after it was written; an event never changes")
    if head.golore != 1 or head.kind not in _BODIES:
        raise BadEvent("was written by a newer golore; upgrade to read it")
    event = Event(id, head.kind, head.subject, head.at, text)
    _check(event, _body(event))
    return event


def add_received(knowledge: Knowledge, events: Iterable[Event]) -> int:
    """Store events and apply them, in one transaction. Returns the number of those that were not known."""
    with knowledge.transaction() as run:
        known = {id for (id,) in run.rows("SELECT id FROM events")}
        new = [event for event in events if event.id not in known]
        add_events(run, new)
        if new:
            _Replay(run).apply(new)
    return len(new)


def add_missing_events(knowledge: Knowledge) -> int:
    """Make events of the notes, ratings and reviewed summaries that were written before there were events. Returns
    their number."""
    with knowledge.transaction() as run:
        missing = [*_missing_note_events(run), *_missing_rating_events(run), *_missing_summary_events(run)]
        add_events(run, missing)
    return len(missing)


class _Replay:
    def __init__(self, run: Transaction) -> None:
        self._run = run
        self._revision = next_revision(run)
        self._now = datetime.now(UTC)

    def apply(self, events: Sequence[Event]) -> None:
        kinds: dict[str, list[Event]] = {}
        for event in sorted(events, key=lambda one: (one.at, one.id)):
            kinds.setdefault(event.kind, []).append(event)
        for event in kinds.get(event_log.FORGOTTEN, ()):
            self._list_card(event.subject)
            remove_note(self._run, event.subject, self._revision)
        for event in kinds.get(event_log.NOTE, ()):
            self._add_note(event)
        self._add_successions()
        touched = {
            event.subject
            for kind in (event_log.NOTE, event_log.CONFIRMED, event_log.DONE)
            for event in kinds.get(kind, ())
        }
        for note in sorted(touched):
            self._update_note(note)
        for event in (*kinds.get(event_log.UNRATED, ()), *kinds.get(event_log.RATED, ())):
            self._apply_rating(event)
        for event in kinds.get(event_log.SUMMARY, ()):
            self._add_summary(event)
        # What was said about a forgotten note, by somebody who did not know that.
        forgotten = "subject IN (SELECT id FROM forgotten_notes) AND kind <> ?"
        self._run.run(f"DELETE FROM events WHERE {forgotten}", (event_log.FORGOTTEN,))

    def _has(self, statement: str, *values: object) -> bool:
        return bool(next(self._run.rows(f"SELECT EXISTS ({statement})", values))[0])

    def _is_note(self, id: str) -> bool:
        return self._has("SELECT 1 FROM notes WHERE id = ?", id)

    def _list_card(self, note: str) -> None:
        """Let the next learn rebuild the card that shows a note."""
        statement = f"INSERT OR IGNORE INTO received_state SELECT '{CARD}', place FROM note_anchors WHERE note = ?"
        self._run.run(statement, (note,))

    def _add_note(self, event: Event) -> None:
        id = event.subject
        if self._is_note(id):
            return
        if self._has("SELECT 1 FROM forgotten_notes WHERE id = ?", id):
            return
        body = _body(event)
        assert isinstance(body, _Note)
        row = (id, body.note, checked_text(body.text), body.about, body.author, body.source)
        tags = json.dumps(sorted(set(body.tags)), ensure_ascii=False)
        values = (*row, event.at, event.at, tags, self._revision)
        self._run.run("INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,'',?)", values)
        # Without the digest of the file that was seen elsewhere, the next learn looks for the code here.
        put_anchor(self._run, id, Anchor(**msgspec.to_builtins(body.anchor), seen=""))
        lookalikes = ((id, other) for other in body.lookalikes)
        self._run.run_many("INSERT OR IGNORE INTO note_lookalikes VALUES (?,?)", lookalikes)
        self._list_card(id)

    def _add_successions(self) -> None:
        """Add the pairs of which both notes are here; one of them may have arrived before the other."""
        statement = "SELECT subject, text FROM events WHERE kind = ? ORDER BY at, id"
        for older, text in list(self._run.rows(statement, (event_log.SUPERSEDED,))):
            newer = json.loads(text)["by"]
            if newer != older and self._is_note(newer) and self._is_note(older):
                pair = (newer, older)
                if self._run.run("INSERT OR IGNORE INTO note_successions VALUES (?,?)", pair) > 0:
                    self._run.run("UPDATE notes SET revision = ? WHERE id IN (?,?)", (self._revision, *pair))
                    self._list_card(older)

    def _update_note(self, note: str) -> None:
        if not self._is_note(note):
            return
        done = [event.at for event in events_of(self._run, event_log.DONE, note)]
        confirmations = events_of(self._run, event_log.CONFIRMED, note)
        (confirmed,) = next(self._run.rows("SELECT confirmed FROM notes WHERE id = ?", (note,)))
        latest = max([confirmed, *(event.at for event in confirmations)])
        values = (min(done, default=""), latest, self._revision, note)
        self._run.run("UPDATE notes SET done = ?, confirmed = ?, revision = ? WHERE id = ?", values)
        for event in confirmations:
            body = event.body
            if body["written"]:
                self._run.run("INSERT OR IGNORE INTO note_holds VALUES (?,?)", (note, body["written"]))
            here = "SELECT 1 FROM note_anchors WHERE note = ? AND home = ?"
            if body["home"] and not self._has(here, note, body["home"]):
                trail = (note, body["home"], body["file"])
                self._run.run("INSERT OR IGNORE INTO note_trail VALUES (?,?,?)", trail)
        self._list_card(note)

    def _apply_rating(self, event: Event) -> None:
        if event.kind == event_log.UNRATED:
            item = None if event.subject == ALL_ITEMS else event.subject
            condition = "at <= ? AND (? IS NULL OR item = ?)"
            self._run.run(f"DELETE FROM ratings WHERE {condition}", (event.at, item, item))
            return
        body = _body(event)
        assert isinstance(body, _Rated)
        row = (event.subject, body.useful, event.at, body.by)
        removed = "SELECT 1 FROM events WHERE kind = ? AND subject IN (?, ?) AND at >= ?"
        known = "SELECT 1 FROM ratings WHERE item = ? AND useful = ? AND at = ? AND by = ?"
        if is_expired(event.at, self._now) or self._has(known, *row):
            return
        if not self._has(removed, event_log.UNRATED, event.subject, ALL_ITEMS, event.at):
            self._run.run("INSERT INTO ratings(item, useful, at, by) VALUES (?, ?, ?, ?)", row)

    def _add_summary(self, event: Event) -> None:
        """Store a reviewed text. It becomes the current one if it is from a better source than the local one, or newer
        from an equal source; a local text that is true of this checkout stays unless both have the same inputs."""
        body = _body(event)
        assert isinstance(body, _Summary)
        run, key = self._run, (body.level, event.subject)
        if self._has("SELECT 1 FROM summaries WHERE id = ?", body.id):
            return
        statement = (
            "SELECT id, source, created, doubt, inputs FROM summaries WHERE level = ? AND subject = ? AND current"
        )
        last = next(run.rows(statement, key), None)
        is_current = last is None or _is_better(body, event.at, *last[1:])
        if last is not None and is_current:
            run.run("UPDATE summaries SET current = 0, doubt = '', reason = '' WHERE id = ?", (last[0],))
            run.run("DELETE FROM summary_parts WHERE summary = ?", (last[0],))
        is_continued = self._has("SELECT 1 FROM summaries WHERE supersedes = ?", body.supersedes)
        values = (body.id, event.subject, body.level, body.text, body.quality, body.source, body.model, body.prompt)
        more = (body.inputs, event.at, "" if is_continued else body.supersedes, is_current)
        run.run(
            "INSERT INTO summaries(id, subject, level, text, quality, source, model, prompt, inputs, created, "
            "supersedes, current, doubt, reason) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,'','')",
            (*values, *more),
        )
        if not is_current:
            return
        parts = ((body.id, *part, part[-1]) for part in body.parts)
        run.run_many("INSERT OR IGNORE INTO summary_parts VALUES (?,?,?,?,?,?)", parts)
        # The next learn compares the inputs of the text with the code of this checkout.
        run.run_many("DELETE FROM summary_places WHERE place = ?", {(part[2],) for part in body.parts})
        run.run("INSERT OR IGNORE INTO received_state VALUES (?, ?)", key)
        update_parents(run, SummaryRecord(*values, *more, doubt="", reason=""))
        record_change(run)


def _is_better(body: _Summary, at: str, source: str, created: str, doubt: str, inputs: str) -> bool:
    ranks = SOURCES.index(body.source), SOURCES.index(source)
    return ranks[0] > ranks[1] or (ranks[0] == ranks[1] and at >= created and (doubt != "" or body.inputs == inputs))


def _body(event: Event) -> msgspec.Struct:
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
    if isinstance(body, _Note):
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
    elif isinstance(body, _Rated):
        texts += [body.by]
    elif isinstance(body, _Summary):
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


def _missing_note_events(run: Transaction) -> Iterator[Event]:
    known = {(kind, subject) for kind, subject in run.rows("SELECT kind, subject FROM events")}
    columns = ", ".join(f"a.{'place' if name == 'card_path' else name}" for name in Anchor._fields)
    statement = (
        "SELECT n.id, n.kind, n.text, n.subject, n.author, n.source, n.created, n.tags, n.done, n.confirmed, "
        f"{columns} FROM notes n JOIN note_anchors a ON a.note = n.id ORDER BY n.id"
    )
    for row in list(run.rows(statement)):
        id, created, tags, done, confirmed, anchor = row[0], row[6], row[7], row[8], row[9], Anchor._make(row[10:])
        if (event_log.NOTE, id) not in known:
            others = [other for (other,) in run.rows("SELECT other FROM note_lookalikes WHERE note = ?", (id,))]
            yield make_event(*note_event_parts(row[:6], created, json.loads(tags), anchor, others))
        if done and (event_log.DONE, id) not in known:
            yield make_event(event_log.DONE, id, done, {})
        if confirmed != created and (event_log.CONFIRMED, id) not in known:
            pinned = {"home": anchor.home, "file": anchor.file, "written": anchor.written}
            yield make_event(event_log.CONFIRMED, id, confirmed, pinned)
    pairs = {(json.loads(text)["by"], older) for older, text in run.rows(_SUBJECT_AND_TEXT, (event_log.SUPERSEDED,))}
    successions = (
        "SELECT s.newer, s.older, n.created FROM note_successions s JOIN notes n ON n.id = s.newer ORDER BY 1, 2"
    )
    for newer, older, created in list(run.rows(successions)):
        if (newer, older) not in pairs:
            yield make_event(event_log.SUPERSEDED, older, created, {"by": newer})


def _missing_rating_events(run: Transaction) -> Iterator[Event]:
    known = {id for (id,) in run.rows("SELECT id FROM events WHERE kind = ?", (event_log.RATED,))}
    for item, useful, at, by in list(run.rows("SELECT item, useful, at, by FROM ratings ORDER BY number")):
        event = make_event(event_log.RATED, item, at, {"useful": bool(useful), "by": by})
        if event.id not in known:
            yield event


def _missing_summary_events(run: Transaction) -> Iterator[Event]:
    known = {json.loads(text)["id"] for _, text in run.rows(_SUBJECT_AND_TEXT, (event_log.SUMMARY,))}
    names = ", ".join(SummaryRecord._fields)
    for row in list(run.rows(f"SELECT {names} FROM summaries WHERE quality = ? AND current", (REVIEWED,))):
        record = SummaryRecord(*row)
        if record.id not in known:
            statement = "SELECT kind, subject, place, digest FROM summary_parts WHERE summary = ? ORDER BY 1, 2"
            parts: list[tuple[Any, ...]] = list(run.rows(statement, (record.id,)))
            yield make_event(*summary_event_parts(record, parts))


_SUBJECT_AND_TEXT: Final = "SELECT subject, text FROM events WHERE kind = ?"
