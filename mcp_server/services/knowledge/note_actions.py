"""Actions on notes, for the command line and for agents: write, confirm, end, supersede, forget, list.

A note is saved once it is in `knowledge.db`. Its copy in the graph and the cards that show it are updated right after;
if a learn is using the store, the copy waits for the end of that learn, and a message says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from golore.graph.cards.annotations import in_display_order
from golore.graph.cards.card_builder import rebuild_cards, with_package_files
from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import StoreBusy, StoreError, UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.note_nodes import project_notes
from golore.graph.knowledge.notes import (
    KINDS,
    NewNote,
    PinnedNote,
    all_notes,
    chain_of,
    checked_text,
    cleaned,
    confirm,
    forget,
    has_note,
    is_duplicate,
    note_of,
    notes_about,
    set_done,
    similar_notes,
    supersede,
    write_notes,
)
from golore.graph.queries.names.short_names import ShortNames, assumed_short_name
from golore.graph.safety.secret_filter import removal_message, remove_secrets
from golore.learner.derived.note_code_finder import CodeFinder
from golore.learner.derived.note_step import anchor_at, current_anchor
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.targets import Target, find_target

_SHORTEST_ID: Final = 4
_WAIT: Final = 1.0
"""Seconds to wait for a learn before leaving a note's copy to it."""
LATER: Final = "A learn is using the store: the note is saved, and will be in the graph when the next learn ends."


def shown_names(repository: LearnedRepository, notes: Iterable[PinnedNote]) -> dict[str, str]:
    """The names of the code that notes are about, as texts show them. While a learn writes, by Go's conventions."""
    names = sorted({note.anchor.name for note in notes})
    try:
        with Store.open(repository.store, write=False) as store:
            return dict(zip(names, map(ShortNames(store), names), strict=True))
    except StoreError:
        return {name: assumed_short_name(name) for name in names}


class NoteRequest(NamedTuple):
    """A note to write."""

    target: str
    text: str
    kind: str = "note"
    tags: tuple[str, ...] = ()
    author: str = ""
    source: str = "person"
    supersedes: str = ""


class NoteOutcome(NamedTuple):
    """The result of an action: the note, and whether it is new.

    `alike`: notes that say much the same about the same code. `messages`: further messages for the writer.
    `card_paths`: cards to rebuild (see `publish_note`).
    """

    note: PinnedNote
    is_new: bool
    alike: tuple[PinnedNote, ...] = ()
    messages: tuple[str, ...] = ()
    card_paths: frozenset[str] = frozenset()


def subject_of(opened: OpenRepository, text: str) -> Target:
    """The target that a note is pinned to. Raises `UsageError` for code outside the repository."""
    target = find_target(opened, text)
    if target.level == "symbol" and not target.symbols:
        raise UsageError(f"{text} is declared outside the repository. Note it on the code here that uses it.")
    return target


def write_note(
    opened: OpenRepository, request: NoteRequest, agree: Callable[[PinnedNote], bool] | None = None
) -> NoteOutcome:
    """Write a note, without the secrets in its text. The same note by the same author is not written twice. `agree`
    decides whether it supersedes a note that says much the same; without `agree`, such notes are only returned in
    `alike`."""
    if request.kind not in KINDS:
        raise UsageError(f"There is no kind {request.kind!r}. Use one of {', '.join(KINDS)}.")
    text, removed = remove_secrets(checked_text(request.text))
    subject = subject_of(opened, request.target)
    found = anchor_at(CodeFinder(opened.repository.root.resolve(), opened.store), subject.level, subject.id)
    tags = tuple(sorted({_one_line(tag) for tag in request.tags} - {""}))
    author, source = _one_line(request.author), _one_line(request.source)
    draft = NewNote(request.kind, text, author, found.anchor, source, tags, lookalikes=found.lookalikes or ())
    messages = [removal_message(removed)] if removed else []
    if len(subject.symbols) > 1:
        messages.append(_twins_message(subject))
    with Knowledge.open(opened.repository.store) as knowledge:
        if request.supersedes:
            draft = draft._replace(supersedes=note_of(knowledge, request.supersedes).id)
        alike = similar_notes(knowledge, draft)
        same = next((note for note in alike if is_duplicate(note, draft)), None)
        if same is not None:
            return _already_written(knowledge, same, draft.supersedes, messages)
        if alike and not draft.supersedes and agree is not None and agree(alike[0]):
            draft = draft._replace(supersedes=alike[0].id)
        (id,) = write_notes(knowledge, [draft])
        replaced = [note_of(knowledge, draft.supersedes)] if draft.supersedes else []
        note = note_of(knowledge, id)
    alike = [] if draft.supersedes else alike
    return NoteOutcome(note, True, tuple(alike), tuple(messages), _cards(note, *replaced))


def _already_written(knowledge: Knowledge, same: PinnedNote, older: str, messages: list[str]) -> NoteOutcome:
    """The outcome if the same note exists. It may still supersede another: that may not have been known at first."""
    replaced: list[PinnedNote] = []
    if older and older != same.id:
        supersede(knowledge, same.id, older)
        replaced.append(note_of(knowledge, older))
    return NoteOutcome(same, False, (), ("The same note exists already.", *messages), _cards(*replaced))


def confirm_note(opened: OpenRepository, id: str) -> NoteOutcome:
    """Mark a note as true for the current code, at the anchor where it is now."""
    with Knowledge.open(opened.repository.store) as knowledge:
        before = note_of(knowledge, id)
        found = current_anchor(CodeFinder(opened.repository.root.resolve(), opened.store), before.anchor)
        confirm(knowledge, before.id, found.anchor, found.lookalikes or ())
        note = note_of(knowledge, before.id)
    return NoteOutcome(note, False, (), (), _cards(before, note))


def end_task(repository: LearnedRepository, id: str) -> NoteOutcome:
    with Knowledge.open(repository.store) as knowledge:
        note = note_of(knowledge, id)
        if note.kind != "task":
            raise UsageError(f"{note.id} is not a task but a {note.kind}. Supersede it, or forget it.")
        set_done(knowledge, note.id)
        note = note_of(knowledge, note.id)
    return NoteOutcome(note, False, (), (), _cards(note))


def replace_note(repository: LearnedRepository, older: str, newer: str) -> NoteOutcome:
    """Make an existing note supersede another."""
    with Knowledge.open(repository.store) as knowledge:
        old, new = note_of(knowledge, older), note_of(knowledge, newer)
        supersede(knowledge, new.id, old.id)
        note = note_of(knowledge, new.id)
    return NoteOutcome(note, False, (), (), _cards(old, note))


def forget_note(repository: LearnedRepository, id: str) -> NoteOutcome:
    """Delete a note permanently. Notes that only it superseded are active again."""
    with Knowledge.open(repository.store) as knowledge:
        note = note_of(knowledge, id)
        revived = [note_of(knowledge, one) for one in forget(knowledge, note.id)]
    messages = tuple(f"{one.id}, which it superseded, is active again." for one in revived)
    return NoteOutcome(note, False, (), messages, _cards(note, *revived))


def list_notes(
    opened: OpenRepository,
    target: str,
    *,
    kind: str = "",
    tag: str = "",
    everything: bool = False,
    history: bool = False,
) -> list[PinnedNote]:
    """The active notes about a target and its contents, or all active notes if there is no target. `everything` adds
    done and superseded notes; `history` adds the notes that each one superseded."""
    if not target and not Knowledge.exists(opened.repository.store):
        return []  # opening it would create it, and what has knowledge is learned more slowly
    with Knowledge.open(opened.repository.store) as knowledge:
        found = _about(opened, knowledge, target) if target else all_notes(knowledge)
        if history:
            return [one for note in in_display_order(found, _earliest_time()) for one in chain_of(knowledge, note)]
    found = [note for note in found if kind in ("", note.kind) and (not tag or tag in note.tags)]
    if everything:
        return sorted(found, key=lambda note: (note.created, note.id), reverse=True)
    return in_display_order(found, _earliest_time())


def is_note_id(repository: LearnedRepository, text: str) -> bool:
    """Whether a text is the id of a note, or the beginning of one. Symbols may have names like ids, such as `face`."""
    if len(text) < _SHORTEST_ID or not Knowledge.exists(repository.store):
        return False
    with Knowledge.open(repository.store) as knowledge:
        return has_note(knowledge, text)


def note_chain(repository: LearnedRepository, id: str) -> list[PinnedNote]:
    """A note with those that it supersedes or that supersede it, newest first."""
    with Knowledge.open(repository.store) as knowledge:
        return chain_of(knowledge, note_of(knowledge, id))


def _earliest_time() -> datetime:
    """A time at which no note has faded: lists show notes that are too old for cards."""
    return datetime.min.replace(tzinfo=UTC)


def _about(opened: OpenRepository, knowledge: Knowledge, target: str) -> Iterable[PinnedNote]:
    subject = subject_of(opened, target)
    if subject.level in ("symbol", "repository"):
        return notes_about(knowledge, [symbol.id for symbol in subject.symbols] or [subject.id])
    anchor = anchor_at(CodeFinder(opened.repository.root.resolve(), opened.store), subject.level, subject.id).anchor
    return [note for note in all_notes(knowledge) if _is_in(note.anchor.card_path, anchor.card_path)]


def _is_in(card_path: str, around: str) -> bool:
    """Whether a card path equals `around`, or is a file of the package `around`."""
    directory = f"{card_path.rpartition('/')[0] or '.'}/"
    return card_path == around or (card_path.endswith(".go") and directory == around)


def publish_note(repository: LearnedRepository, outcome: NoteOutcome) -> NoteOutcome:
    """Copy the note into the graph and rebuild the affected cards. The caller must have closed the store. Returns the
    outcome with messages added."""
    if not outcome.card_paths:
        return outcome
    messages = list(outcome.messages)
    try:
        project_notes(repository.store, wait=_WAIT)
    except StoreBusy:
        messages.append(LATER)
    try:
        card_store = open_card_store(repository.store, write=False)
        if card_store is not None:
            with card_store, Store.open(repository.store, write=False) as store:
                rebuild_cards(store, card_store, with_package_files(card_store, outcome.card_paths))
    except (StoreError, OSError) as failure:
        messages.append(f"The card is not up to date ({failure}); the next learn updates it.")
    return outcome._replace(messages=tuple(messages))


def _one_line(text: str) -> str:
    """A text on one line, cut to 80 characters."""
    return " ".join(cleaned(text).split())[:80]


def _cards(*notes: PinnedNote) -> frozenset[str]:
    return frozenset(note.anchor.card_path for note in notes)


def _twins_message(subject: Target) -> str:
    others = ", ".join(symbol.id for symbol in subject.symbols[1:])
    return f"It is pinned to {subject.id}; its twins for other builds are {others}."
