"""Opens a store for queries. A graph that an older golore made is learned again first, with a message.

`status` and `doctor`, which report on the store itself, and commands that write the store open it directly.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreOutdated
from golore.learner.pipeline.version import is_outdated
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.text.output import print_message

if TYPE_CHECKING:
    from golore.graph.queries.names.name_resolver import NameResolver


@dataclass(frozen=True, slots=True)
class OpenRepository:
    """A learned repository whose store is open. `bases`: the directories that a path may start from."""

    repository: LearnedRepository
    store: Store
    names: NameResolver
    bases: tuple[Path, ...] = ()


@contextmanager
def open_repository(start: Path) -> Generator[OpenRepository]:
    """Open the learned repository that contains `start`."""
    from golore.graph.queries.names.name_resolver import NameResolver  # not needed by a search

    repository = find_repository(start)
    with open_current_store(repository) as store:
        yield OpenRepository(repository, store, NameResolver(store), (Path.cwd(), start.resolve()))


def open_current_store(repository: LearnedRepository) -> Store:
    """Open the store for reading. An outdated graph is learned again; if that fails, the old graph is used."""
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
    learn_again(repository)
    return Store.open(repository.store, write=False)


def learn_again(repository: LearnedRepository) -> None:
    """Learn what an older golore has learned, with a message."""
    from golore.mcp_server.services.shown_learn import learn_with_progress

    gc.enable()  # `entry` switches it off for commands that only read
    _print("An older golore learned this repository; learning it again.")
    try:
        learn_with_progress(repository)
    except GoloreError as failure:
        # Another process may be learning, or the store may not be writable. An old answer is better than none.
        _print(f"{failure} The answer is from the old graph.")


def _print(sentence: str) -> None:
    print_message(f"golore: {sentence}")
