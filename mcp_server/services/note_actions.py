"""What can be done with notes, for the command line and for agents alike: write, confirm, end, supersede, forget, list.

A note counts from the moment it is in the knowledge. Its copy in the graph and the cards that show it follow at once;
where a learn has the store, the copy waits for the end of that, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.cards.annotations import in_order
from golore.graph.cards.card_builder import retell, with_files
from golore.graph.cards.card_store import open_deck
from golore.graph.database.store import Store
from golore.graph.errors import StoreBusy, StoreError, UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.note_nodes import project_notes
from golore.graph.knowledge.notes import (
    KINDS,
    Draft,
    Pinned,
    all_notes,
    chain_of,
    checked_text,
    cleaned,
    confirm,
    forget,
    is_same,
    much_the_same,
    note_of,
    notes_about,
    set_done,
    supersede,
    write_notes,
)
from golore.graph.queries.answers import Found
from golore.graph.queries.name_resolver import Names
from golore.learner.derived.note_code_finder import Looking
from golore.learner.derived.note_step import pinned_at, settled
from golore.mcp_server.services.repository import Place
from golore.mcp_server.services.targets import Subject, find_subject

_WAIT: Final = 1.0
"""Seconds to wait for a learn before a note's copy is left to it."""
LATER: Final = "A learn has the store just now: the note is kept, and in the graph when the next learn ends."


class Wish(NamedTuple):
    """A note that somebody wants to write."""

    target: str
    text: str
    kind: str = "note"
    tags: tuple[str, ...] = ()
    author: str = ""
    source: str = "person"
    supersedes: str = ""


class Outcome(NamedTuple):
    """The note, whether it is new, those that say much the same of the same code, what else is to be told, and the
    cards that are to be made again (see `shown`)."""

    note: Pinned
    is_new: bool
    alike: tuple[Pinned, ...] = ()
    messages: tuple[str, ...] = ()
    places: frozenset[str] = frozenset()


class Asked(NamedTuple):
    """A repository that is open for questions; `bases` are the directories that a path may start from, and `unclear`
    says why a name is not that of one thing."""

    place: Place
    store: Store
    names: Names
    unclear: Callable[[Found], str]
    bases: tuple[Path, ...] = ()

    def subject(self, target: str) -> Subject:
        return find_subject(self.store, self.names, self.place.root, target, self.bases, self.unclear)


def write(asked: Asked, wish: Wish, agree: Callable[[Pinned], bool] | None = None) -> Outcome:
    """Write a note. `agree` is asked whether it takes the place of one that says much the same; without, that is left
    to the writer, who is told of it. One that is there already, from the same hand, is not written twice."""
    if wish.kind not in KINDS:
        raise UsageError(f"There is no kind {wish.kind!r}. Use one of {', '.join(KINDS)}.")
    text = checked_text(wish.text)
    subject = asked.subject(wish.target)
    found = pinned_at(Looking(asked.place.root.resolve(), asked.store), subject.level, subject.id)
    tags = tuple(sorted({_name(tag) for tag in wish.tags} - {""}))
    author, source = _name(wish.author), _name(wish.source)
    draft = Draft(wish.kind, text, author, found.anchor, source, tags, lookalikes=found.lookalikes or ())
    messages = [_twins(subject)] if subject.twins else []
    with Knowledge.open(asked.place.store) as knowledge:
        if wish.supersedes:
            draft = draft._replace(supersedes=note_of(knowledge, wish.supersedes).id)
        alike = much_the_same(knowledge, draft)
        same = next((note for note in alike if is_same(note, draft)), None)
        if same is not None:
            return _known(knowledge, same, draft.supersedes, messages)
        if alike and not draft.supersedes and agree is not None and agree(alike[0]):
            draft = draft._replace(supersedes=alike[0].id)
        (id,) = write_notes(knowledge, [draft])
        replaced = [note_of(knowledge, draft.supersedes)] if draft.supersedes else []
        note = note_of(knowledge, id)
    alike = [] if draft.supersedes else alike
    return Outcome(note, True, tuple(alike), tuple(messages), _cards(note, *replaced))


def _known(knowledge: Knowledge, same: Pinned, older: str, messages: list[str]) -> Outcome:
    """The outcome where the very note is there: it may have been written before it was clear what it replaces."""
    replaced: list[Pinned] = []
    if older and older != same.id:
        supersede(knowledge, same.id, older)
        replaced.append(note_of(knowledge, older))
    return Outcome(same, False, (), ("The same is noted already.", *messages), _cards(*replaced))


def confirm_note(asked: Asked, id: str) -> Outcome:
    """Note that it holds for the code as it is, where the note stands now."""
    with Knowledge.open(asked.place.store) as knowledge:
        before = note_of(knowledge, id)
        found = settled(Looking(asked.place.root.resolve(), asked.store), before.anchor)
        confirm(knowledge, before.id, found.anchor, found.lookalikes or ())
        note = note_of(knowledge, before.id)
    return Outcome(note, False, (), (), _cards(before, note))


def end_task(place: Place, id: str) -> Outcome:
    with Knowledge.open(place.store) as knowledge:
        note = note_of(knowledge, id)
        if note.kind != "task":
            raise UsageError(f"{note.id} is no task but a {note.kind}. Supersede it, or forget it.")
        set_done(knowledge, note.id)
        note = note_of(knowledge, note.id)
    return Outcome(note, False, (), (), _cards(note))


def replace_note(place: Place, older: str, newer: str) -> Outcome:
    """Let a note that is written already take the place of another."""
    with Knowledge.open(place.store) as knowledge:
        old, new = note_of(knowledge, older), note_of(knowledge, newer)
        supersede(knowledge, new.id, old.id)
        note = note_of(knowledge, new.id)
    return Outcome(note, False, (), (), _cards(old, note))


def forget_note(place: Place, id: str) -> Outcome:
    """Remove a note for good."""
    with Knowledge.open(place.store) as knowledge:
        note = note_of(knowledge, id)
        revived = [note_of(knowledge, one) for one in forget(knowledge, note.id)]
    messages = tuple(f"{one.id}, which it superseded, counts again." for one in revived)
    return Outcome(note, False, (), messages, _cards(note, *revived))


def list_notes(
    asked: Asked, target: str, *, kind: str = "", tag: str = "", everything: bool = False, history: bool = False
) -> list[Pinned]:
    """The notes about a target and what is in it, or all of them; those that no longer count only with `everything` or
    as the history of others."""
    with Knowledge.open(asked.place.store) as knowledge:
        found = _about(asked, knowledge, target) if target else all_notes(knowledge)
        if history:
            return [one for note in in_order(found, _always()) for one in chain_of(knowledge, note)]
    found = [note for note in found if kind in ("", note.kind) and (not tag or tag in note.tags)]
    if everything:
        return sorted(found, key=lambda note: (note.created, note.id), reverse=True)
    return in_order(found, _always())


def chain(place: Place, id: str) -> list[Pinned]:
    """A note with those that it supersedes or that supersede it, newest first."""
    with Knowledge.open(place.store) as knowledge:
        return chain_of(knowledge, note_of(knowledge, id))


def _always() -> datetime:
    """A time at which no note has faded: who asks for notes gets them."""
    return datetime.min.replace(tzinfo=UTC)


def _about(asked: Asked, knowledge: Knowledge, target: str) -> Iterable[Pinned]:
    subject = asked.subject(target)
    if subject.level in ("symbol", "repository"):
        return notes_about(knowledge, (subject.id, *subject.twins))
    anchor = pinned_at(Looking(asked.place.root.resolve(), asked.store), subject.level, subject.id).anchor
    return [note for note in all_notes(knowledge) if _is_in(note.anchor.place, anchor.place)]


def _is_in(place: str, around: str) -> bool:
    """Whether a card is that of a file or package, or of a file of the package."""
    directory = f"{place.rpartition('/')[0] or '.'}/"
    return place == around or (place.endswith(".go") and directory == around)


def shown(place: Place, outcome: Outcome) -> Outcome:
    """Bring the copy in the graph and the cards up to date, with what is to be told of that. Nothing is to have the
    store open in the meantime."""
    if not outcome.places:
        return outcome
    messages = list(outcome.messages)
    try:
        project_notes(place.store, wait=_WAIT)
    except StoreBusy:
        messages.append(LATER)
    try:
        deck = open_deck(place.store, write=False)
        if deck is not None:
            with deck, Store.open(place.store, write=False) as store:
                retell(store, deck, with_files(deck, outcome.places))
    except (StoreError, OSError) as failure:
        messages.append(f"The card is not up to date ({failure}); the next learn sees to it.")
    return outcome._replace(messages=tuple(messages))


def _name(text: str) -> str:
    """A short text on one line."""
    return " ".join(cleaned(text).split())[:80]


def _cards(*notes: Pinned) -> frozenset[str]:
    return frozenset(note.anchor.place for note in notes)


def _twins(subject: Subject) -> str:
    others = ", ".join(subject.twins)
    return f"It is pinned to {subject.id}; declarations of the same name for other builds are {others}."
