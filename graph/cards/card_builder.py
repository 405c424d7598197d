"""Makes the cards and puts them into the deck: all of them, or those that a change has made untrue.

A whole deal reads the graph once. After a change of few files only their cards are made again, and the cards of others
that name lines of them or are used by them; ranks and history stay as they were at the last whole deal or new HEAD.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.cards.annotations import NOTHING, AnnotationReader, Annotations
from golore.graph.cards.card_store import Card, CardStore, SymbolLine, create_card_store
from golore.graph.cards.card_text import LONGEST, Users, file_texts, own_text, symbol_texts, with_annotations
from golore.graph.cards.edit_effects import EditEffects, shift_lines
from golore.graph.cards.package_cards import OutsideUse, importers_of, overview_text, package_texts
from golore.graph.cards.page_rank import importance
from golore.graph.cards.related_files import Surroundings, by_directory, stem_of, surroundings
from golore.graph.cards.related_reasons import related_files
from golore.graph.database.store import Store
from golore.graph.files.manifest import read_manifest
from golore.graph.gc_pause import no_collection
from golore.graph.history.co_change import Coupled, History, Partner, couplings, directory_of
from golore.graph.model.tables import META_TABLE
from golore.graph.progress import Progress
from golore.graph.queries.file_facts import FileFacts, SingleFile, UnresolvedName, WholeGraph

_MOST_SINGLE: Final = 100
"""Files from which reading the whole graph is quicker than looking around each."""
_MOST_TOUCHED: Final = 200
_MOST_AT_ONCE: Final = 10
"""Cards that are made again only because of a change elsewhere: by a learn, and after an edit while one works."""
_WAITING: Final = "waiting"
_BASE: Final = "base"
_LISTED: Final = frozenset(("func", "method", "struct", "interface", "type", "alias", "var", "const"))
_HISTORY: Final = "history"
_encoder: Final = msgspec.json.Encoder()
TASKS: Final = "tasks"
"""The deck's note of the tasks that are open, which the beginning of a session is told."""
_EDITION: Final = "1"
"""Of what cards say and how; another one makes all of them anew."""


class ChangedFiles(NamedTuple):
    """The Go files that have changed from one state of the graph to another, and what that means for the cards of other
    files, where it is known."""

    paths: Collection[str]
    since: str = ""
    state: str = ""
    ripple: EditEffects | None = None


class BuiltCards(NamedTuple):
    """How many cards were made, and whether all were."""

    cards: int
    whole: bool


def build_cards(
    store: Store,
    card_store: CardStore,
    history: Callable[[], History | None],
    head: str = "",
    *,
    changed: ChangedFiles | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> BuiltCards:
    """Bring the deck up to date with the graph. `history` is asked only where HEAD is another than last time.

    Where it is known which files have changed since the last deal, nothing else is looked at.
    """
    is_new_history = card_store.meta(_HISTORY) != head.encode()
    edition = _edition_of(store)
    whole = whole or card_store.meta("edition") != edition
    if changed is not None and not whole and not is_new_history and len(changed.paths) <= _MOST_SINGLE:
        return _build_some(store, card_store, changed.paths, changed.ripple) if changed.paths else BuiltCards(0, False)
    known = card_store.digests()
    paths, digests = store.columns("MATCH (f:File) RETURN f.id, f.digest")
    now: dict[str, str] = dict(zip(paths, digests, strict=True))
    other = {path for path in known.keys() | now.keys() if known.get(path) != now.get(path)}
    whole = whole or not known or len(other) > _MOST_SINGLE
    if is_new_history and not whole:
        other |= _renew_history(card_store, history(), head, now)
    if whole or len(other) > _MOST_SINGLE:
        with no_collection():
            dealt = _build_all(store, card_store, history, head, progress)
        card_store.set_meta("edition", edition)
        return dealt
    return _build_some(store, card_store, other, None) if other or _waiting(card_store) else BuiltCards(0, False)


def _edition_of(store: Store) -> bytes:
    """What the cards of unchanged files depend on: the golore that made the graph, the golore that makes the cards, and
    which graph it is. An import or a restore brings another graph, with other notes."""
    made_by = [value for (value,) in store.rows(f"MATCH (m:{META_TABLE} {{id: 'extractor'}}) RETURN m.value")]
    manifest = read_manifest(store.directory)
    return f"{_EDITION} {' '.join(made_by)} {manifest.graph if manifest else ''}".encode()


def _build_all(
    store: Store, card_store: CardStore, history: Callable[[], History | None], head: str, progress: Progress | None
) -> BuiltCards:
    with ThreadPoolExecutor(1) as beside:
        # Most of this is another program's work, for as long as reading the graph takes.
        reading = beside.submit(history)
        graph = WholeGraph(store)
        ranks = importance(graph.files, graph.uses)
        past = reading.result()
    beyond = _beyond(past, graph.files)
    everything = graph.files.keys() | beyond
    coupled = couplings(past, everything)
    around = surroundings(coupled, everything)
    if progress is not None:
        progress.stage("Cards", len(graph.files))
    cards: list[Card] = []
    symbols: list[SymbolLine] = []
    outside = OutsideUse()
    with AnnotationReader(store.directory) as annotation_reader:
        for path in sorted(graph.files):
            facts = graph.facts(path)
            users = Users(facts, ranks)
            cards.append(_card(facts, coupled.get(path), around, users, annotation_reader.of(path)))
            symbols += _symbol_lines(facts, users)
            outside.add(facts)
            if progress is not None:
                progress.tick(1)
        cards += [_card_beyond(path, coupled.get(path), around) for path in sorted(beyond)]
        importers = importers_of(graph)
        texts = [
            *package_texts(store, graph, outside, importers, ranks, coupled),
            ("", overview_text(store, graph, importers, ranks, coupled)),
        ]
        cards += [
            Card(place, "", _with_annotations(card_store, place, text, annotation_reader.of(place)))
            for place, text in texts
        ]
        card_store.set_meta(TASKS, annotation_reader.tasks().encode())
    card_store.replace_all(cards, symbols)
    card_store.replace_files(_file_rows(everything, by_directory(everything), ranks, coupled))
    card_store.set_meta(_HISTORY, head.encode())
    card_store.set_meta(_WAITING, b"[]")
    return BuiltCards(len(cards), True)


def _renew_history(card_store: CardStore, history: History | None, head: str, files: Mapping[str, str]) -> set[str]:
    """Put the couplings of a new HEAD in the place of the old; which files have other commits than before."""
    everything = files.keys() | _beyond(history, files)
    coupled = couplings(history, everything)
    ranks = _StoredRanks(card_store)
    before = {path: _commits(card_store, path) for path in files}
    rows = list(_file_rows(everything, by_directory(everything), ranks, coupled))
    card_store.replace_files(rows)
    card_store.set_meta(_HISTORY, head.encode())
    after = {path: coupled[path].commits if path in coupled else 0 for path in files}
    return {path for path in files if before[path] != after[path]}


def _commits(card_store: CardStore, path: str) -> int:
    found = card_store.rank_and_history(path)
    return int(found[1].split(",", 2)[1]) if found and found[1] else 0


def _build_some(
    store: Store, card_store: CardStore, changed: Collection[str], ripple: EditEffects | None
) -> BuiltCards:
    """Those of changed files first, since one of them is what will be looked at; then those they have an effect on.

    Of the latter only so many at once; the others wait for the next time.
    """
    graph, standing = SingleFile(store), _StoredRanks(card_store)
    most = _MOST_TOUCHED if ripple is None else _MOST_AT_ONCE
    with AnnotationReader(store.directory) as annotation_reader:
        called = _build_these(graph, card_store, standing, annotation_reader, sorted(changed))
        named = _shift_lines(card_store, changed, {} if ripple is None else ripple.lines)
        waiting = _waiting(card_store)
        used = called if ripple is None else ripple.files
        # Lines that have moved are worse than a count that is off by one.
        touched = [*sorted(named.difference(changed)), *sorted((waiting | used) - named - set(changed))]
        _build_these(graph, card_store, standing, annotation_reader, touched[:most])
    if waiting or touched[most:]:
        card_store.set_meta(_WAITING, json.dumps(touched[most:]).encode())
    return BuiltCards(len(changed) + len(touched[:most]), False)


def _shift_lines(card_store: CardStore, changed: Collection[str], lines: Mapping[str, Mapping[int, int]]) -> set[str]:
    """Give other cards the new numbers of the lines they name; returns the files whose cards must be made again."""
    failed: set[str] = set()
    for path in sorted(changed):
        known = lines.get(path, {})
        cards: list[tuple[str, str]] = []
        symbols: list[tuple[int, str]] = []
        for place, text in card_store.mentioning(path):
            moved = shift_lines(text, path, known)
            # A longer number may leave less room for the rest.
            if moved is None or (len(moved) != len(text) and ("left out" in text or len(moved) > LONGEST)):
                failed.add(place)
            elif moved != text:
                cards.append((place, moved))
        for row, place, text in card_store.symbols_mentioning(path):
            moved = shift_lines(text, path, known)
            if moved is None:
                failed.add(place)
            elif moved != text:
                symbols.append((row, moved))
        card_store.update_texts(cards, symbols)
    return {place for place in failed if place.endswith(".go")}


class BodyEditCard(NamedTuple):
    """A file that was edited in bodies alone, so that what its card tells of others has not changed: its digests, and
    what its own part is made of."""

    path: str
    before: str
    digest: str
    exercised: Sequence[tuple[str, str]]
    unresolved: Sequence[UnresolvedName]


def refresh_card_early(card_store: CardStore, file: BodyEditCard) -> None:
    """Bring the card of an edited file up to date before the graph is; not where it is of other contents than those
    before the edit, or the new part leaves less room for the other."""
    card = card_store.card(file.path, silent=True)
    if card is not None:
        own = own_text(file.exercised, file.unresolved, is_alone=not card.told)
        if len(card.told) + 1 + len(own) <= LONGEST:
            card_store.update_own_part(file.path, file.before, file.digest, own)


def _waiting(card_store: CardStore) -> set[str]:
    """Files whose cards are behind, although the files themselves have not changed."""
    return set(json.loads(card_store.meta(_WAITING) or b"[]"))


def _build_these(
    graph: SingleFile,
    card_store: CardStore,
    standing: _StoredRanks,
    annotation_reader: AnnotationReader,
    paths: list[str],
) -> set[str]:
    """Make these cards; returns the files that theirs call into."""
    around = Surroundings(standing.coupled, card_store.files_in, card_store.files_with_stem)
    cards: list[Card] = []
    symbols: list[SymbolLine] = []
    called: set[str] = set()
    for facts in filter(None, map(graph.facts, paths)):
        users = Users(facts, standing)
        cards.append(_card(facts, standing.coupled(facts.path), around, users, annotation_reader.of(facts.path)))
        symbols += _symbol_lines(facts, users)
        called.update(facts.calls)
    card_store.replace(cards, symbols, paths)
    return called


def rebuild_cards_of(store_directory: Path, places: Collection[str]) -> None:
    """Make the cards of these places anew, as what summaries say of them is new."""
    if places:
        with Store.open(store_directory, write=False) as store, create_card_store(store_directory) as card_store:
            rebuild_cards(store, card_store, places)


def rebuild_cards(store: Store, card_store: CardStore, places: Collection[str]) -> None:
    """Make the cards of these files, packages and the repository again, since what is known beyond structure has
    changed; and what there is to do."""
    files = sorted(place for place in places if place.endswith(".go"))
    with AnnotationReader(store.directory) as annotation_reader:
        if files:
            _build_these(SingleFile(store), card_store, _StoredRanks(card_store), annotation_reader, files)
        for place in sorted(set(places).difference(files)):
            card = card_store.card(place, silent=True)
            if card is not None:
                base = card_store.meta(f"{_BASE} {place}")
                text = _with_annotations(
                    card_store, place, base.decode() if base else card.text, annotation_reader.of(place)
                )
                card_store.replace([Card(place, "", text, card.related)], (), [place])
        card_store.set_meta(TASKS, annotation_reader.tasks().encode())


def with_package_files(card_store: CardStore, places: Collection[str]) -> set[str]:
    """These places and the files of the packages among them: their cards show notes of the package, too."""
    return {*places, *(file for place in places if place.endswith("/") for file in card_store.files_in(place))}


def _with_annotations(card_store: CardStore, place: str, text: str, lore: Annotations) -> str:
    """The card of a package or the repository with its lore; without, it is kept beside, as it takes the whole graph
    to make."""
    name = f"{_BASE} {place}"
    if lore != NOTHING or card_store.meta(name):
        card_store.set_meta(name, b"" if lore == NOTHING else text.encode())
    return with_annotations(text, lore)


def _card(facts: FileFacts, coupled: Coupled | None, around: Surroundings, users: Users, lore: Annotations) -> Card:
    told, own = file_texts(facts, coupled, users, lore=lore)
    return Card(facts.path, facts.digest, told, _packed(related_files(facts, coupled, around)), own)


def _beyond(history: History | None, files: Mapping[str, object]) -> set[str]:
    """Go files that the graph does not have, such as those in testdata: they have related files, but no text."""
    return set(history.files - files.keys()) if history is not None else set()


def _card_beyond(path: str, coupled: Coupled | None, around: Surroundings) -> Card:
    nothing = FileFacts(path, "", "", path.endswith("_test.go"), False, (), (), (), (), (), (), (), {}, (), ())
    return Card(path, "", "", _packed(related_files(nothing, coupled, around)))


def _symbol_lines(facts: FileFacts, users: Users) -> Iterator[SymbolLine]:
    """Of what a prompt may name: declarations that others can use or do use."""
    if facts.test or facts.generated:
        return
    wanted = (symbol for symbol in facts.symbols if symbol.kind in _LISTED and symbol.name != "_")
    for symbol, text in symbol_texts(facts, wanted, users):
        yield SymbolLine(symbol.name, symbol.qualified_name, symbol.kind, symbol.file, symbol.line, text)


def _file_rows(
    files: Iterable[str],
    places: Mapping[str, object],
    ranks: Mapping[str, float],
    coupled: Mapping[str, Coupled],
) -> Iterator[tuple[str, str, str, float, str]]:
    # In order, as the table is: they are put in twice as quickly.
    for path in sorted(files):
        yield path, directory_of(path), stem_of(path), ranks.get(path, 0.0), _history(coupled.get(path))
    for place in places:
        yield place, "", "", 0.0, _history(coupled.get(place))


def _history(coupled: Coupled | None) -> str:
    return "" if coupled is None else _packed(coupled[1:])


def _packed(value: object) -> str:
    """As JSON, without spaces; Python's own way takes ten times as long, and there are a million parts."""
    return _encoder.encode(value).decode()


class _StoredRanks(Mapping[str, float]):
    """Ranks and couplings as the deck has them, looked up when they are asked for."""

    def __init__(self, card_store: CardStore) -> None:
        self._deck = card_store
        self._known: dict[str, tuple[float, str]] = {}
        self._coupled: dict[str, Coupled | None] = {}

    def __getitem__(self, path: str) -> float:
        return self._found(path)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def coupled(self, path: str) -> Coupled | None:
        if path not in self._coupled:
            text = self._found(path)[1]
            self._coupled[path] = _unpacked(path, text) if text else None
        return self._coupled[path]

    def _found(self, path: str) -> tuple[float, str]:
        if path not in self._known:
            self._known[path] = self._deck.rank_and_history(path) or (0.0, "")
        return self._known[path]


def _unpacked(path: str, text: str) -> Coupled:
    mass, commits, busy, partners = json.loads(text)
    return Coupled(path, mass, commits, busy, tuple(Partner(*partner) for partner in partners))


def card_text(store: Store, card_store: CardStore, path: str, longest: int) -> str:
    """A file's card at another length, made from the graph as it is now."""
    facts = SingleFile(store).facts(path)
    if facts is None:
        return ""
    standing = _StoredRanks(card_store)
    with AnnotationReader(store.directory) as annotation_reader:
        told, own = file_texts(
            facts, standing.coupled(path), Users(facts, standing), longest, annotation_reader.of(path)
        )
        return Card(path, facts.digest, told, own=own).text


def declaration_text(store: Store, card_store: CardStore, path: str, qualified_name: str) -> str:
    """What there is to say of one declaration of a file."""
    facts = SingleFile(store).facts(path)
    if facts is None:
        return ""
    found = [one._replace(exported=True) for one in facts.symbols if one.qualified_name == qualified_name]
    return "\n".join(text for _, text in symbol_texts(facts, found, Users(facts, _StoredRanks(card_store))))
