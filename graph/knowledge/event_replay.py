"""Applies received events to the tables of notes, ratings and summaries, and makes events of what is older than them.

Applying is repeatable and does not depend on the order: a note exists if its event is there and it was not forgotten, a
task is done since the earliest `done`, a note is confirmed by the latest `confirmed`, and a rating counts unless a
later `unrated` removed it. Where a note belongs in this checkout is found by the next learn, as for notes of other
worktrees.

Events of other people come through `event_reading`, which checks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.files.shared_knowledge import CARD
from golore.graph.knowledge import event_log
from golore.graph.knowledge.event_log import ALL_ITEMS, Event, add_events, events_of, make_event
from golore.graph.knowledge.event_reading import NoteBody, RatedBody, SummaryBody, body_of
from golore.graph.knowledge.notes import (
    Anchor,
    checked_text,
    next_revision,
    note_event_parts,
    put_anchor,
    remove_note,
)
from golore.graph.knowledge.ratings import is_expired
from golore.graph.knowledge.summaries import (
    REVIEWED,
    SOURCES,
    SummaryRecord,
    record_change,
    summary_event_parts,
    update_parents,
)


def add_received(knowledge: Knowledge, events: Iterable[Event]) -> None:
    """Store the events that are not known yet and apply them, in one transaction."""
    with knowledge.transaction() as run:
        known = {id for (id,) in run.rows("SELECT id FROM events")}
        new = [event for event in events if event.id not in known]
        add_events(run, new)
        if new:
            _Replay(run).apply(new)


def add_missing_events(knowledge: Knowledge) -> None:
    """Make events of the notes, ratings and reviewed summaries that were written before there were events."""
    with knowledge.transaction() as run:
        missing = [*_missing_note_events(run), *_missing_rating_events(run), *_missing_summary_events(run)]
        add_events(run, missing)


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
        body = body_of(event)
        assert isinstance(body, NoteBody)
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
        body = body_of(event)
        assert isinstance(body, RatedBody)
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
        body = body_of(event)
        assert isinstance(body, SummaryBody)
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


def _is_better(body: SummaryBody, at: str, source: str, created: str, doubt: str, inputs: str) -> bool:
    ranks = SOURCES.index(body.source), SOURCES.index(source)
    return ranks[0] > ranks[1] or (ranks[0] == ranks[1] and at >= created and (doubt != "" or body.inputs == inputs))


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
    # Not by id: the event of a newer golore may say more.
    known: set[tuple[str, bool, str, str]] = set()
    for item, at, text in run.rows("SELECT subject, at, text FROM events WHERE kind = ?", (event_log.RATED,)):
        body = json.loads(text)
        known.add((item, body["useful"], at, body["by"]))
    for item, useful, at, by in list(run.rows("SELECT item, useful, at, by FROM ratings ORDER BY number")):
        if (item, bool(useful), at, by) not in known:
            yield make_event(event_log.RATED, item, at, {"useful": bool(useful), "by": by})


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
