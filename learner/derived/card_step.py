"""Builds the cards of a repository after the graph is written.

Reads the graph and git's history and writes only to `cache.db`, so this step can be left out or run later. What a card
says is decided in `golore.graph.cards`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from os.path import exists
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import (
    BodyEditCard,
    BuiltCards,
    CardShare,
    ChangedFiles,
    build_cards,
    build_cards_beside,
    collect_facts,
    record_built_cards,
    refresh_card_early,
    share_cards,
    store_shares,
    withdraw_built_cards,
)
from golore.graph.cards.card_rows import CardRows, ShareFacts
from golore.graph.cards.card_store import CardStore, create_card_store
from golore.graph.database.graph_tables import GraphTables, SpooledGraph
from golore.graph.database.store import Store
from golore.graph.errors import StoreError
from golore.graph.history.co_change import History
from golore.graph.progress import Progress
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.pipeline.incremental import BodyEdit

_WAIT_FOR_INDEX: Final = 600.0
"""Seconds that cards wait for another writer of `cache.db`: the index of a large repository is written at once."""


def refresh_card(store_directory: Path, edit: BodyEdit) -> None:
    """Refresh the card of a file whose edit changed only function bodies, before the graph is updated."""
    with suppress(sqlite3.Error), closing(create_card_store(store_directory)) as card_store:
        refresh_card_early(card_store, BodyEditCard(edit.path, edit.before, edit.digest, edit.exercised))


def update_cards(
    root: Path,
    store_directory: Path,
    *,
    store: Store | None = None,
    changed: ChangedFiles | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> BuiltCards:
    """Bring the cards up to date with the graph and with HEAD. `changed`: the changed files, if known."""
    root = root.resolve()
    head = head_commit(root)
    history = partial(_history, root, head)
    try:
        opened = Store.open(store_directory, write=False) if store is None else nullcontext(store)
        with opened as graph, closing(create_card_store(store_directory)) as card_store:
            return build_cards(graph, card_store, history, head, changed=changed, whole=whole, progress=progress)
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write the cards to {store_directory}: {failure}. "
            "The graph is up to date; run `golore learn` again to build the cards."
        ) from failure


def withdraw_cards(store_directory: Path) -> None:
    """Record that the cards belong to no graph, until `record_loaded_cards`."""
    with closing(create_card_store(store_directory)) as card_store:
        withdraw_built_cards(card_store)


def collect_loaded_facts(root: Path, tables: GraphTables, history: History | None) -> ShareFacts:
    """What the cards of a graph that is being loaded are made of, apart from documents and recent commits."""
    return collect_facts(tables, _existing(root.resolve(), history))


def load_cards(store_directory: Path, found: ShareFacts, head: str) -> None:
    """Build all cards of a graph that is being loaded (see `build_cards_beside`). Documents and recent commits must be
    stored."""
    with _card_store(store_directory) as card_store:
        build_cards_beside(found, store_directory, card_store, head)


def share_loaded_cards(
    root: Path, store_directory: Path, rows: Path, history: History | None, shares: int
) -> list[CardShare]:
    """Prepare to build the cards of `load_cards` in several processes: the first of three steps. Then any process can
    build each share with `build_share`, and one writes all with `store_loaded_cards`.

    `rows`: the directory with all rows of the graph. Documents and recent commits must be stored before the second.
    """
    return share_cards(SpooledGraph(rows), rows, store_directory, _existing(root.resolve(), history), shares)


def store_loaded_cards(
    store_directory: Path, shares: Sequence[CardShare], built: Sequence[CardRows], head: str
) -> None:
    """Store the cards of all shares. Waits until the search index is written."""
    with _card_store(store_directory) as card_store:
        store_shares(card_store, shares, built, head)


def record_loaded_cards(store: Store) -> None:
    """Record that the cards of `load_cards` are those of the current graph."""
    with closing(create_card_store(store.directory)) as card_store:
        record_built_cards(store, card_store)


@contextmanager
def _card_store(store_directory: Path) -> Generator[CardStore]:
    """The card store, for a writer that waits until the search index is written."""
    try:
        with closing(create_card_store(store_directory, wait=_WAIT_FOR_INDEX)) as card_store:
            yield card_store
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write the cards to {store_directory}: {failure}. Run `golore learn` again."
        ) from failure


def _history(root: Path, head: str) -> History | None:
    return _existing(root, read_history(root, head) if head else None)


def _existing(root: Path, found: History | None) -> History | None:
    """The history, with those of its files that exist."""
    if found is None:
        return None
    base = f"{root}/"
    existing = (path for path in found.files if exists(base + path))  # noqa: PTH110  thousands: a Path costs as much
    return found._replace(files=frozenset(existing))
