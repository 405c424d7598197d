"""Builds and stores the cards: all of them, or those that a change has made wrong.

A full build reads the graph once. After a change of a few files, only their cards are rebuilt, and those of other files
that mention their lines or are called from them; ranks stay as of the last full build, history as of the last full
build or new HEAD.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.cards.annotations import AnnotationReader
from golore.graph.cards.card_plan import CARD_EDGES, CARD_NODES, CardPlan, load_plan, make_plan, save_plan
from golore.graph.cards.card_rows import CardRows, ShareFacts, build_rows, card_row, facts_of_share, symbol_rows
from golore.graph.cards.card_store import Card, CardStore, SymbolLine, create_card_store
from golore.graph.cards.card_text import (
    MAX_CARD_CHARACTERS,
    file_texts,
    own_text,
    symbol_texts,
)
from golore.graph.cards.card_users import Users
from golore.graph.cards.edit_effects import EditEffects, shift_lines
from golore.graph.cards.package_builder import (
    added_or_removed,
    all_package_cards,
    annotated_text,
    base_text,
    build_packages,
    has_other_directories,
)
from golore.graph.cards.package_cards import prominence_of
from golore.graph.cards.related_files import Surroundings, by_directory
from golore.graph.cards.stored_ranks import StoredRanks, file_rows
from golore.graph.database.graph_tables import GraphTables, NumberedGraph, SpooledGraph, number_rows
from golore.graph.database.store import Store
from golore.graph.files.manifest import read_manifest
from golore.graph.gc_pause import gc_disabled
from golore.graph.history.co_change import History, directory_of, file_histories
from golore.graph.model.tables import META_TABLE
from golore.graph.progress import Progress
from golore.graph.queries.names.short_names import Naming, ShortNames, assumed_short_name
from golore.graph.queries.share_tables import ShareTables
from golore.graph.queries.single_file import SingleFile

_MOST_SINGLE: Final = 100
"""For more changed files than this, reading the whole graph is quicker than querying around each of them."""
_MOST_TOUCHED: Final = 200
"""Most cards of unchanged files that a learn rebuilds because another file changed."""
_MOST_AT_ONCE: Final = 10
"""Like `_MOST_TOUCHED`, for an incremental update after an edit, while somebody works."""
_WAITING_KEY: Final = "waiting"
"""Meta: the files whose cards are outdated although the files have not changed."""
_HISTORY_KEY: Final = "history"
"""Meta: the HEAD that the stored history was read at."""
TASKS: Final = "tasks"
"""Meta: the open tasks as text, shown at the start of a session."""
_TEXT_VERSION: Final = "7"
"""Version of the card texts. Cards of another version are rebuilt."""


class ChangedFiles(NamedTuple):
    """The Go files that changed between two states of the graph, `since` and `state`. `ripple` has the effects on the
    cards of other files, if they are known."""

    paths: Collection[str]
    since: str = ""
    state: str = ""
    effects: EditEffects | None = None


class BuiltCards(NamedTuple):
    """The number of cards that were built, and whether this was a full build."""

    cards: int
    is_full: bool


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
    """Update the cards to match the graph. `history` is called only for a new HEAD or a full build.

    `changed`: the files that changed since the last build, if known; then the digests of all files are not compared.
    `whole` asks for a full build.
    """
    is_new_history = card_store.meta(_HISTORY_KEY) != head.encode()
    if changed is not None and not (changed.paths or whole or is_new_history) and _is_same_build(store, card_store):
        return BuiltCards(0, False)
    version = _build_version(store)
    whole = whole or card_store.meta("edition") != version
    if changed is not None and not whole and not is_new_history and len(changed.paths) <= _MOST_SINGLE:
        whole = has_other_directories(store, card_store, changed.paths)
        if not whole:
            effects = changed.effects
            return _build_some(store, card_store, changed.paths, effects) if changed.paths else BuiltCards(0, False)
    known = card_store.digests()
    paths, digests = store.columns("MATCH (f:File) RETURN f.id, f.digest")
    now: dict[str, str] = dict(zip(paths, digests, strict=True))
    outdated = {path for path in known.keys() | now.keys() if known.get(path) != now.get(path)}
    whole = whole or not known or len(outdated) > _MOST_SINGLE
    whole = whole or has_other_directories(store, card_store, outdated)
    if is_new_history and not whole:
        outdated |= _update_history(card_store, history(), head, now)
    if whole or len(outdated) > _MOST_SINGLE:
        with gc_disabled():
            found = collect_facts(store, history())
            built = _build_all(found, store.directory, ShortNames(store), card_store, head, progress)
        card_store.set_meta("edition", version)
        return built
    return _build_some(store, card_store, outdated, None) if outdated or _waiting(card_store) else BuiltCards(0, False)


def _is_same_build(store: Store, card_store: CardStore) -> bool:
    """Whether the cards have the version of this golore and are of the current graph. Does not open the graph."""
    manifest = read_manifest(store.directory)
    built = (card_store.meta("edition") or b"").decode().split(" ")
    return manifest is not None and (built[0], built[-1]) == (_TEXT_VERSION, manifest.graph)


def _build_version(store: Store) -> bytes:
    """What the cards of unchanged files depend on: the version of the extractor that made the graph, the version of the
    card texts, and which graph it is. An import or a restore brings another graph, with other notes."""
    extractor = [value for (value,) in store.rows(f"MATCH (m:{META_TABLE} {{id: 'extractor'}}) RETURN m.value")]
    manifest = read_manifest(store.directory)
    return f"{_TEXT_VERSION} {' '.join(extractor)} {manifest.graph if manifest else ''}".encode()


def withdraw_built_cards(card_store: CardStore) -> None:
    """Record that the cards belong to no graph: the next build makes all of them again."""
    card_store.set_meta("edition", b"")


def collect_facts(tables: GraphTables, history: History | None) -> ShareFacts:
    """What all cards of a graph are made of, apart from annotations."""
    with gc_disabled():
        return facts_of_share(tables, make_plan(tables, history))


def build_cards_beside(found: ShareFacts, directory: Path, card_store: CardStore, head: str) -> None:
    """Build all cards of a graph that is being loaded into a store without notes and summaries. Call
    `withdraw_built_cards` before, and `record_built_cards` when the graph is current."""
    with gc_disabled():
        _build_all(found, directory, assumed_short_name, card_store, head, None)


class CardShare(NamedTuple):
    """A share of the cards of a graph that is being loaded, which any process can build (see `share_cards`)."""

    directory: Path
    """the store"""
    plan: Path
    rows: Path
    number: int


def share_cards(
    graph: SpooledGraph, rows: Path, directory: Path, history: History | None, shares: int
) -> list[CardShare]:
    """Prepare to build all cards of a graph that is being loaded, as `build_cards_beside` does, in several processes.

    `rows`: the directory of the load, where the plan and the numbered rows are saved. Build each share with
    `build_share` when documents and recent commits are stored, and pass all results to `store_shares`.
    """
    with gc_disabled():
        plan = make_plan(graph, history, shares)
        plan_file, numbered = rows / "cards.plan", rows / "cards"
        save_plan(plan, plan_file)
        number_rows(graph, numbered, CARD_NODES, CARD_EDGES)
    return [CardShare(directory, plan_file, numbered, number) for number in range(len(plan.shares))]


def build_share(share: CardShare) -> CardRows:
    """Build the cards of a share. Writes nothing."""
    with gc_disabled(), AnnotationReader(share.directory, naming=assumed_short_name) as annotation_reader:
        plan = load_plan(share.plan)
        tables = ShareTables(NumberedGraph(share.rows), plan.shares[share.number])
        return build_rows(facts_of_share(tables, plan, share.number), annotation_reader)


def store_shares(
    card_store: CardStore, shares: Sequence[CardShare], built: Sequence[CardRows], head: str
) -> BuiltCards:
    """Store the cards of all shares. Call `withdraw_built_cards` before, and `record_built_cards` when the graph is
    current."""
    first = shares[0]
    with gc_disabled(), AnnotationReader(first.directory, naming=assumed_short_name) as annotation_reader:
        plan = load_plan(first.plan)
        return store_cards(NumberedGraph(first.rows), card_store, annotation_reader, plan, built, head)


def record_built_cards(store: Store, card_store: CardStore) -> None:
    """Record that all cards are those of the current graph."""
    card_store.set_meta("edition", _build_version(store))


def _build_all(
    found: ShareFacts,
    directory: Path,
    naming: Naming,
    card_store: CardStore,
    head: str,
    progress: Progress | None,
) -> BuiltCards:
    with AnnotationReader(directory, naming=naming) as annotation_reader:
        rows = build_rows(found, annotation_reader, progress)
        return store_cards(found.tables, card_store, annotation_reader, found.plan, [rows], head)


def store_cards(
    tables: GraphTables,
    card_store: CardStore,
    annotation_reader: AnnotationReader,
    plan: CardPlan,
    built: Sequence[CardRows],
    head: str,
) -> BuiltCards:
    """Replace all cards by these, which were built for the shares of a plan."""
    files = [path for share in plan.shares for path in share]
    importers = {directory: number for rows in built for directory, number in rows.importers.items()}
    prominent = prominence_of(files, importers, plan.ranks, plan.busy)
    texts = sorted(text for rows in built for text in rows.packages)
    # Sorted by the primary key: inserting is faster.
    cards = [Card(*row) for row in sorted(row for rows in built for row in rows.cards)]
    cards += all_package_cards(tables, card_store, annotation_reader, files, texts, prominent)
    symbols = sorted((row for rows in built for row in rows.symbols), key=lambda row: row[3])
    card_store.set_meta(TASKS, annotation_reader.tasks().encode())
    card_store.replace_all(cards, (SymbolLine(*row) for row in symbols))
    card_store.replace_files(plan.rows)
    card_store.set_meta(_HISTORY_KEY, head.encode())
    card_store.set_meta(_WAITING_KEY, b"[]")
    return BuiltCards(len(cards), True)


def _update_history(card_store: CardStore, history: History | None, head: str, files: Mapping[str, str]) -> set[str]:
    """Replace the stored couplings by those of a new HEAD. Returns the files whose number of commits changed."""
    all_files = files.keys() | _unlearned_files(history, files)
    coupled = file_histories(history, all_files)
    ranks = StoredRanks(card_store)
    before = {path: _commits(card_store, path) for path in files}
    card_store.replace_files(file_rows(all_files, by_directory(all_files), ranks, coupled))
    card_store.set_meta(_HISTORY_KEY, head.encode())
    after = {path: coupled[path].commits if path in coupled else 0 for path in files}
    return {path for path in files if before[path] != after[path]}


def _commits(card_store: CardStore, path: str) -> int:
    found = card_store.rank_and_history(path)
    return int(found[1].split(",", 2)[1]) if found and found[1] else 0


def _build_some(
    store: Store, card_store: CardStore, changed: Collection[str], effects: EditEffects | None
) -> BuiltCards:
    """Rebuild the cards of changed files first, since one of them is likely to be read next, then the affected ones.

    Of the latter at most `_MOST_TOUCHED`, or `_MOST_AT_ONCE` if the effects are known; the rest wait for the next call.
    """
    graph, stored = SingleFile(store), StoredRanks(card_store)
    directories = {directory_of(path) for path in added_or_removed(store, card_store, changed)}
    most = _MOST_TOUCHED if effects is None else _MOST_AT_ONCE
    with (
        ThreadPoolExecutor(1) as thread,
        AnnotationReader(store.directory, naming=ShortNames(store)) as annotation_reader,
    ):
        # SQLite searches all texts meanwhile, which takes as long as the queries for a card at Kubernetes' size.
        mentions = thread.submit(_find_mentions, store.directory, changed)
        called = _build_files(graph, card_store, stored, annotation_reader, sorted(changed))
        mentioning = _shift_lines(card_store, mentions.result(), changed, (effects or EditEffects()).lines)
        waiting = _waiting(card_store)
        used = called if effects is None else effects.files
        # A wrong line number is worse than a count that is off by one.
        affected = [*sorted(mentioning), *sorted((waiting | used) - mentioning - set(changed))]
        _build_files(graph, card_store, stored, annotation_reader, affected[:most])
        build_packages(store, card_store, stored, annotation_reader, directories)
    if waiting or affected[most:]:
        card_store.set_meta(_WAITING_KEY, json.dumps(affected[most:]).encode())
    return BuiltCards(len(changed) + len(affected[:most]), False)


class _Mentions(NamedTuple):
    """The texts that mention lines of changed files: main texts of cards by path, and symbol lines with their path by
    row id."""

    cards: dict[str, str]
    symbols: dict[int, tuple[str, str]]


def _find_mentions(store_directory: Path, changed: Collection[str]) -> _Mentions:
    """The texts of other files that mention lines of these. Those of the changed files themselves are built again."""
    found = _Mentions({}, {})
    with create_card_store(store_directory) as card_store:
        for path in changed:
            found.cards.update(card_store.cards_mentioning(path))
            found.symbols.update((row, (at, text)) for row, at, text in card_store.symbol_lines_mentioning(path))
    return _Mentions(
        {path: text for path, text in found.cards.items() if path not in changed},
        {row: (path, text) for row, (path, text) in found.symbols.items() if path not in changed},
    )


def _shift_lines(
    card_store: CardStore, mentions: _Mentions, changed: Collection[str], lines: Mapping[str, Mapping[int, int]]
) -> set[str]:
    """Update the line numbers that cards mention. Returns the files whose cards must be rebuilt instead."""
    failed: set[str] = set()
    cards: list[tuple[str, str]] = []
    symbols: list[tuple[int, str]] = []
    for path, text in mentions.cards.items():
        shifted = _shifted(text, changed, lines)
        # A number of another length changes what fits on a card that is nearly full.
        if shifted is None or (len(shifted) != len(text) and len(shifted) > MAX_CARD_CHARACTERS // 2):
            failed.add(path)
        elif shifted != text:
            cards.append((path, shifted))
    for row, (path, text) in mentions.symbols.items():
        shifted = _shifted(text, changed, lines)
        if shifted is None:
            failed.add(path)
        elif shifted != text:
            symbols.append((row, shifted))
    card_store.update_texts(cards, symbols)
    return {path for path in failed if path.endswith(".go")}


def _shifted(text: str, changed: Collection[str], lines: Mapping[str, Mapping[int, int]]) -> str | None:
    """The text with the new line numbers of all changed files (see `shift_lines`)."""
    shifted: str | None = text
    for path in changed:
        shifted = None if shifted is None else shift_lines(shifted, path, lines.get(path, {}))
    return shifted


class BodyEditCard(NamedTuple):
    """A file in which only function bodies were edited, so that the main part of its card is still right: its digests
    before and after, and what its tests call (see `own_text`)."""

    path: str
    before: str
    digest: str
    exercised: Sequence[tuple[str, str]]


def refresh_card_early(card_store: CardStore, file: BodyEditCard) -> None:
    """Refresh the card of a file whose edit changed only function bodies, before the graph is updated.

    Does nothing if the card does not have the digest `before`, or if the new own part does not fit beside the main one.
    """
    card = card_store.card(file.path, include_empty=True)
    if card is not None:
        own = own_text(file.path, file.exercised, is_alone=not card.main)
        if len(card.main) + 1 + len(own) <= MAX_CARD_CHARACTERS:
            card_store.update_own_part(file.path, file.before, file.digest, own)


def _waiting(card_store: CardStore) -> set[str]:
    """The files whose cards are outdated although the files have not changed."""
    return set(json.loads(card_store.meta(_WAITING_KEY) or b"[]"))


def _build_files(
    graph: SingleFile,
    card_store: CardStore,
    stored: StoredRanks,
    annotation_reader: AnnotationReader,
    paths: list[str],
) -> set[str]:
    """Build the cards of these files. Returns the files that they call into."""
    around = Surroundings(stored.coupled, card_store.files_in, card_store.files_with_stem)
    cards: list[Card] = []
    symbols: list[SymbolLine] = []
    called: set[str] = set()
    for facts in filter(None, map(graph.facts, paths)):
        users = Users(facts, stored)
        annotations = annotation_reader.annotations_at(facts.path)
        cards.append(Card(*card_row(facts, stored.coupled(facts.path), around, users, annotations)))
        symbols += [SymbolLine(*row) for row in symbol_rows(facts, users)]
        called.update(facts.calls)
    card_store.replace(cards, symbols, paths)
    return called


def rebuild_cards_of(store_directory: Path, card_paths: Collection[str]) -> None:
    """Like `rebuild_cards`, opening the store; used when summaries have changed. Does nothing without card paths."""
    if card_paths:
        with Store.open(store_directory, write=False) as store, create_card_store(store_directory) as card_store:
            rebuild_cards(store, card_store, card_paths)


def rebuild_cards(store: Store, card_store: CardStore, card_paths: Collection[str]) -> None:
    """Rebuild the cards of these files, packages and the repository, because annotations have changed, and the list of
    open tasks."""
    files = sorted(card_path for card_path in card_paths if card_path.endswith(".go"))
    with AnnotationReader(store.directory, naming=ShortNames(store)) as annotation_reader:
        if files:
            _build_files(SingleFile(store), card_store, StoredRanks(card_store), annotation_reader, files)
        for card_path in sorted(set(card_paths).difference(files)):
            card = card_store.card(card_path, include_empty=True)
            if card is not None:
                annotations = annotation_reader.annotations_at(card_path)
                text = annotated_text(card_store, card_path, base_text(card_store, card), annotations)
                card_store.replace([Card(card_path, "", text, card.related)], (), [card_path])
        card_store.set_meta(TASKS, annotation_reader.tasks().encode())


def with_package_files(card_store: CardStore, card_paths: Collection[str]) -> set[str]:
    """These card paths and the files of the packages among them: the cards of files show notes of their package too."""
    return {
        *card_paths,
        *(file for card_path in card_paths if card_path.endswith("/") for file in card_store.files_in(card_path)),
    }


def _unlearned_files(history: History | None, files: Mapping[str, object]) -> set[str]:
    """Go files that the graph does not have, such as those in testdata: their cards have related files, but no text."""
    return set(history.files - files.keys()) if history is not None else set()


def card_text(store: Store, card_store: CardStore, path: str, longest: int) -> str:
    """A file's card of at most `longest` characters, built from the current graph; empty if it has no such file."""
    facts = SingleFile(store).facts(path)
    if facts is None:
        return ""
    stored = StoredRanks(card_store)
    with AnnotationReader(store.directory, naming=ShortNames(store)) as annotation_reader:
        main, own = file_texts(
            facts, stored.coupled(path), Users(facts, stored), longest, annotation_reader.annotations_at(path)
        )
        return Card(path, facts.digest, main, own=own).text


def declaration_text(store: Store, card_store: CardStore, path: str, qualified_name: str) -> str:
    """The lines about one declaration of a file; empty if it is not found."""
    facts = SingleFile(store).facts(path)
    if facts is None:
        return ""
    found = [symbol for symbol in facts.symbols if symbol.qualified_name == qualified_name]
    return "\n".join(text for _, text in symbol_texts(facts, found, Users(facts, StoredRanks(card_store))))
