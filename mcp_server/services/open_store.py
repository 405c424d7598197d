"""Opening a store to ask it: one that an older golore made is learned again first, with a word about it.

What only wants to know of the store (`status`, `doctor`) or writes it anyway opens it by itself.
"""

from __future__ import annotations

import sys

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreOutdated
from golore.learner.pipeline.version import is_outdated
from golore.mcp_server.services.repository import LearnedRepository


def open_current_store(repository: LearnedRepository) -> Store:
    """The store of a repository for reading, as this golore would have made it."""
    try:
        store = Store.open(repository.store, write=False)
    except StoreOutdated:
        pass
    else:
        try:
            if not is_outdated(store):
                return store
        except BaseException:
            store.close()
            raise
        store.close()
    from golore.mcp_server.services.learn import learn_with_progress

    _tell("An older golore has learned this repository; learning it again.")
    try:
        learn_with_progress(repository)
    except GoloreError as failure:
        # Somebody else may be at it, or nothing can be written here. What is old is better than nothing.
        _tell(f"{failure} The answer is from the old graph.")
    return Store.open(repository.store, write=False)


def _tell(sentence: str) -> None:
    print(f"golore: {sentence}", file=sys.stderr)
