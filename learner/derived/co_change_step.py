"""git's history → the graph's `CHANGES_WITH` edges: a step after a learn (see `finishing`).

A new HEAD counts the pairs anew and writes those that differ. Without one, only a file that has come back has something
to get; where it is not known what has changed, the files of the graph are looked through.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from golore.graph.cards.card_store import create_card_store
from golore.graph.errors import StoreBusy, StoreError
from golore.graph.history.co_change_edges import open_pairs, pairs_in, project_pairs, project_pairs_of
from golore.learner.checkout.git_log import head_commit, read_history


def newly_there(store_directory: Path, changed: Collection[str]) -> set[str]:
    """Those of the changed files that were not there when cards were last made; to be asked before they are again."""
    with closing(create_card_store(store_directory)) as card_store:
        return {path for path in changed if card_store.card(path, silent=True) is None}


def update_co_change(
    root: Path, store_directory: Path, *, changed: Collection[str] | None = None, arrived: Collection[str] = ()
) -> int:
    """Bring the edges up to date with HEAD; how many changed. `arrived`: those of `changed` that were not there."""
    head = head_commit(root)
    try:
        with open_pairs(store_directory) as pairs:
            if not pairs.are_of(head):
                pairs.replace(pairs_in(read_history(root, head) if head else None), head)
            if changed is None or not pairs.are_projected:
                return project_pairs(store_directory, pairs)
            return project_pairs_of(store_directory, pairs, arrived) if arrived else 0
    except StoreBusy:
        return 0  # somebody learns, and does this afterwards
    except sqlite3.Error as failure:
        raise StoreError(
            f"What changes together could not be written to {store_directory}: {failure}. "
            "The graph is up to date otherwise; run `golore learn` again."
        ) from failure
