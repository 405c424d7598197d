"""Notes that people and agents pinned to code, as `knowledge.db` stores them.

A note is never edited. A newer one may supersede it, which keeps both; forgetting a note deletes it for good. A note's
anchor says where the note belongs, and whether the code is still what the note was written about.
`golore.learner.derived.note_step` moves anchors with the code; `graph.cards.annotations` puts notes on cards.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import product
from typing import Any, Final, NamedTuple

from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.knowledge import event_log

KINDS: Final = ("invariant", "decision", "convention", "correction", "incident", "task", "note")
"""The kinds of notes, the most binding first."""
DRIFTED: Final = "written before the last change"
LONGEST_TEXT: Final = 4_000
_ID_BYTES: Final = 8
"""Ids do not collide in a team: with a million notes, by less than one in ten million."""
_MIN_SIMILARITY: Final = 0.6
"""Two notes are similar from this share of equal words, in their order."""


class Anchor(NamedTuple):
    """Where a note belongs. `home` is the code that it was written about. `target` is `home`, or if that is gone, the
    nearest node around it that is left.

    `written` is the digest of the code when the note was written or last confirmed, empty if that is not known yet;
    `now` is the digest when the code was last seen. Those of a symbol ignore names and white space (see
    `code_fingerprint`).
    """

    level: str
    """symbol, file, package or repository"""
    target: str
    """id of the node that the note describes now"""
    name: str
    card_path: str
    """the card that shows it: a file's path, "dir/" of a package, empty for the repository"""
    home_level: str
    home: str
    home_name: str
    file: str
    """where home was last seen: the file's path, or "dir/" of a package"""
    written: str = ""
    now: str = ""
    body: str = ""
    """digest by which the code is recognized after a move; empty if too much code is like it"""
    size: int = 0
    names: int = 0
    """bytes of the code without its own name, and the number of occurrences of that name"""
    seen: str = ""
    """digest of the file when it was last checked"""
    evidence: str = "named"
    """how it is known that the note belongs there: `named`, `same name`, `same body` or `what is left`"""
    fate: str = ""
    """what happened to home, if it is gone"""
    signature: str = ""
    """kind of the declaration and the end of its signature after its name: selects where to look for it"""

    @property
    def drifted(self) -> str:
        """What happened to the code since the note was written; empty if nothing did."""
        return self.fate or (DRIFTED if self.written and self.now != self.written else "")


_ANCHOR_COLUMNS: Final = tuple("place" if name == "card_path" else name for name in Anchor._fields)
"""Columns of `note_anchors`, in the order of the fields. The column of `card_path` has its older name, `place`."""


class PinnedNote(NamedTuple):
    """A stored note with its anchor. Times are UTC, as in 2026-11-16T09:30:00Z."""

    id: str
    kind: str
    text: str
    subject: str
    """name, at that time, of what it was pinned to"""
    author: str
    source: str
    """`person`, or the name of the model that wrote it"""
    created: str
    confirmed: str
    tags: tuple[str, ...]
    done: str
    """when the task was done, otherwise empty"""
    newer: str
    """id of the note that supersedes it, or empty; of several, separated by commas"""
    anchor: Anchor

    @property
    def status(self) -> str:
        return "superseded" if self.newer else "done" if self.done else "active"


class NewNote(NamedTuple):
    """A note before it is stored. `lookalikes` are ids of other code with the same text: when the note's code is gone,
    it is not taken to have moved there."""

    kind: str
    text: str
    author: str
    anchor: Anchor
    source: str = "person"
    tags: tuple[str, ...] = ()
    supersedes: str = ""
    lookalikes: tuple[str, ...] = ()
    created: str = ""


def now_text(moment: datetime | None = None) -> str:
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def checked_text(text: str) -> str:
    """A note's text as it is stored. Raises `UsageError` if it is empty or too long."""
    text = cleaned(text).strip()
    if not text:
        raise UsageError("The note has no text. Write what should be known about the code.")
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"The note has {len(text):,} characters; the limit is {LONGEST_TEXT:,}. Shorten it.")
    return text


def cleaned(text: str) -> str:
    """Replace what was not UTF-8 by U+FFFD, and characters that control a terminal or hide words by spaces."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def write_notes(knowledge: Knowledge, notes: Iterable[NewNote]) -> list[str]:
    """Store notes and return their ids. When this returns, they are on the disk."""
    ids: list[str] = []
    with knowledge.transaction() as run:
        revision = next_revision(run)
        for note in notes:
            if note.kind not in KINDS:
                raise UsageError(f"There is no kind {note.kind!r}. Use one of {', '.join(KINDS)}.")
            id = secrets.token_hex(_ID_BYTES)
            created = note.created or now_text()
            tags = json.dumps(sorted(set(note.tags)), ensure_ascii=False)
            row = (id, note.kind, checked_text(note.text), note.anchor.name, note.author, note.source)
            run.run("INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,'',?)", (*row, created, created, tags, revision))
            put_anchor(run, id, note.anchor)
            run.run_many("INSERT INTO note_lookalikes VALUES (?,?)", ((id, other) for other in note.lookalikes))
            event_log.record(run, *note_event_parts(row, created, json.loads(tags), note.anchor, note.lookalikes))
            if note.supersedes:
                _supersede(run, id, note.supersedes, revision)
            ids.append(id)
    return ids


def note_event_parts(
    row: tuple[str, ...], created: str, tags: Sequence[str], anchor: Anchor, lookalikes: Sequence[str]
) -> tuple[str, str, str, dict[str, object]]:
    """Kind, subject, time and rest of the event of a note: its row up to `source`, and where it was pinned."""
    id, kind, text, subject, author, source = row
    more: dict[str, object] = {"note": kind, "text": text, "about": subject, "author": author, "source": source}
    pinned = anchor._replace(seen="")._asdict()
    more |= {"tags": list(tags), "anchor": pinned, "lookalikes": sorted(lookalikes)}
    return event_log.NOTE, id, created, more


def supersede(knowledge: Knowledge, newer: str, older: str) -> None:
    """Let one note supersede another, which is kept. Raises `UsageError` if `older` supersedes `newer` in the same
    chain, or if a third note supersedes `older` already."""
    with knowledge.transaction() as run:
        if newer in _older_than(run, older) or newer == older:
            raise UsageError(f"{newer} is older than {older} in the same chain. Swap them.")
        revision = next_revision(run)
        _supersede(run, newer, older, revision)
        run.run("UPDATE notes SET revision = ? WHERE id = ?", (revision, newer))


def confirm(knowledge: Knowledge, id: str, anchor: Anchor, lookalikes: Sequence[str] = (), *, now: str = "") -> None:
    """Record that a note still holds for the code as it is; `anchor` and `lookalikes` replace the stored ones. Previous
    homes are kept: the code as it is may be that of a branch."""
    with knowledge.transaction() as run:
        at = now or now_text()
        run.run("UPDATE notes SET confirmed = ?, revision = ? WHERE id = ?", (at, next_revision(run), id))
        _leave_home(run, id, anchor)
        put_anchor(run, id, anchor)
        pinned = {"home": anchor.home, "file": anchor.file, "written": anchor.written}
        event_log.record(run, event_log.CONFIRMED, id, at, pinned)
        _put_lookalikes(run, id, lookalikes)


def set_done(knowledge: Knowledge, id: str) -> None:
    with knowledge.transaction() as run:
        at = now_text()
        run.run("UPDATE notes SET done = ?, revision = ? WHERE id = ?", (at, next_revision(run), id))
        event_log.record(run, event_log.DONE, id, at, {})


def forget(knowledge: Knowledge, id: str) -> tuple[str, ...]:
    """Delete a note for good, and return the ids of notes that are no longer superseded. If the note was superseded
    itself, its successor supersedes those instead."""
    next(knowledge.rows("PRAGMA secure_delete = ON"), None)
    with knowledge.transaction() as run:
        active = remove_note(run, id, next_revision(run))
        event_log.record(run, event_log.FORGOTTEN, id, now_text(), {})
    return active


def remove_note(run: Transaction, id: str, revision: int) -> tuple[str, ...]:
    """Delete a note with its events, and record that it was forgotten. Returns what `forget` returns."""
    newer = [row[0] for row in run.rows("SELECT newer FROM note_successions WHERE older = ?", (id,))]
    older = [row[0] for row in run.rows("SELECT older FROM note_successions WHERE newer = ?", (id,))]
    run.run("DELETE FROM note_successions WHERE newer = ? OR older = ?", (id, id))
    run.run_many("INSERT OR IGNORE INTO note_successions VALUES (?,?)", product(newer, older))
    run.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, other) for other in (*newer, *older)))
    run.run("DELETE FROM notes WHERE id = ?", (id,))
    run.run("INSERT OR REPLACE INTO forgotten_notes VALUES (?,?)", (id, revision))
    event_log.remove_events_of(run, id)
    return () if newer else tuple(sorted(older))


def move_anchors(knowledge: Knowledge, moved: Mapping[str, Anchor], lookalikes: Mapping[str, Sequence[str]]) -> None:
    """Replace the anchors of notes. A previous home is recorded in `note_trail`, since code may come back."""
    with knowledge.transaction() as run:
        revision = next_revision(run)
        for id, anchor in moved.items():
            _leave_home(run, id, anchor)
            put_anchor(run, id, anchor)
            run.run("UPDATE notes SET revision = ? WHERE id = ?", (revision, id))
        for id, others in lookalikes.items():
            _put_lookalikes(run, id, others)


def replace_unchanged_anchors(knowledge: Knowledge, seen: Mapping[str, Anchor]) -> None:
    """Replace anchors that differ only in what neither cards nor the graph show; the notes keep their revision."""
    with knowledge.transaction() as run:
        for id, anchor in seen.items():
            put_anchor(run, id, anchor)


def mark_for_projection(knowledge: Knowledge, ids: Iterable[str]) -> None:
    """Give notes a new revision, so that they are projected into the graph again."""
    with knowledge.transaction() as run:
        revision = next_revision(run)
        run.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, id) for id in ids))


def note_of(knowledge: Knowledge, id: str) -> PinnedNote:
    """The note with an id, or with an id that begins so. Raises `UsageError` if there is none, or several."""
    wanted = id.strip().lower()
    if wanted:
        found = list(_select(knowledge, "WHERE substr(n.id, 1, ?) = ? ORDER BY n.id", (len(wanted), wanted)))
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(note.id for note in found[:5])
            raise UsageError(f"Several note ids begin with {id!r}: {several}. Give more characters of the id.")
    raise UsageError(f"There is no note {id!r}. `golore note --list` lists the ids.")


def has_note(knowledge: Knowledge, id: str) -> bool:
    """Whether the id of a note is this text or begins with it."""
    wanted = id.strip().lower()
    return any(True for _ in knowledge.rows("SELECT 1 FROM notes WHERE substr(id, 1, ?) = ?", (len(wanted), wanted)))


def all_notes(knowledge: Knowledge) -> list[PinnedNote]:
    return list(_select(knowledge, "ORDER BY n.id"))


def notes_at(knowledge: Knowledge, card_path: str) -> list[PinnedNote]:
    """The notes that belong to a card: those of a file and its declarations, of a package or of the repository."""
    return list(_select(knowledge, "WHERE a.place = ? ORDER BY n.id", (card_path,)))


def notes_in(knowledge: Knowledge, files: Iterable[str]) -> list[PinnedNote]:
    """The notes whose code was last seen in these files or directories ("dir/"), all notes whose code is gone, and
    those from other worktrees whose code was not looked for here yet."""
    found: dict[str, PinnedNote] = {}
    for file in sorted(files):
        found |= {note.id: note for note in _select(knowledge, "WHERE a.file = ? ORDER BY n.id", (file,))}
    unknown = "WHERE a.fate <> '' OR (a.seen = '' AND a.home_level <> 'repository') ORDER BY n.id"
    found |= {note.id: note for note in _select(knowledge, unknown)}
    return list(found.values())


def notes_about(knowledge: Knowledge, targets: Sequence[str]) -> list[PinnedNote]:
    """The notes about these nodes."""
    placeholders = ",".join("?" * len(targets))
    return list(_select(knowledge, f"WHERE a.target IN ({placeholders}) ORDER BY n.id", targets))


def open_tasks(knowledge: Knowledge) -> list[PinnedNote]:
    condition = f"WHERE n.kind = 'task' AND n.done = '' AND {_NEWER} IS NULL ORDER BY n.created, n.id"
    return list(_select(knowledge, condition))


def card_paths(knowledge: Knowledge) -> set[str]:
    """The card paths that have notes."""
    return {card_path for (card_path,) in knowledge.rows("SELECT DISTINCT place FROM note_anchors")}


def lookalikes_of(knowledge: Knowledge, id: str) -> set[str]:
    return {other for (other,) in knowledge.rows("SELECT other FROM note_lookalikes WHERE note = ?", (id,))}


def previous_homes(knowledge: Knowledge) -> dict[str, dict[str, str]]:
    """Note id → previous homes of the note → the file that each was in."""
    found: dict[str, dict[str, str]] = {}
    for note, home, file in knowledge.rows("SELECT note, home, file FROM note_trail ORDER BY note, home"):
        found.setdefault(note, {})[home] = file
    return found


def digests_it_holds_for(knowledge: Knowledge) -> dict[str, set[str]]:
    """Note id → the digests of the code for which the note was written or confirmed, in this worktree or another."""
    found: dict[str, set[str]] = {}
    for note, digest in knowledge.rows("SELECT note, digest FROM note_holds"):
        found.setdefault(note, set()).add(digest)
    return found


def successions(knowledge: Knowledge) -> list[tuple[str, str]]:
    """Pairs of note ids: newer, older."""
    return list(knowledge.rows("SELECT newer, older FROM note_successions ORDER BY newer, older"))


def chain_of(knowledge: Knowledge, note: PinnedNote) -> list[PinnedNote]:
    """A note with all notes that supersede it and all that it supersedes, newest first."""
    links = successions(knowledge)
    found = {note.id}
    while more := {id for pair in links if found & set(pair) for id in pair} - found:
        found |= more
    older_than: dict[str, list[str]] = {}
    for newer, older in links:
        older_than.setdefault(newer, []).append(older)
    # Times, in seconds, are too coarse for the order. Two people may have superseded each other's notes.
    layer = sorted(found - {older for _, older in links}) or sorted(found)
    age = dict.fromkeys(layer, 0)
    while layer:
        layer = sorted({older for id in layer for older in older_than.get(id, ())} - age.keys())
        age |= dict.fromkeys(layer, len(age))
    return sorted(
        (one for one in all_notes(knowledge) if one.id in found), key=lambda one: (age.get(one.id, 0), one.id)
    )


def has_any(knowledge: Knowledge) -> bool:
    """Whether there is a note, or was one that has been forgotten."""
    statement = "SELECT EXISTS (SELECT 1 FROM notes) OR EXISTS (SELECT 1 FROM forgotten_notes)"
    return bool(next(knowledge.rows(statement))[0])


def revision_of(knowledge: Knowledge) -> int:
    return next(knowledge.rows("SELECT revision FROM note_state"))[0]


def written_since(knowledge: Knowledge, revision: int) -> tuple[list[PinnedNote], list[str]]:
    """The notes that have changed since a revision, and the ids of those that were forgotten since."""
    forgotten = knowledge.rows("SELECT id FROM forgotten_notes WHERE revision > ? ORDER BY id", (revision,))
    return list(_select(knowledge, "WHERE n.revision > ? ORDER BY n.id", (revision,))), [id for (id,) in forgotten]


def similar_notes(knowledge: Knowledge, new: NewNote) -> list[PinnedNote]:
    """Similar active notes of the same kind about the same node, which the new note may be meant to replace, most
    similar first. The note that it supersedes is left out."""
    words = _words(new.text)
    found: list[tuple[float, PinnedNote]] = []
    for note in notes_about(knowledge, (new.anchor.target,)):
        if note.status == "active" and note.kind == new.kind and note.id != new.supersedes:
            similarity = SequenceMatcher(a=_words(note.text), b=words, autojunk=False).ratio()
            if similarity >= _MIN_SIMILARITY:
                found.append((similarity, note))
    return [note for _, note in sorted(found, key=lambda pair: (-pair[0], pair[1].id))]


def is_duplicate(note: PinnedNote, new: NewNote) -> bool:
    """Whether a new note has the words, kind, author and tags of a stored one."""
    new_values = (new.kind, _words(new.text), new.author, tuple(sorted(set(new.tags))))
    return new_values == (note.kind, _words(note.text), note.author, note.tags)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?()").lower() for word in text.split()]


_NEWER: Final = (
    "(SELECT group_concat(newer, ', ') FROM (SELECT newer FROM note_successions WHERE older = n.id ORDER BY newer))"
)


def _select(knowledge: Knowledge, condition: str, values: Sequence[object] = ()) -> Iterator[PinnedNote]:
    columns = ", ".join(f"a.{name}" for name in _ANCHOR_COLUMNS)
    statement = (
        "SELECT n.id, n.kind, n.text, n.subject, n.author, n.source, n.created, n.confirmed, n.tags, n.done, "
        f"coalesce({_NEWER}, ''), {columns} FROM notes n JOIN note_anchors a ON a.note = n.id {condition}"
    )
    yield from map(_note_from_row, knowledge.rows(statement, values))


def _note_from_row(row: tuple[Any, ...]) -> PinnedNote:
    return PinnedNote._make((*row[:8], tuple(json.loads(row[8])), row[9], row[10], Anchor._make(row[11:])))


def next_revision(run: Transaction) -> int:
    run.run("UPDATE note_state SET revision = revision + 1")
    return next(run.rows("SELECT revision FROM note_state"))[0]


def put_anchor(run: Transaction, id: str, anchor: Anchor) -> None:
    placeholders = ",".join("?" * (len(anchor) + 1))
    run.run(f"INSERT OR REPLACE INTO note_anchors VALUES ({placeholders})", (id, *anchor))
    if anchor.written:
        run.run("INSERT OR IGNORE INTO note_holds VALUES (?,?)", (id, anchor.written))


def _leave_home(run: Transaction, id: str, anchor: Anchor) -> None:
    """Record the present home of a note as a previous one, if the anchor has another."""
    for home, file in list(run.rows("SELECT home, file FROM note_anchors WHERE note = ?", (id,))):
        if home != anchor.home:
            run.run("INSERT OR REPLACE INTO note_trail VALUES (?,?,?)", (id, home, file))


def _put_lookalikes(run: Transaction, id: str, others: Sequence[str]) -> None:
    run.run("DELETE FROM note_lookalikes WHERE note = ?", (id,))
    run.run_many("INSERT OR IGNORE INTO note_lookalikes VALUES (?,?)", ((id, other) for other in others))


def _supersede(run: Transaction, newer: str, older: str, revision: int) -> None:
    successors = [row[0] for row in run.rows("SELECT newer FROM note_successions WHERE older = ?", (older,))]
    if successors and successors != [newer]:
        raise UsageError(f"{older} is superseded by {successors[0]} already. Supersede {successors[0]} instead.")
    run.run("INSERT OR IGNORE INTO note_successions VALUES (?,?)", (newer, older))
    event_log.record(run, event_log.SUPERSEDED, older, now_text(), {"by": newer})
    run.run("UPDATE notes SET revision = ? WHERE id = ?", (revision, older))


def _older_than(run: Transaction, newer: str) -> set[str]:
    found: set[str] = set()
    pending = [newer]
    while pending:
        rows = run.rows("SELECT older FROM note_successions WHERE newer = ?", (pending.pop(),))
        more = {row[0] for row in rows} - found
        found |= more
        pending += more
    return found
