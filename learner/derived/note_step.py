"""Moves notes along with their code: a step of every learn, before the cards are built.

If the code of a note still has its name, it is checked only if its file changed. If not, the same name is searched in
other files, and the same text under other names. A single match becomes the new home of the note. If there is no match
or more than one, the note moves to what still exists around its code (the file, the package or the repository) and says
why; it returns when its code comes back. Matches are exact: similar names or texts do not count.
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
from golore.graph.files.shared_knowledge import CARD, link_store, take_received
from golore.graph.knowledge.code_fingerprint import Fingerprint
from golore.graph.knowledge.note_nodes import are_projected, project_notes, without_edge
from golore.graph.knowledge.notes import (
    Anchor,
    PinnedNote,
    all_notes,
    digests_it_holds_for,
    has_any,
    lookalikes_of,
    mark_for_projection,
    move_anchors,
    notes_in,
    previous_homes,
    replace_unchanged_anchors,
)
from golore.graph.model.entities import REPOSITORY_ID
from golore.learner.checkout.git_directory import sharing_name
from golore.learner.derived.note_code_finder import CodeFinder, CodeSymbol

_MOST_NAMED: Final = 3
_FADED: Final = "faded"
LEFT: Final = "what is left"
"""Evidence of an anchor whose code was not found."""


class FoundAnchor(NamedTuple):
    """An anchor as it is now, and the ids of other code with the same text (None: unchanged)."""

    anchor: Anchor
    lookalikes: tuple[str, ...] | None = None


def link_shared_knowledge(root: Path, store_directory: Path) -> None:
    """Let the store share its knowledge with those of the repository's other worktrees."""
    name, git_directory = sharing_name(root.resolve()) or ("", "")
    link_store(store_directory, name, str(git_directory))


def update_notes(root: Path, store_directory: Path, *, changed: Collection[str] | None = None) -> frozenset[str]:
    """Bring the notes up to date with the graph. Returns the paths of the cards to rebuild.

    `changed`: the changed files, if known. Then only notes in these files and their directories, and notes whose code
    is missing, are checked.
    """
    if not Knowledge.exists(store_directory):
        return frozenset()
    with Knowledge.open(store_directory) as knowledge:
        if not has_any(knowledge):
            return frozenset()
        received = {card_path for _, card_path in take_received(knowledge, (CARD,))}
        notes = all_notes(knowledge) if changed is None else notes_in(knowledge, _with_directories(changed))
        if not notes and not received and changed is not None:
            return frozenset()
        with Store.open(store_directory, write=False) as store:
            found = _find_anchors(knowledge, CodeFinder(root.resolve(), store), notes, changed)
            moved = _save_anchors(knowledge, notes, found, is_few=changed is not None)
            unmoved = [note for note in notes if note.id not in moved]
            edgeless = without_edge(store, unmoved, few=changed is not None)
            is_behind = bool(moved or edgeless) or not are_projected(store, knowledge)
        if edgeless:
            mark_for_projection(knowledge, sorted(edgeless))
        faded = _faded(store_directory, notes) if changed is None else set[str]()
    if is_behind:
        with suppress(StoreBusy):  # then the next learn does it; the notes themselves are in knowledge.db
            project_notes(store_directory)
    card_paths = faded.union(received, *moved.values())
    if not card_paths:
        return frozenset()
    with create_card_store(store_directory) as card_store:
        return frozenset(with_package_files(card_store, card_paths))


def anchor_at(finder: CodeFinder, level: str, id: str) -> FoundAnchor:
    """The anchor of a new note about this node."""
    if level == "symbol":
        symbol = finder.symbols([id])[id]
        name, file = symbol.qualified_name, symbol.file
        return _at_symbol(finder, Anchor("symbol", id, name, file, "symbol", id, name, file), symbol, is_new=True)
    if level == "file":
        return _at_file(finder, Anchor("file", id, id, id, "file", id, id, id), id, is_new=True)
    if level == "package":
        card_path = f"{finder.packages([id])[id] or '.'}/"
        return _at_package(finder, Anchor("package", id, id, card_path, "package", id, id, card_path), id, card_path)
    return FoundAnchor(Anchor("repository", REPOSITORY_ID, ".", "", "repository", REPOSITORY_ID, ".", ""))


def current_anchor(finder: CodeFinder, anchor: Anchor) -> FoundAnchor:
    """The anchor of a note that is confirmed: the node that it describes now becomes its home."""
    return anchor_at(finder, anchor.level, anchor.target)


def _with_directories(changed: Collection[str]) -> set[str]:
    """The changed files and their directories (`dir/`), as in `Anchor.file`."""
    return {*changed, *(f"{path.rpartition('/')[0] or '.'}/" for path in changed)}


def _find_anchors(
    knowledge: Knowledge, finder: CodeFinder, notes: list[PinnedNote], changed: Collection[str] | None
) -> dict[str, FoundAnchor]:
    """Note id → its anchor now, for the notes whose code was checked or searched. May return unchanged anchors."""
    past = previous_homes(knowledge)
    anchors = [note.anchor for note in notes]
    homes = {anchor.home for anchor in anchors} | {home for note in notes for home in past.get(note.id, ())}
    symbols = finder.symbols(homes)
    files = finder.files({*homes, *(anchor.file for anchor in anchors)})
    packages = finder.packages(homes)
    changed_symbols: list[CodeSymbol] | None = None
    lost = (anchor for anchor in anchors if anchor.home_level == "symbol" and anchor.home not in symbols)
    # Fills the finder's cache with one scan.
    finder.symbols_named(*{_short_name(anchor) for anchor in lost if changed is None or not anchor.fate})
    found: dict[str, FoundAnchor] = {}
    for note in notes:
        anchor = note.anchor
        known_homes = [anchor.home, *past.get(note.id, ())]
        if anchor.home_level == "symbol":
            symbol = next((symbols[id] for id in known_homes if id in symbols), None)
            if symbol is not None:
                is_seen = symbol.id == anchor.home and not anchor.fate and anchor.written
                if not is_seen or symbol.file != anchor.file or files[symbol.file].digest != anchor.seen:
                    found[note.id] = _at_symbol(finder, anchor, symbol)
                continue
            if anchor.fate and changed is not None:
                # An earlier learn searched everywhere, so the code can only be in the changed files.
                if changed_symbols is None:
                    changed_symbols = finder.declared_in(changed)
                found[note.id] = _match_among(finder, anchor, changed_symbols, lookalikes_of(knowledge, note.id))
            else:
                found[note.id] = _lost_symbol(finder, anchor, lookalikes_of(knowledge, note.id))
        elif anchor.home_level == "file":
            path = next((id for id in known_homes if id in files), "")
            if path == anchor.home and not anchor.fate and files[path].digest == anchor.seen:
                continue
            others = lookalikes_of(knowledge, note.id) if not path else set[str]()
            found[note.id] = _at_file(finder, anchor, path) if path else _lost_file(finder, anchor, others)
        elif anchor.home_level == "package":
            id = next((id for id in known_homes if id in packages), "")
            card_path = f"{packages[id] or '.'}/" if id else ""
            found[note.id] = _at_package(finder, anchor, id, card_path) if id else _lost_package(finder, anchor)
    return found


def _faded(store_directory: Path, notes: Iterable[PinnedNote]) -> set[str]:
    """Paths of the cards with notes that have faded since the last call."""
    now = datetime.now(UTC)
    with create_card_store(store_directory) as card_store:
        before = datetime.fromisoformat((card_store.meta(_FADED) or b"1970-01-01T00:00:00+00:00").decode())
        card_store.set_meta(_FADED, now.isoformat().encode())
    return {note.anchor.card_path for note in notes if is_faded(note, now) and not is_faded(note, before)}


def _save_anchors(
    knowledge: Knowledge, notes: Iterable[PinnedNote], found: dict[str, FoundAnchor], *, is_few: bool
) -> dict[str, set[str]]:
    """Write the anchors that changed. Returns note id → paths of the cards to rebuild, for the notes that moved."""
    moved: dict[str, Anchor] = {}
    seen: dict[str, Anchor] = {}
    card_paths: dict[str, set[str]] = {}
    holds = digests_it_holds_for(knowledge) if any(one.anchor.drifted for one in found.values()) else {}
    for note in notes:
        anchor = found[note.id].anchor if note.id in found else note.anchor
        if anchor.now in holds.get(note.id, ()):
            anchor = anchor._replace(written=anchor.now)
        if anchor == note.anchor:
            continue
        if _visible(anchor) == _visible(note.anchor) and anchor.home == note.anchor.home:
            seen[note.id] = anchor
        else:
            moved[note.id] = anchor
            card_paths[note.id] = {note.anchor.card_path, anchor.card_path}
    if moved:
        alike = {id: others for id in moved if (others := found[id].lookalikes) is not None}
        move_anchors(knowledge, moved, alike)
    if seen and not is_few:  # it only saves the next learn a check, which is not worth a write after each edit
        replace_unchanged_anchors(knowledge, seen)
    return card_paths


def _visible(anchor: Anchor) -> tuple[str, ...]:
    """What cards and the graph show of an anchor, and the digest by which its code is found again."""
    return (anchor.target, anchor.name, anchor.card_path, anchor.evidence, anchor.drifted, anchor.body)


def _at_home(anchor: Anchor, id: str, name: str, file: str, card_path: str) -> Anchor:
    """The anchor with this node as its home and as its target."""
    return anchor._replace(
        level=anchor.home_level,
        target=id,
        name=name,
        card_path=card_path,
        home=id,
        home_name=name,
        file=file,
        fate="",
        evidence="named" if anchor.evidence == LEFT else anchor.evidence,
    )


def _at_symbol(finder: CodeFinder, anchor: Anchor, symbol: CodeSymbol, *, is_new: bool = False) -> FoundAnchor:
    home = _at_home(anchor, symbol.id, symbol.qualified_name, symbol.file, symbol.file)
    like = finder.fingerprint_of(symbol)
    if like is None:  # the file changed again; the next learn checks it
        return FoundAnchor(home)
    written = anchor.written or like.digest
    now = home._replace(
        written=written,
        now=like.digest,
        size=like.size,
        names=like.names,
        seen=_file_digest(finder, symbol),
        signature=like.signature,
    )
    if not is_new and like.digest == anchor.now:
        return FoundAnchor(now)
    others = finder.symbols_like(like)
    if others is None:
        return FoundAnchor(now._replace(body=""), ())
    return FoundAnchor(now._replace(body=like.digest), tuple(one.id for one in others if one.id != symbol.id))


def _file_digest(finder: CodeFinder, symbol: CodeSymbol) -> str:
    return finder.files([symbol.file])[symbol.file].digest


def _lost_symbol(finder: CodeFinder, anchor: Anchor, lookalikes: set[str]) -> FoundAnchor:
    """Find a declaration whose id no longer exists: it may have become a twin, which changes the id, or it was renamed
    or moved. Declarations with the same unqualified name are preferred to other names."""
    same_name = finder.symbols_named(_short_name(anchor))
    named = [one for one in same_name if one.qualified_name == anchor.home_name]
    named = [one for one in named if one.file == anchor.file] or named
    if len(named) == 1:
        return _at_symbol(finder, anchor._replace(evidence="same name"), named[0])
    if named:
        return _at_enclosing(finder, anchor, [f"{one.qualified_name} ({one.file})" for one in named])
    if not anchor.body:
        return _at_enclosing(finder, anchor, [])
    like = _fingerprint(anchor)
    equal = [one for one in finder.with_text_of(like, same_name) if one.id not in lookalikes]
    return _match_among(finder, anchor, equal or finder.symbols_like(like) or [], lookalikes)


def _match_among(
    finder: CodeFinder, anchor: Anchor, declared: Iterable[CodeSymbol], lookalikes: set[str]
) -> FoundAnchor:
    """Move the anchor to the one declaration with the same text. Code that had this text before (`lookalikes`) does not
    count."""
    equal = finder.with_text_of(_fingerprint(anchor), declared) if anchor.body else []
    new = [one for one in equal if one.id not in lookalikes]
    if len(new) == 1:
        return _at_symbol(finder, anchor._replace(evidence="same body"), new[0])
    if not new and anchor.fate:
        return _at_enclosing(finder, anchor, [], anchor.fate)
    return _at_enclosing(finder, anchor, [f"{one.qualified_name} ({one.file})" for one in new])


def _short_name(anchor: Anchor) -> str:
    return anchor.home_name.rpartition(".")[2]


def _fingerprint(anchor: Anchor) -> Fingerprint:
    return Fingerprint(anchor.body, anchor.size, anchor.names, anchor.signature)


def _at_file(finder: CodeFinder, anchor: Anchor, path: str, *, is_new: bool = False) -> FoundAnchor:
    file = finder.files([path])[path]
    home = _at_home(anchor, path, path, path, path)._replace(
        written=anchor.written or file.digest, now=file.digest, body=file.shape, seen=file.digest
    )
    if not is_new and file.digest == anchor.now:
        return FoundAnchor(home)
    return FoundAnchor(home, tuple(one for one in finder.files_like(file.digest, file.shape) if one != path))


def _lost_file(finder: CodeFinder, anchor: Anchor, lookalikes: set[str]) -> FoundAnchor:
    equal = [one for one in finder.files_like(anchor.now, anchor.body) if one not in lookalikes]
    if len(equal) == 1:
        return _at_file(finder, anchor._replace(evidence="same body"), equal[0])
    return _at_enclosing(finder, anchor, equal)


def _at_package(finder: CodeFinder, anchor: Anchor, id: str, card_path: str) -> FoundAnchor:
    shape = finder.package_shape(id)
    home = _at_home(anchor, id, id, card_path, card_path)
    return FoundAnchor(home._replace(written=anchor.written or shape, now=shape, body=shape, seen=shape))


def _lost_package(finder: CodeFinder, anchor: Anchor) -> FoundAnchor:
    equal = finder.packages_like(anchor.body)
    if len(equal) == 1:
        card_path = f"{finder.packages(equal)[equal[0]] or '.'}/"
        return _at_package(finder, anchor._replace(evidence="same body"), equal[0], card_path)
    return _at_enclosing(finder, anchor, equal)


def _at_enclosing(finder: CodeFinder, anchor: Anchor, several: list[str], fate: str = "") -> FoundAnchor:
    """The anchor at what still exists around its code; `fate` says why. `several`: the code that it may have become."""
    if not fate:
        what = anchor.home_name
        fate = f"was about {what}, which is gone"
        if several:
            more = f" and {len(several) - _MOST_NAMED:,} more" if len(several) > _MOST_NAMED else ""
            fate = f"was about {what}, whose code may now be {' or '.join(several[:_MOST_NAMED])}{more}"
    level, target, name, card_path = _enclosing(finder, anchor)
    return FoundAnchor(
        anchor._replace(level=level, target=target, name=name, card_path=card_path, fate=fate, evidence=LEFT)
    )


def _enclosing(finder: CodeFinder, anchor: Anchor) -> tuple[str, str, str, str]:
    """Level, id, name and card path of the smallest unit around the anchor's code that still exists."""
    if anchor.home_level == "symbol" and finder.files([anchor.file]):
        return ("file", anchor.file, anchor.file, anchor.file)
    directory = "" if anchor.home_level == "package" else anchor.file.rpartition("/")[0]
    package = finder.package_in(directory) if anchor.home_level != "package" else ""
    if package:
        return ("package", package, package, f"{directory or '.'}/")
    return ("repository", REPOSITORY_ID, ".", "")
