"""Brings the search index up to date with the graph: declarations from the graph, words from the files, subjects from
git.

Where it is known which files have changed, only those are read; otherwise all digests are compared. The index notes
which graph it was made from, and a search that finds another one calls this first (see `is_current`). Words are those
of the very bytes that were learned: of a file that has changed since, the old ones stay until it is learned again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.gc_pause import no_collection
from golore.graph.history.co_change import directory_of
from golore.graph.knowledge.ratings import favours
from golore.graph.progress import Progress
from golore.graph.search.index import COMMITS, GRAPH, HISTORY, SearchIndex, open_index
from golore.graph.search.index_entries import FileText, IndexedSymbol, word_counts
from golore.graph.search.index_sources import (
    KNOWLEDGE,
    FileAbout,
    all_declared,
    declared_in,
    file_rows,
    knowledge_texts,
    package_texts,
    texts_mark,
)
from golore.graph.search.past_commits import commit_terms, packed
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.worker_pool import WorkerPool

_MOST_SINGLE: Final = 100
"""Files from which making the whole index anew is quicker than changing it."""
_BATCH: Final = 64
_MANY: Final = 1_000
"""Files from which other processes help."""
_TEXTS: Final = "texts"
_HEAD: Final = "head"
_UNFINISHED: Final = "unfinished"
"""Set while the index is changed: one that was not changed to the end is compared with all files the next time."""


class IndexUpdate(NamedTuple):
    """How many files were put into the index, and whether all were."""

    files: int
    whole: bool


def is_current(index: SearchIndex, store: Store) -> bool:
    return index.meta(GRAPH).decode() == store.generation


def state_of(index: SearchIndex) -> bytes:
    """Another one where the files or the history are others."""
    return b"\n".join((index.meta(GRAPH), index.meta(_HEAD)))


def update_search_index(
    root: Path,
    store_directory: Path,
    *,
    store: Store | None = None,
    changed: Collection[str] | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> IndexUpdate:
    """`changed`: the Go files that have, where that is known. `whole`: make everything anew."""
    root = root.resolve()
    with Store.open(store_directory, write=False) if store is None else nullcontext(store) as graph:
        index = open_index(store_directory, write=True)
        assert index is not None
        with index:
            return bring_up_to_date(index, graph, root, changed=changed, whole=whole, progress=progress)


def bring_up_to_date(
    index: SearchIndex,
    store: Store,
    root: Path,
    *,
    changed: Collection[str] | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> IndexUpdate:
    """The same, for who has both open."""
    noted = index.meta(GRAPH) if not index.meta(_UNFINISHED) else b""
    is_known = changed is not None and bool(noted) and len(changed) <= _MOST_SINGLE
    now = file_rows(store, changed if is_known else None)
    paths = set(changed or ()) if is_known else _differing(index.digests(), now)
    whole = whole or not noted or (not is_known and len(paths) > _MOST_SINGLE)
    index.set_meta(_UNFINISHED, b"1")
    with no_collection(), index.writing():
        if whole:
            index.replace_all(_all_texts(store, root, now, progress))
        else:
            index.replace(list(_some_texts(store, root, paths, now)), paths - now.keys())
        _follow_texts(index, store, _packages(index, paths, now) if is_known and not whole else None)
        _follow_history(index, root)
        _follow_ratings(index, store.directory)
        index.set_meta(GRAPH, store.generation.encode())
        index.set_meta(_UNFINISHED, b"")
    return IndexUpdate(len(now) if whole else len(paths), whole)


def _differing(before: Mapping[str, str], now: Mapping[str, FileAbout]) -> set[str]:
    after = {path: about.digest for path, about in now.items()}
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def _some_texts(store: Store, root: Path, paths: Iterable[str], now: Mapping[str, FileAbout]) -> Iterator[FileText]:
    for path in sorted(paths):
        if path in now:
            about = now[path]
            yield _file_text(path, about, declared_in(store, path, about.package), *_counted(f"{root}/{path}"))


def _all_texts(store: Store, root: Path, now: dict[str, FileAbout], progress: Progress | None) -> Iterator[FileText]:
    if progress is not None:
        progress.stage("Words", len(now))
    symbols = all_declared(store, now)
    paths = sorted(now)
    batches = [tuple(f"{root}/{path}" for path in paths[at : at + _BATCH]) for at in range(0, len(paths), _BATCH)]
    with WorkerPool(0 if len(paths) < _MANY else os.cpu_count() or 1) as pool:
        read: dict[tuple[str, ...], list[tuple[str, dict[str, int]]]] = {}
        working = pool.run(_count_all, batches)
        for number, batch in enumerate(batches):
            while batch not in read:
                done, counted = next(working)
                read[done] = counted if counted is not None else [_counted(path) for path in done]
            for at, (found, counts) in enumerate(read.pop(batch)):
                path = paths[number * _BATCH + at]
                yield _file_text(path, now[path], symbols.get(path, ()), found, counts)
            if progress is not None:
                progress.tick(len(batch))


def _count_all(paths: tuple[str, ...]) -> list[tuple[str, dict[str, int]]]:
    return [_counted(path) for path in paths]


def _counted(path: str) -> tuple[str, dict[str, int]]:
    """The digest of a file, and how often each term occurs in it; nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  thousands: a Path costs as much
            data = file.read()
    except OSError:
        return "", {}
    return digest(data), word_counts(data.decode("utf-8", "replace"))


def _file_text(
    path: str, about: FileAbout, symbols: tuple[IndexedSymbol, ...], found: str, counts: Mapping[str, int]
) -> FileText:
    # One that has changed since it was learned is looked at again the next time.
    shown = about.digest if found == about.digest else f"{about.digest} {found}"
    return FileText(path, shown, about.package, about.module, about.test, about.generated, symbols, counts)


def _packages(index: SearchIndex, paths: Iterable[str], now: Mapping[str, FileAbout]) -> set[str]:
    """Those that changed files are in, or were the last ones of."""
    places = {directory_of(path) for path in paths}
    return index.packages_in(places) | {about.package_id for about in now.values()}


def _follow_texts(index: SearchIndex, store: Store, packages: Collection[str] | None) -> None:
    index.sync_texts(("package",), package_texts(store, packages), packages)
    mark = texts_mark(store).encode()
    if index.meta(_TEXTS) != mark or not index.meta(GRAPH):
        index.sync_texts(KNOWLEDGE, knowledge_texts(store))
        index.set_meta(_TEXTS, mark)


def _follow_ratings(index: SearchIndex, store_directory: Path) -> None:
    if Knowledge.exists(store_directory):
        with Knowledge.open(store_directory) as knowledge:
            index.set_ratings(favours(knowledge))


def _follow_history(index: SearchIndex, root: Path) -> None:
    head = head_commit(root)
    if index.meta(_HEAD) == head.encode() and index.meta(HISTORY):
        return
    work, found = commit_terms(read_history(root, head) if head else None)
    index.replace_room(COMMITS, found)
    index.set_meta(HISTORY, packed(work))
    index.set_meta(_HEAD, head.encode())
