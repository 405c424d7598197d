"""Notes follow their code: a step of every learn, before the cards are made.

What is still there under its name is looked at where its file has changed. What is not is looked for: the same name in
another file, or the same text under another name. Found once, the note goes there; where it could be several, or
nothing is found, it stands at what is left around its code (the file, the package, the repository) and says so, and
goes home when that comes back. Nothing is decided by likeness of names or texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.cards.annotations import is_faded
from golore.graph.cards.card_builder import with_package_files
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.store import Store
from golore.graph.errors import StoreBusy
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.code_fingerprint import Fingerprint
from golore.graph.knowledge.note_nodes import are_projected, project_notes, without_edge
from golore.graph.knowledge.notes import (
    Anchor,
    PinnedNote,
    all_notes,
    has_any,
    lookalikes_of,
    move_anchors,
    notes_in,
    see_anchors,
    touch,
    trails,
)
from golore.graph.model.entities import REPOSITORY_ID
from golore.learner.derived.note_code_finder import CodeFinder, CodeSymbol

_NAMED: Final = 3
_FADED: Final = "faded"
LEFT: Final = "what is left"


class FoundAnchor(NamedTuple):
    """An anchor as it is now, and the ids of other code that has the same text (None: as they were)."""

    anchor: Anchor
    lookalikes: tuple[str, ...] | None = None


def update_notes(root: Path, store_directory: Path, *, changed: Collection[str] | None = None) -> frozenset[str]:
    """Bring the notes up to date with the graph. `changed`: the files that have changed, where that is known; then only
    their notes are looked at. Returns the cards that are to be told again."""
    if not Knowledge.exists(store_directory):
        return frozenset()
    with Knowledge.open(store_directory) as knowledge:
        if not has_any(knowledge):
            return frozenset()
        notes = all_notes(knowledge) if changed is None else notes_in(knowledge, _around(changed))
        if not notes and changed is not None:
            return frozenset()
        with Store.open(store_directory, write=False) as store:
            looks = _looks(knowledge, CodeFinder(root.resolve(), store), notes, changed)
            told = _keep(knowledge, notes, looks, is_few=changed is not None)
            still = [note for note in notes if note.id not in told]
            lost = without_edge(store, still, few=changed is not None)
            is_behind = bool(told or lost) or not are_projected(store, knowledge)
        if lost:
            touch(knowledge, sorted(lost))
        faded = _faded(store_directory, notes) if changed is None else set[str]()
    if is_behind:
        with suppress(StoreBusy):  # then the next learn does it; what counts is in the knowledge
            project_notes(store_directory)
    retold = faded.union(*told.values())
    if not retold:
        return frozenset()
    with create_card_store(store_directory) as card_store:
        return frozenset(with_package_files(card_store, retold))


def anchor_at(finder: CodeFinder, level: str, id: str) -> FoundAnchor:
    """The anchor of a note that is written about this node now."""
    if level == "symbol":
        symbol = finder.symbols([id])[id]
        name, file = symbol.qualified_name, symbol.file
        return _at_symbol(finder, Anchor("symbol", id, name, file, "symbol", id, name, file), symbol, is_new=True)
    if level == "file":
        return _at_file(finder, Anchor("file", id, id, id, "file", id, id, id), id, is_new=True)
    if level == "package":
        place = f"{finder.packages([id])[id] or '.'}/"
        return _at_package(finder, Anchor("package", id, id, place, "package", id, id, place), id, place)
    return FoundAnchor(Anchor("repository", REPOSITORY_ID, ".", "", "repository", REPOSITORY_ID, ".", ""))


def current_anchor(finder: CodeFinder, anchor: Anchor) -> FoundAnchor:
    """The anchor of a note that is confirmed: for the code as it is, where the note stands now."""
    return anchor_at(finder, anchor.level, anchor.target)


def _around(changed: Collection[str]) -> set[str]:
    """Changed files and their directories, as anchors name them."""
    return {*changed, *(f"{path.rpartition('/')[0] or '.'}/" for path in changed)}


def _looks(
    knowledge: Knowledge, finder: CodeFinder, notes: list[PinnedNote], changed: Collection[str] | None
) -> dict[str, FoundAnchor]:
    """What has become of these notes' code, for those that something has become of or that were looked at."""
    past = trails(knowledge)
    anchors = [note.anchor for note in notes]
    homes = {anchor.home for anchor in anchors} | {home for note in notes for home in past.get(note.id, ())}
    symbols = finder.symbols(homes)
    files = finder.files({*homes, *(anchor.file for anchor in anchors)})
    packages = finder.packages(homes)
    fresh: list[CodeSymbol] | None = None
    lost = (one for one in anchors if one.home_level == "symbol" and one.home not in symbols)
    finder.bearing(*{_plain(anchor) for anchor in lost if changed is None or not anchor.fate})
    found: dict[str, FoundAnchor] = {}
    for note in notes:
        anchor = note.anchor
        ways = [anchor.home, *past.get(note.id, ())]
        if anchor.home_level == "symbol":
            here = next((symbols[id] for id in ways if id in symbols), None)
            if here is not None:
                is_seen = here.id == anchor.home and not anchor.fate and anchor.written
                if not is_seen or here.file != anchor.file or files[here.file].digest != anchor.seen:
                    found[note.id] = _at_symbol(finder, anchor, here)
                continue
            if anchor.fate and changed is not None:
                # It was looked for everywhere before; it can only have come back with what has changed.
                fresh = finder.declared_in(changed) if fresh is None else fresh
                found[note.id] = _elsewhere(finder, anchor, fresh, lookalikes_of(knowledge, note.id))
            else:
                found[note.id] = _lost_symbol(finder, anchor, lookalikes_of(knowledge, note.id))
        elif anchor.home_level == "file":
            path = next((id for id in ways if id in files), "")
            if path == anchor.home and not anchor.fate and files[path].digest == anchor.seen:
                continue
            others = lookalikes_of(knowledge, note.id) if not path else set[str]()
            found[note.id] = _at_file(finder, anchor, path) if path else _lost_file(finder, anchor, others)
        elif anchor.home_level == "package":
            id = next((id for id in ways if id in packages), "")
            place = f"{packages[id] or '.'}/" if id else ""
            found[note.id] = _at_package(finder, anchor, id, place) if id else _lost_package(finder, anchor)
    return found


def _faded(store_directory: Path, notes: Iterable[PinnedNote]) -> set[str]:
    """The cards with notes that have faded since this was last asked."""
    now = datetime.now(UTC)
    with create_card_store(store_directory) as card_store:
        before = datetime.fromisoformat((card_store.meta(_FADED) or b"1970-01-01T00:00:00+00:00").decode())
        card_store.set_meta(_FADED, now.isoformat().encode())
    return {note.anchor.card_path for note in notes if is_faded(note, now) and not is_faded(note, before)}


def _keep(
    knowledge: Knowledge, notes: Iterable[PinnedNote], looks: dict[str, FoundAnchor], *, is_few: bool
) -> dict[str, set[str]]:
    """Write down what has changed; by note, the cards that tell of it."""
    moved: dict[str, Anchor] = {}
    seen: dict[str, Anchor] = {}
    told: dict[str, set[str]] = {}
    for note in notes:
        anchor = looks[note.id].anchor if note.id in looks else note.anchor
        if anchor == note.anchor:
            continue
        if _told(anchor) == _told(note.anchor) and anchor.home == note.anchor.home:
            seen[note.id] = anchor
        else:
            moved[note.id] = anchor
            told[note.id] = {note.anchor.card_path, anchor.card_path}
    if moved:
        alike = {id: others for id in moved if (others := looks[id].lookalikes) is not None}
        move_anchors(knowledge, moved, alike)
    if seen and not is_few:  # not worth a write after each edit: it spares a look in the next learn
        see_anchors(knowledge, seen)
    return told


def _told(anchor: Anchor) -> tuple[str, ...]:
    """What is told of an anchor, and what code is known again by."""
    return (anchor.target, anchor.name, anchor.card_path, anchor.evidence, anchor.drifted, anchor.body)


def _home(anchor: Anchor, id: str, name: str, file: str, place: str) -> Anchor:
    """The anchor at home, be that where it was or elsewhere."""
    return anchor._replace(
        level=anchor.home_level,
        target=id,
        name=name,
        card_path=place,
        home=id,
        home_name=name,
        file=file,
        fate="",
        evidence="named" if anchor.evidence == LEFT else anchor.evidence,
    )


def _at_symbol(finder: CodeFinder, anchor: Anchor, symbol: CodeSymbol, *, is_new: bool = False) -> FoundAnchor:
    home = _home(anchor, symbol.id, symbol.qualified_name, symbol.file, symbol.file)
    like = finder.likeness(symbol)
    if like is None:  # the file has changed once more: the next learn looks at it
        return FoundAnchor(home)
    written = anchor.written or like.digest
    now = home._replace(
        written=written,
        now=like.digest,
        size=like.size,
        names=like.names,
        seen=_seen(finder, symbol),
        signature=like.signature,
    )
    if not is_new and like.digest == anchor.now:
        return FoundAnchor(now)
    others = finder.alike(like)
    if others is None:
        return FoundAnchor(now._replace(body=""), ())
    return FoundAnchor(now._replace(body=like.digest), tuple(one.id for one in others if one.id != symbol.id))


def _seen(finder: CodeFinder, symbol: CodeSymbol) -> str:
    return finder.files([symbol.file])[symbol.file].digest


def _lost_symbol(finder: CodeFinder, anchor: Anchor, lookalikes: set[str]) -> FoundAnchor:
    """A declaration that is not there under its id: twins have other ids, renamed and moved code other names. Where it
    kept its own name, what has the same text under other names was not it."""
    bearing = finder.bearing(_plain(anchor))
    named = [one for one in bearing if one.qualified_name == anchor.home_name]
    named = [one for one in named if one.file == anchor.file] or named
    if len(named) == 1:
        return _at_symbol(finder, anchor._replace(evidence="same name"), named[0])
    if named:
        return _left(finder, anchor, [f"{one.qualified_name} ({one.file})" for one in named])
    if not anchor.body:
        return _left(finder, anchor, [])
    equal = [one for one in finder.equal(_likeness(anchor), bearing) if one.id not in lookalikes]
    return _elsewhere(finder, anchor, equal or finder.alike(_likeness(anchor)) or [], lookalikes)


def _elsewhere(finder: CodeFinder, anchor: Anchor, declared: Iterable[CodeSymbol], lookalikes: set[str]) -> FoundAnchor:
    """The same text among these declarations, unless it was there all along."""
    equal = finder.equal(_likeness(anchor), declared) if anchor.body else []
    new = [one for one in equal if one.id not in lookalikes]
    if len(new) == 1:
        return _at_symbol(finder, anchor._replace(evidence="same body"), new[0])
    if not new and anchor.fate:
        return _left(finder, anchor, [], anchor.fate)
    return _left(finder, anchor, [f"{one.qualified_name} ({one.file})" for one in new])


def _plain(anchor: Anchor) -> str:
    return anchor.home_name.rpartition(".")[2]


def _likeness(anchor: Anchor) -> Fingerprint:
    return Fingerprint(anchor.body, anchor.size, anchor.names, anchor.signature)


def _at_file(finder: CodeFinder, anchor: Anchor, path: str, *, is_new: bool = False) -> FoundAnchor:
    file = finder.files([path])[path]
    home = _home(anchor, path, path, path, path)._replace(
        written=anchor.written or file.digest, now=file.digest, body=file.shape, seen=file.digest
    )
    if not is_new and file.digest == anchor.now:
        return FoundAnchor(home)
    return FoundAnchor(home, tuple(one for one in finder.files_like(file.digest, file.shape) if one != path))


def _lost_file(finder: CodeFinder, anchor: Anchor, lookalikes: set[str]) -> FoundAnchor:
    equal = [one for one in finder.files_like(anchor.now, anchor.body) if one not in lookalikes]
    if len(equal) == 1:
        return _at_file(finder, anchor._replace(evidence="same body"), equal[0])
    return _left(finder, anchor, equal)


def _at_package(finder: CodeFinder, anchor: Anchor, id: str, place: str) -> FoundAnchor:
    shape = finder.package_shape(id)
    home = _home(anchor, id, id, place, place)
    return FoundAnchor(home._replace(written=anchor.written or shape, now=shape, body=shape, seen=shape))


def _lost_package(finder: CodeFinder, anchor: Anchor) -> FoundAnchor:
    equal = finder.packages_like(anchor.body)
    if len(equal) == 1:
        place = f"{finder.packages(equal)[equal[0]] or '.'}/"
        return _at_package(finder, anchor._replace(evidence="same body"), equal[0], place)
    return _left(finder, anchor, equal)


def _left(finder: CodeFinder, anchor: Anchor, several: list[str], fate: str = "") -> FoundAnchor:
    """The anchor at what is left around its code, with a word on why."""
    if not fate:
        what = anchor.home_name
        fate = f"was about {what}, which is gone"
        if several:
            more = f" and {len(several) - _NAMED:,} more" if len(several) > _NAMED else ""
            fate = f"was about {what}, whose code may now be {' or '.join(several[:_NAMED])}{more}"
    level, target, name, place = _around_home(finder, anchor)
    left = anchor._replace(level=level, target=target, name=name, card_path=place, fate=fate, evidence=LEFT)
    return FoundAnchor(left)


def _around_home(finder: CodeFinder, anchor: Anchor) -> tuple[str, str, str, str]:
    """Level, id, name and card of what is left."""
    if anchor.home_level == "symbol" and finder.files([anchor.file]):
        return ("file", anchor.file, anchor.file, anchor.file)
    directory = "" if anchor.home_level == "package" else anchor.file.rpartition("/")[0]
    package = finder.package_in(directory) if anchor.home_level != "package" else ""
    if package:
        return ("package", package, package, f"{directory or '.'}/")
    return ("repository", REPOSITORY_ID, ".", "")
