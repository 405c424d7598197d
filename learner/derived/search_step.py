"""Updates the search index: declarations from the graph, words from the files, commit subjects from git.

If the changed files are known, only those are read; otherwise all digests are compared. The index records which graph
it was made from, and a search that finds another graph updates the index first (see `SearchIndex`). If a file changed
after it was learned, its words are those on disk, and its entry is made again by a later update.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.gc_pause import gc_disabled
from golore.graph.history.co_change import directory_of
from golore.graph.knowledge.ratings import score_changes
from golore.graph.model.entities import Doc
from golore.graph.progress import Progress
from golore.graph.search.index import COMMITS, GRAPH, HEAD, HISTORY, SearchIndex, open_index
from golore.graph.search.index_entries import FileText
from golore.graph.search.index_parts import IndexPart, PartBuilder, numbered
from golore.graph.search.index_sources import (
    KNOWLEDGE,
    FileAbout,
    all_declared,
    declared_in,
    file_rows,
    knowledge_texts,
    package_texts,
    spooled_texts,
    spooled_texts_mark,
    texts_mark,
)
from golore.graph.search.past_commits import commit_terms, packed
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.pipeline.index_worker import count_terms, file_text
from golore.learner.worker_pool import WorkerPool

_MOST_SINGLE: Final = 100
"""If more files changed, rebuilding the whole index is faster than updating it."""
_BATCH: Final = 64
_MANY: Final = 1_000
"""From this many files on, worker processes are used."""
_TEXTS: Final = "texts"
_UNFINISHED: Final = "unfinished"
"""Set while the index is being written. If it is still set at the next update, the whole index is rebuilt."""


class IndexUpdate(NamedTuple):
    """Number of files that were updated, and whether the whole index was rebuilt."""

    files: int
    whole: bool


def adopt_index(index: SearchIndex, store: Store) -> bool:
    """Declare an index that was copied together with its graph to be current, if it has exactly the graph's files."""
    if not index.meta(GRAPH) or index.meta(_UNFINISHED) or _differing(index.digests(), file_rows(store, None)):
        return False
    with index.writing():
        index.set_meta(GRAPH, store.generation.encode())
    return True


def load_parts(
    root: Path, store_directory: Path, parts: Sequence[IndexPart], tables: GraphTables, more: MoreRows
) -> bytes:
    """Replace the index while its graph is being stored. `tables` and `more`: the rows of the graph.

    Returns a mark for `update_search_index`, which must complete the index when the graph is there; if it does not, the
    next update rebuilds the index.
    """
    documents = (row for row in more.nodes.get("Doc", ()) if isinstance(row, Doc))
    mark = os.urandom(16)
    index = open_index(store_directory, write=True)
    assert index is not None
    with index, gc_disabled(), index.writing():
        index.replace_all(parts)
        index.replace_texts(spooled_texts(tables, documents))
        index.set_meta(_TEXTS, spooled_texts_mark(more.meta).encode())
        _update_history(index, root)
        index.set_meta(GRAPH, b"")
        index.set_meta(_UNFINISHED, mark)
    return mark


def update_search_index(
    root: Path,
    store_directory: Path,
    *,
    store: Store | None = None,
    changed: Collection[str] | None = None,
    whole: bool = False,
    loaded: bytes = b"",
    progress: Progress | None = None,
) -> IndexUpdate:
    """Update the index of a store. `changed`: the changed Go files, if known. `whole`: rebuild everything.

    `loaded`: the mark of `load_parts`, if it has replaced the files.
    """
    root = root.resolve()
    with Store.open(store_directory, write=False) if store is None else nullcontext(store) as graph:
        index = open_index(store_directory, write=True)
        assert index is not None
        with index:
            if loaded and index.meta(_UNFINISHED) == loaded:
                return _complete(index, graph, root)
            return update_open_index(index, graph, root, changed=changed, whole=whole, progress=progress)


def update_open_index(
    index: SearchIndex,
    store: Store,
    root: Path,
    *,
    changed: Collection[str] | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> IndexUpdate:
    """Like `update_search_index`, for an index and a store that are already open."""
    indexed_graph = index.meta(GRAPH) if not index.meta(_UNFINISHED) else b""
    if changed is not None and not changed and not whole and _has_all(index, store, indexed_graph, root):
        with index.writing():
            _update_ratings(index, store.directory)
        return IndexUpdate(0, False)
    is_known = changed is not None and bool(indexed_graph) and len(changed) <= _MOST_SINGLE
    now = file_rows(store, changed if is_known else None)
    paths = set(changed or ()) if is_known else _differing(index.digests(), now)
    whole = whole or not indexed_graph or (not is_known and len(paths) > _MOST_SINGLE)
    index.set_meta(_UNFINISHED, b"1")
    with gc_disabled(), index.writing():
        if whole:
            index.replace_all(_all_files(store, root, now, progress))
        else:
            index.replace(list(_some_texts(store, root, paths, now)), paths - now.keys())
        if whole:
            _replace_texts(index, store)
        else:
            _update_texts(index, store, _packages(index, paths, now) if is_known else None)
        _finish(index, store, root)
    return IndexUpdate(len(now) if whole else len(paths), whole)


def _has_all(index: SearchIndex, store: Store, indexed_graph: bytes, root: Path) -> bool:
    """Whether the index is of this graph and of HEAD. Does not open the graph."""
    is_same_graph = bool(indexed_graph) and indexed_graph.decode() == store.generation_on_disk
    return is_same_graph and index.meta(HEAD) == head_commit(root).encode() and bool(index.meta(HISTORY))


def _complete(index: SearchIndex, store: Store, root: Path) -> IndexUpdate:
    """Record the graph that an index is of, after `load_parts`. If there are notes or summaries now, add them."""
    with gc_disabled(), index.writing():
        if index.meta(_TEXTS) != texts_mark(store).encode():
            _replace_texts(index, store)
        _finish(index, store, root)
    return IndexUpdate(index.count("files"), True)


def _finish(index: SearchIndex, store: Store, root: Path) -> None:
    _update_history(index, root)
    _update_ratings(index, store.directory)
    index.set_meta(GRAPH, store.generation.encode())
    index.set_meta(_UNFINISHED, b"")


def _differing(before: Mapping[str, str], now: Mapping[str, FileAbout]) -> set[str]:
    after = {path: about.digest for path, about in now.items()}
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def _some_texts(store: Store, root: Path, paths: Iterable[str], now: Mapping[str, FileAbout]) -> Iterator[FileText]:
    for path in sorted(paths):
        if path in now:
            about = now[path]
            yield file_text(path, about, declared_in(store, path, about.package), *count_terms(f"{root}/{path}"))


def _all_files(store: Store, root: Path, now: dict[str, FileAbout], progress: Progress | None) -> list[IndexPart]:
    if progress is not None:
        progress.stage("Words", len(now))
    symbols = all_declared(store, now)
    builder = PartBuilder(numbered(list(now)))
    paths = sorted(now)
    batches = [tuple(paths[start : start + _BATCH]) for start in range(0, len(paths), _BATCH)]
    with WorkerPool(0 if len(paths) < _MANY else os.cpu_count() or 1) as pool:
        for (_, batch), counted in pool.run(_count_all, ((str(root), batch) for batch in batches)):
            words = counted if counted is not None else _count_all((str(root), batch))
            for path, (found_digest, counts) in zip(batch, words, strict=True):
                builder.add(file_text(path, now[path], symbols.get(path, ()), found_digest, counts))
            if progress is not None:
                progress.tick(len(batch))
    return builder.parts()


def _count_all(batch: tuple[str, tuple[str, ...]]) -> list[tuple[str, dict[str, int]]]:
    root, paths = batch
    return [count_terms(f"{root}/{path}") for path in paths]


def _packages(index: SearchIndex, paths: Iterable[str], now: Mapping[str, FileAbout]) -> set[str]:
    """Ids of the packages of changed files, also of packages that have no files any more."""
    directories = {directory_of(path) for path in paths}
    return index.packages_in(directories) | {about.package_id for about in now.values()}


def _replace_texts(index: SearchIndex, store: Store) -> None:
    index.replace_texts((*package_texts(store), *knowledge_texts(store)))
    index.set_meta(_TEXTS, texts_mark(store).encode())


def _update_texts(index: SearchIndex, store: Store, packages: Collection[str] | None) -> None:
    index.sync_texts(("package",), package_texts(store, packages), packages)
    state = texts_mark(store).encode()
    if index.meta(_TEXTS) != state:
        index.sync_texts(KNOWLEDGE, knowledge_texts(store))
        index.set_meta(_TEXTS, state)


def _update_ratings(index: SearchIndex, store_directory: Path) -> None:
    if Knowledge.exists(store_directory):
        with Knowledge.open(store_directory) as knowledge:
            index.set_ratings(score_changes(knowledge))


def _update_history(index: SearchIndex, root: Path) -> None:
    head = head_commit(root)
    if index.meta(HEAD) == head.encode() and index.meta(HISTORY):
        return
    work, found = commit_terms(read_history(root, head) if head else None)
    index.replace_postings(COMMITS, found, had_any=bool(index.meta(HISTORY)))
    index.set_meta(HISTORY, packed(work))
    index.set_meta(HEAD, head.encode())
