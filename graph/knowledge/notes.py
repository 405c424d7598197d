"""Notes: what people and agents have pinned to code, as `knowledge.db` keeps it.

A note is never edited. A newer one may supersede it, which keeps both; forgetting one removes it for good. Where a note
belongs, and whether the code is still what it was written about, is kept beside it as its anchor; how anchors follow
the code is `golore.learner.derived.note_step`'s affair, how notes are told `lore`'s.
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

KINDS: Final = ("invariant", "decision", "convention", "correction", "incident", "task", "note")
"""What a note can be, what binds most first."""
DRIFTED: Final = "written before the last change"
LONGEST_TEXT: Final = 4_000
_ID_BYTES: Final = 5
_ALIKE: Final = 0.6
"""From this share of equal words, in their order, two notes say much the same."""


class Anchor(NamedTuple):
    """Where a note belongs. At home, `target` is `home`; where that is gone, it is the nearest that is left around it.

    Digests are of the code without what does not matter (see `anchoring`): as it was when the note was written or last
    confirmed, empty where that is not known yet, and as it was last seen.
    """

    level: str
    """symbol, file, package or repository"""
    target: str
    """id of the node that it describes now"""
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
    """by which the code is known again elsewhere"""
    size: int = 0
    names: int = 0
    """bytes of the code without its own names, and how often these occur"""
    seen: str = ""
    """digest of the file when it was last looked at"""
    evidence: str = "named"
    """how it is known that the note belongs there: named, same name, same body, or what is left around it"""
    fate: str = ""
    """what has become of home, where it is not there"""
    signature: str = ""
    """kind of the declaration and what of its signature is not its name: tells where to look for it"""

    @property
    def drifted(self) -> str:
        """What has happened to the code since the note was written; empty where nothing has."""
        return self.fate or (DRIFTED if self.written and self.now != self.written else "")


_ANCHOR_COLUMNS: Final = tuple("place" if name == "card_path" else name for name in Anchor._fields)
"""Columns of `note_anchors`, in the order of the fields. Stores of older versions have the column `place`."""


class PinnedNote(NamedTuple):
    """A note with everything that is known of it. Times are UTC, as 2026-11-16T09:30:00Z."""

    id: str
    kind: str
    text: str
    subject: str
    """what it was pinned to, as it was called then"""
    author: str
    source: str
    """who wrote it: a person, or the name of a model"""
    created: str
    confirmed: str
    tags: tuple[str, ...]
    done: str
    """when a task was done"""
    newer: str
    """the note that supersedes it"""
    anchor: Anchor

    @property
    def status(self) -> str:
        return "superseded" if self.newer else "done" if self.done else "active"


class NewNote(NamedTuple):
    """A note before it is written. `lookalikes` are ids of other code of the very same text, which is not to be taken
    for this when this is gone."""

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
    """A note's text as it is kept; refused where there is none or too much of it."""
    text = cleaned(text).strip()
    if not text:
        raise UsageError("The note has no text. Say what should be known.")
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"The note has {len(text):,} characters; {LONGEST_TEXT:,} fit. Say it in fewer words.")
    return text


def cleaned(text: str) -> str:
    """A text without what is no text: bytes that were no UTF-8, and signs that steer a terminal or hide words."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(sign if sign.isprintable() or sign in "\n\t" else " " for sign in text)


def write_notes(knowledge: Knowledge, drafts: Iterable[NewNote]) -> list[str]:
    """Their ids. When this returns, they are on the disk."""
    ids: list[str] = []
    with knowledge.transaction() as run:
        revision = _next_revision(run)
        for draft in drafts:
            if draft.kind not in KINDS:
                raise UsageError(f"There is no kind {draft.kind!r}. Use one of {', '.join(KINDS)}.")
            id = secrets.token_hex(_ID_BYTES)
            created = draft.created or now_text()
            tags = json.dumps(sorted(set(draft.tags)), ensure_ascii=False)
            row = (id, draft.kind, checked_text(draft.text), draft.anchor.name, draft.author, draft.source)
            run.run("INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,'',?)", (*row, created, created, tags, revision))
            _put_anchor(run, id, draft.anchor)
            run.run_many("INSERT INTO note_lookalikes VALUES (?,?)", ((id, other) for other in draft.lookalikes))
            if draft.supersedes:
                _supersede(run, id, draft.supersedes, revision)
            ids.append(id)
    return ids


def supersede(knowledge: Knowledge, newer: str, older: str) -> None:
    """Let one note take the place of another, which stays to be looked up."""
    with knowledge.transaction() as run:
        if newer in _older_than(run, older) or newer == older:
            raise UsageError(f"{newer} is older than {older} in the same chain. Swap them.")
        revision = _next_revision(run)
        _supersede(run, newer, older, revision)
        run.run("UPDATE notes SET revision = ? WHERE id = ?", (revision, newer))


def confirm(knowledge: Knowledge, id: str, anchor: Anchor, lookalikes: Sequence[str] = (), *, now: str = "") -> None:
    """Note that it still holds for the code as it is."""
    with knowledge.transaction() as run:
        when = (now or now_text(), _next_revision(run), id)
        run.run("UPDATE notes SET confirmed = ?, revision = ? WHERE id = ?", when)
        _put_anchor(run, id, anchor)
        run.run("DELETE FROM note_trail WHERE note = ?", (id,))
        _put_lookalikes(run, id, lookalikes)


def set_done(knowledge: Knowledge, id: str) -> None:
    with knowledge.transaction() as run:
        run.run("UPDATE notes SET done = ?, revision = ? WHERE id = ?", (now_text(), _next_revision(run), id))


def forget(knowledge: Knowledge, id: str) -> tuple[str, ...]:
    """Remove a note for good; which notes are no longer superseded by that. Those around it in a chain are joined."""
    next(knowledge.rows("PRAGMA secure_delete = ON"), None)
    with knowledge.transaction() as run:
        revision = _next_revision(run)
        newer = [row[0] for row in run.rows("SELECT newer FROM note_successions WHERE older = ?", (id,))]
        older = [row[0] for row in run.rows("SELECT older FROM note_successions WHERE newer = ?", (id,))]
        run.run("DELETE FROM note_successions WHERE newer = ? OR older = ?", (id, id))
        run.run_many("INSERT OR IGNORE INTO note_successions VALUES (?,?)", product(newer, older))
        run.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, other) for other in (*newer, *older)))
        run.run("DELETE FROM notes WHERE id = ?", (id,))
        run.run("INSERT OR REPLACE INTO forgotten_notes VALUES (?,?)", (id, revision))
        return () if newer else tuple(sorted(older))


def move_anchors(knowledge: Knowledge, moved: Mapping[str, Anchor], lookalikes: Mapping[str, Sequence[str]]) -> None:
    """Put these in the place of the notes' anchors. A home that is left is remembered, since code comes back."""
    with knowledge.transaction() as run:
        revision = _next_revision(run)
        for id, anchor in moved.items():
            for home, file in list(run.rows("SELECT home, file FROM note_anchors WHERE note = ?", (id,))):
                if home != anchor.home:
                    run.run("INSERT OR REPLACE INTO note_trail VALUES (?,?,?)", (id, home, file))
            _put_anchor(run, id, anchor)
            run.run("UPDATE notes SET revision = ? WHERE id = ?", (revision, id))
        for id, others in lookalikes.items():
            _put_lookalikes(run, id, others)


def see_anchors(knowledge: Knowledge, seen: Mapping[str, Anchor]) -> None:
    """Put these in the place of anchors that tell nothing else."""
    with knowledge.transaction() as run:
        for id, anchor in seen.items():
            _put_anchor(run, id, anchor)


def touch(knowledge: Knowledge, ids: Iterable[str]) -> None:
    """Let these be put into the graph once more."""
    with knowledge.transaction() as run:
        revision = _next_revision(run)
        run.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, id) for id in ids))


def note_of(knowledge: Knowledge, id: str) -> PinnedNote:
    """The note of an id, or of the beginning of one that no other has."""
    wanted = id.strip().lower()
    if wanted:
        found = list(_select(knowledge, "WHERE substr(n.id, 1, ?) = ? ORDER BY n.id", (len(wanted), wanted)))
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(note.id for note in found[:5])
            raise UsageError(f"Several notes begin with {id!r}: {several}. Give more of the id.")
    raise UsageError(f"There is no note {id!r}. `golore note --list` tells the ids.")


def all_notes(knowledge: Knowledge) -> list[PinnedNote]:
    return list(_select(knowledge, "ORDER BY n.id"))


def notes_at(knowledge: Knowledge, place: str) -> list[PinnedNote]:
    """The notes that a card shows: of a file and its declarations, a package or the repository."""
    return list(_select(knowledge, "WHERE a.place = ? ORDER BY n.id", (place,)))


def notes_in(knowledge: Knowledge, files: Iterable[str]) -> list[PinnedNote]:
    """The notes whose code was last seen in these files or directories ("dir/"), and those whose code is gone."""
    found: dict[str, PinnedNote] = {}
    for file in sorted(files):
        found |= {note.id: note for note in _select(knowledge, "WHERE a.file = ? ORDER BY n.id", (file,))}
    found |= {note.id: note for note in _select(knowledge, "WHERE a.fate <> '' ORDER BY n.id")}
    return list(found.values())


def notes_about(knowledge: Knowledge, targets: Sequence[str]) -> list[PinnedNote]:
    """The notes about these nodes."""
    marks = ",".join("?" * len(targets))
    return list(_select(knowledge, f"WHERE a.target IN ({marks}) ORDER BY n.id", targets))


def open_tasks(knowledge: Knowledge) -> list[PinnedNote]:
    condition = "WHERE n.kind = 'task' AND n.done = '' AND s.newer IS NULL ORDER BY n.created, n.id"
    return list(_select(knowledge, condition))


def card_paths(knowledge: Knowledge) -> set[str]:
    """What has notes, as cards are called."""
    return {place for (place,) in knowledge.rows("SELECT DISTINCT place FROM note_anchors")}


def lookalikes_of(knowledge: Knowledge, id: str) -> set[str]:
    return {other for (other,) in knowledge.rows("SELECT other FROM note_lookalikes WHERE note = ?", (id,))}


def trails(knowledge: Knowledge) -> dict[str, dict[str, str]]:
    """By note, the homes that it has had and the files they were in."""
    found: dict[str, dict[str, str]] = {}
    for note, home, file in knowledge.rows("SELECT note, home, file FROM note_trail ORDER BY note, home"):
        found.setdefault(note, {})[home] = file
    return found


def successions(knowledge: Knowledge) -> list[tuple[str, str]]:
    """Newer and older."""
    return list(knowledge.rows("SELECT newer, older FROM note_successions ORDER BY newer, older"))


def chain_of(knowledge: Knowledge, note: PinnedNote) -> list[PinnedNote]:
    """A note with all that supersede it and all that it supersedes, newest first."""
    links = successions(knowledge)
    found = {note.id}
    while more := {id for pair in links if found & set(pair) for id in pair} - found:
        found |= more
    newer = {older: one for one, older in links}

    def age(one: PinnedNote) -> tuple[int, str]:
        """How many have come since; a second is too long to tell by the time."""
        since, id = 0, one.id
        while id in newer:
            since, id = since + 1, newer[id]
        return (since, one.id)

    return sorted((one for one in all_notes(knowledge) if one.id in found), key=age)


def has_any(knowledge: Knowledge) -> bool:
    """Whether there is a note, or was one that is forgotten."""
    statement = "SELECT EXISTS (SELECT 1 FROM notes) OR EXISTS (SELECT 1 FROM forgotten_notes)"
    return bool(next(knowledge.rows(statement))[0])


def revision_of(knowledge: Knowledge) -> int:
    return next(knowledge.rows("SELECT revision FROM note_state"))[0]


def written_since(knowledge: Knowledge, revision: int) -> tuple[list[PinnedNote], list[str]]:
    """The notes that are other than at a revision, and the ids of those that were forgotten."""
    gone = knowledge.rows("SELECT id FROM forgotten_notes WHERE revision > ? ORDER BY id", (revision,))
    return list(_select(knowledge, "WHERE n.revision > ? ORDER BY n.id", (revision,))), [id for (id,) in gone]


def much_the_same(knowledge: Knowledge, draft: NewNote) -> list[PinnedNote]:
    """Active notes of the same kind about the same that a draft may be meant to replace, closest first."""
    words = _words(draft.text)
    found: list[tuple[float, PinnedNote]] = []
    for note in notes_about(knowledge, (draft.anchor.target,)):
        if note.status == "active" and note.kind == draft.kind and note.id != draft.supersedes:
            likeness = SequenceMatcher(a=_words(note.text), b=words, autojunk=False).ratio()
            if likeness >= _ALIKE:
                found.append((likeness, note))
    return [note for _, note in sorted(found, key=lambda pair: (-pair[0], pair[1].id))]


def is_same(note: PinnedNote, draft: NewNote) -> bool:
    """Whether a draft says nothing that the note does not, and comes from the same hand."""
    ours = (draft.kind, _words(draft.text), draft.author, tuple(sorted(set(draft.tags))))
    return ours == (note.kind, _words(note.text), note.author, note.tags)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?()").lower() for word in text.split()]


def _select(knowledge: Knowledge, condition: str, values: Sequence[object] = ()) -> Iterator[PinnedNote]:
    columns = ", ".join(f"a.{name}" for name in _ANCHOR_COLUMNS)
    statement = (
        "SELECT n.id, n.kind, n.text, n.subject, n.author, n.source, n.created, n.confirmed, n.tags, n.done, "
        f"coalesce(s.newer, ''), {columns} FROM notes n JOIN note_anchors a ON a.note = n.id "
        f"LEFT JOIN note_successions s ON s.older = n.id {condition}"
    )
    yield from map(_pinned, knowledge.rows(statement, values))


def _pinned(row: tuple[Any, ...]) -> PinnedNote:
    return PinnedNote._make((*row[:8], tuple(json.loads(row[8])), row[9], row[10], Anchor._make(row[11:])))


def _next_revision(run: Transaction) -> int:
    run.run("UPDATE note_state SET revision = revision + 1")
    return next(run.rows("SELECT revision FROM note_state"))[0]


def _put_anchor(run: Transaction, id: str, anchor: Anchor) -> None:
    marks = ",".join("?" * (len(anchor) + 1))
    run.run(f"INSERT OR REPLACE INTO note_anchors VALUES ({marks})", (id, *anchor))


def _put_lookalikes(run: Transaction, id: str, others: Sequence[str]) -> None:
    run.run("DELETE FROM note_lookalikes WHERE note = ?", (id,))
    run.run_many("INSERT OR IGNORE INTO note_lookalikes VALUES (?,?)", ((id, other) for other in others))


def _supersede(run: Transaction, newer: str, older: str, revision: int) -> None:
    taken = [row[0] for row in run.rows("SELECT newer FROM note_successions WHERE older = ?", (older,))]
    if taken and taken != [newer]:
        raise UsageError(f"{older} is superseded by {taken[0]} already. Supersede that one.")
    run.run("INSERT OR IGNORE INTO note_successions VALUES (?,?)", (newer, older))
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
