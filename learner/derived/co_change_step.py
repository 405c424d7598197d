"""Makes `CHANGES_WITH` edges from git's history: a step after the graph is written.

For a new HEAD, the pairs are counted again and the edges that differ are written. Otherwise only added files need
edges; if the changed files are not known, all files of the graph are checked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from golore.graph.cards.card_store import create_card_store
from golore.graph.errors import StoreBusy, StoreError
from golore.graph.history.co_change_edges import Pairs, open_pairs, pairs_in, project_pairs, project_pairs_of
from golore.graph.model.entities import Edge
from golore.learner.checkout.git_log import head_commit, read_history


def added_files(store_directory: Path, changed: Collection[str]) -> set[str]:
    """The changed files that did not exist when cards were last built. Call this before building cards again."""
    with closing(create_card_store(store_directory)) as card_store:
        return {path for path in changed if card_store.card(path, include_empty=True) is None}


def counted_pairs(root: Path, store_directory: Path) -> list[Edge]:
    """All pairs of the history at HEAD, counted again if necessary."""
    with _open_pairs(store_directory) as pairs:
        _count(root, pairs)
        return pairs.all()


def record_loaded_pairs(store_directory: Path) -> None:
    """Record that the current graph has the edges of all pairs."""
    with _open_pairs(store_directory) as pairs:
        pairs.record_projected()


def update_co_change(
    root: Path, store_directory: Path, *, changed: Collection[str] | None = None, arrived: Collection[str] = ()
) -> int:
    """Bring the edges up to date with HEAD. Returns the number of changed edges; 0 if another process is learning.

    `arrived`: those of `changed` that are new (see `added_files`).
    """
    try:
        with _open_pairs(store_directory) as pairs:
            _count(root, pairs)
            if changed is None or not pairs.are_projected:
                return project_pairs(store_directory, pairs)
            return project_pairs_of(store_directory, pairs, arrived) if arrived else 0
    except StoreBusy:
        return 0  # another process is learning, and runs this step afterwards


def _count(root: Path, pairs: Pairs) -> None:
    head = head_commit(root)
    if not pairs.are_counted_at(head):
        pairs.replace(pairs_in(read_history(root, head) if head else None), head)


@contextmanager
def _open_pairs(store_directory: Path) -> Generator[Pairs]:
    try:
        with open_pairs(store_directory) as pairs:
            yield pairs
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write CHANGES_WITH edges to {store_directory}: {failure}. "
            "The rest of the graph is up to date; run `golore learn` again."
        ) from failure
