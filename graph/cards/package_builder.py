"""Stores the cards of packages and the repository, and rebuilds them where files were added or removed.

What they say is decided in `package_cards`. If directories appear or disappear, many of these cards are wrong, and
`card_builder` makes all cards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec
from golore.graph.cards.annotations import NO_ANNOTATIONS, AnnotationReader, Annotations
from golore.graph.cards.card_store import Card, CardStore
from golore.graph.cards.card_text import with_annotations
from golore.graph.cards.package_cards import (
    PackageUse,
    Prominence,
    overview_text,
    package_texts,
    use_of_files,
)
from golore.graph.cards.stored_ranks import StoredRanks, to_json
from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.store import Store
from golore.graph.history.co_change import directory_of
from golore.graph.queries.single_file import SingleFile

_StoredProminence = tuple[tuple[tuple[str, int], ...], tuple[str, ...], tuple[str, ...]]
"""The fields of `Prominence`: a compiled named tuple does not say what its fields contain."""
_PROMINENCE_KEY: Final = "prominence"
"""Meta: the `Prominence` of the last full build, as JSON."""
_BASE_KEY: Final = "base"
"""Meta, with a card path: the text of a package or repository card without annotations."""


def all_package_cards(
    tables: GraphTables,
    card_store: CardStore,
    annotation_reader: AnnotationReader,
    files: Collection[str],
    texts: Iterable[tuple[str, str]],
    prominent: Prominence,
) -> list[Card]:
    """The cards of all packages, which have these texts, and of the repository, which has these files."""
    card_store.set_meta(_PROMINENCE_KEY, to_json(prominent).encode())
    overview = ("", overview_text(tables, files, prominent))
    return _annotated_cards(card_store, annotation_reader, [*texts, overview])


def added_or_removed(store: Store, card_store: CardStore, changed: Iterable[str]) -> list[str]:
    """Those of the changed files that have a card and are no longer in the graph, or the other way round."""
    return [path for path in sorted(changed) if _is_in(store, path) != _has_card(card_store, path)]


def _is_in(store: Store, path: str) -> bool:
    return any(True for _ in store.rows("MATCH (f:File {id: $id}) RETURN f.id", {"id": path}))


def _has_card(card_store: CardStore, path: str) -> bool:
    card = card_store.card(path, include_empty=True)
    return card is not None and bool(card.digest)


def has_other_directories(store: Store, card_store: CardStore, changed: Iterable[str]) -> bool:
    """Whether directories with Go files appeared or disappeared. Then the cards of many packages are wrong."""
    directories = {directory_of(path) for path in added_or_removed(store, card_store, changed)}
    return any(
        bool(_files_in(store, directory)) != (card_store.card(directory, include_empty=True) is not None)
        for directory in sorted(directories)
    )


def _files_in(store: Store, directory: str) -> list[str]:
    statement = "MATCH (p:Package)-[:CONTAINS]->(f:File) WHERE p.dir = $dir RETURN f.id"
    return [path for (path,) in store.rows(statement, {"dir": directory.rstrip("/") if directory != "./" else ""})]


def build_packages(
    store: Store,
    card_store: CardStore,
    stored: StoredRanks,
    annotation_reader: AnnotationReader,
    directories: Collection[str],
) -> None:
    """Rebuild the cards of packages that gained or lost files, and of the repository."""
    if not directories:
        return
    graph = SingleFile(store)

    def use_of(_: str, paths: Sequence[str]) -> PackageUse:
        return use_of_files(filter(None, map(graph.facts, paths)))

    files = [path for directory in sorted(directories) for path in _files_in(store, directory)]
    texts = list(package_texts(store, files, use_of, stored, stored.coupled))
    prominent = card_store.meta(_PROMINENCE_KEY)
    if prominent:
        all_files = {path for (path,) in store.rows("MATCH (f:File) RETURN f.id")}
        stored_prominence = Prominence(*msgspec.json.decode(prominent, type=_StoredProminence))
        texts.append(("", overview_text(store, all_files, stored_prominence)))
    cards = _annotated_cards(card_store, annotation_reader, texts)
    card_store.replace(cards, (), [card.path for card in cards])


def _annotated_cards(
    card_store: CardStore, annotation_reader: AnnotationReader, texts: Iterable[tuple[str, str]]
) -> list[Card]:
    return [
        Card(path, "", annotated_text(card_store, path, text, annotation_reader.annotations_at(path)))
        for path, text in texts
    ]


def base_text(card_store: CardStore, card: Card) -> str:
    """The text of a package or repository card without annotations."""
    base = card_store.meta(f"{_BASE_KEY} {card.path}")
    return base.decode() if base else card.text


def annotated_text(card_store: CardStore, card_path: str, text: str, annotations: Annotations) -> str:
    """The card of a package or the repository with its annotations. The text without them is stored under `_BASE_KEY`,
    because building it takes the whole graph."""
    key = f"{_BASE_KEY} {card_path}"
    if annotations != NO_ANNOTATIONS or card_store.meta(key):
        card_store.set_meta(key, b"" if annotations == NO_ANNOTATIONS else text.encode())
    return with_annotations(text, annotations)
