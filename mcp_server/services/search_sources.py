"""The sources of a search: the index of a store, brought up to date with the graph before it is queried.

A long-running process caches what it has read of an index until the index changes. If the index cannot be updated,
because another process writes it or the disk is full, files that differ from the graph are left out: deleted code is
never found.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import StoreError, StoreMissing
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.graph.knowledge.ratings import score_changes
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.search.index import SearchIndex, open_index
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import IndexView, view_of
from golore.mcp_server.services.repository import LearnedRepository

_views: dict[Path, tuple[bytes, IndexView]] = {}
_MOST_VIEWS = 4
_WAIT: Final = 1.0
"""Seconds to wait for another writer of the index."""


@contextmanager
def sources_of(repository: LearnedRepository, store: Store, *, may_update: bool = True) -> Generator[SearchContext]:
    """Open the sources of a search. `store` is open for reading. `may_update`: whether an index that is behind the
    graph is updated, which needs the files."""
    index, is_behind = index_of(repository, store, may_update=may_update)
    with index, index.reading():
        view = _view_of(repository.store, index)
        if is_behind:
            view = _without_outdated_files(view, store)
        meaning = None
        if (repository.store / VECTOR_MODEL_NAME).exists():
            from golore.mcp_server.services.knowledge.vectors import meaning_search

            meaning = meaning_search(repository.store, index, index.state)
        yield SearchContext(index, view, store, _reader(repository.root), _favours(repository.store), meaning)


def index_of(repository: LearnedRepository, store: Store, *, may_update: bool = True) -> tuple[SearchIndex, bool]:
    """The index, brought up to date if possible, and whether it is still behind the graph."""
    index = open_index(repository.store)
    if index is not None and index.is_made_from(store.generation):
        return index, False
    if index is not None and not may_update:
        return index, True
    from golore.learner.derived.search_step import update_open_index

    try:
        writer = open_index(repository.store, write=True, wait=_WAIT)
        if writer is not None:
            with writer:
                update_open_index(writer, store, repository.root)
    except (StoreError, sqlite3.Error) as failure:
        if index is None:
            raise StoreMissing(f"There is no search index in {repository.store}. Run `golore learn`.") from failure
        return index, True
    if index is None:
        index = open_index(repository.store)
    assert index is not None
    return index, False


def _view_of(directory: Path, index: SearchIndex) -> IndexView:
    state = index.state
    known = _views.get(directory)
    if known is None or known[0] != state:
        while len(_views) >= _MOST_VIEWS:
            _views.pop(next(iter(_views)))
        known = _views[directory] = (state, view_of(index))
    return known[1]


def _favours(directory: Path) -> dict[str, float]:
    if not Knowledge.exists(directory):
        return {}
    with Knowledge.open(directory) as knowledge:
        return score_changes(knowledge)


def _without_outdated_files(view: IndexView, store: Store) -> IndexView:
    from golore.graph.search.index_sources import file_rows  # rarely needed

    rows = file_rows(store, None)
    same = {id: row for id, row in view.files.items() if row.path in rows and row.digest == rows[row.path].digest}
    return view._replace(files=same)


def _reader(root: Path) -> Callable[[str], str]:
    def read(path: str) -> str:
        try:
            return read_regular(root / path, SOURCE_LIMIT, follow=True).decode("utf-8", "replace")
        except OSError:
            return ""

    return read
