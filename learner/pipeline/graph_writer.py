"""Resolved packages → the store: the whole graph at once, or the difference for the packages and files that changed.

Where a package's shape is as it was, only its edited files are resolved, read from the store and compared.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from golore.graph.cards.edit_effects import EditEffects, effects_of
from golore.graph.database.store import Store
from golore.graph.database.subgraph import (
    Subgraph,
    difference,
    read_digests,
    read_edges,
    read_edges_at,
    read_externals,
    read_files,
    read_meta,
    read_nodes,
    read_packages,
    still_used,
)
from golore.graph.files.cache_db import Cache
from golore.graph.model.delta import GraphDelta
from golore.graph.model.entities import REPOSITORY_ID, External, Node, Repository, Unresolved
from golore.graph.progress import NoProgress, Progress
from golore.learner.pipeline.implements_edges import (
    IMPLEMENTS,
    Edges,
    OutsideTables,
    Tables,
    Turned,
    all_tables,
    implements_edges,
    keep_tables,
    kept_tables,
    outside_tables,
    turned,
)
from golore.learner.pipeline.package_keys import Keys
from golore.learner.pipeline.resolve_workers import (
    BATCH_FILES,
    Assignment,
    PackageResult,
    Plan,
    ResolutionWorker,
    assignments,
    close_spools,
    resolve_packages,
    start_worker,
    stop_worker,
)
from golore.learner.pipeline.stored_keys import STATE
from golore.learner.pipeline.test_edges_update import exercised_elsewhere, update_test_edges
from golore.learner.project.catalog import CatalogPackage
from golore.learner.worker_pool import WorkerPool

SMALL_FILES = 2 * BATCH_FILES
"""Up to so many files are resolved by this process: another one would first have to be started and told everything."""
RIPPLING_ROWS = 20_000
"""Past so many changed rows, most cards are made anew anyway."""
FEW_TABLES = 2_000
"""Up to so many types and interfaces, their edges are looked up one by one instead of reading all there are."""


class GraphChange(NamedTuple):
    """What the graph is to become: the keys now and as the store has them, and the notes to keep with it."""

    plan: Plan
    repository: Repository
    keys: Keys
    before: Keys
    meta: Mapping[str, str]


Early = Callable[[str, Sequence[Unresolved], Sequence[tuple[str, str]]], None]
"""Told, before anything is written, of a file edited in bodies alone, of what could not be resolved in it, and of what
its tests exercise elsewhere: file and name, once for each test."""


class Ready(NamedTuple):
    """What a learner that stays has at hand: a workshop for the plan, the edited files, and what the store must say of
    itself if all that is still to hold."""

    worker: ResolutionWorker
    edited: frozenset[str]
    state: str
    early: Early | None = None


class Written(NamedTuple):
    """How much was resolved, and how many rows of the graph were written for it."""

    packages: int = 0
    files: int = 0
    rows: int = 0
    edges: int = 0
    ripple: EditEffects | None = None
    """What it means for the cards of other files; None where all may say something else."""


class _Work(NamedTuple):
    """What to resolve: packages as a whole, and files of others. `gone` are packages that are no more."""

    whole: frozenset[str]
    files: frozenset[str]
    gone: frozenset[str]


class _Resolved(NamedTuple):
    """What the store has and what it is to have, without nodes outside and IMPLEMENTS; `tables` of whole packages."""

    old: Subgraph
    new: Subgraph
    tables: dict[str, Tables]
    packages: int
    files: int


def load_graph(store: Store, cache: Cache, pool: WorkerPool, change: GraphChange, progress: Progress) -> Written:
    """Resolve everything and put it in the place of what was there."""
    plan, keys = change.plan, change.keys
    externals: dict[str, External] = {}
    tables: dict[str, Tables] = {}
    rows = edges = files = 0
    progress.stage("Resolving", len(keys.packages))
    with store.bulk_load(change.meta) as bulk:
        with _handed_out(plan, store.directory) as handed:
            everything = assignments(handed, plan.catalog, frozenset(keys.packages), spool=bulk.directory)
            for result in _results(pool, everything, progress):
                tables[result.id] = Tables(result.types, result.interfaces)
                _merge(externals, result.rows.nodes["External"])
                rows += result.written
                edges += result.edges
                files += result.files
            implements = implements_edges(tables, outside_tables(cache, pool, handed, keys.outside))
            _merge(externals, implements.externals)
            for kind, found in implements.edges.items():
                bulk.edges(kind, found)
                rows += len(found)
                edges += len(found)
        for written in pool.everywhere(close_spools, bulk.directory):
            bulk.count(written)
        pool.close()  # the memory they hold is better spent on the load
        progress.stage("Storing", 0)
        bulk.nodes("External", [externals[id] for id in sorted(externals)])
        bulk.nodes("Repository", [change.repository])
        keep_tables(cache, keys.packages, tables)
    return Written(len(tables), files, rows + len(externals) + 1, edges)


def update_graph(store: Store, cache: Cache, pool: WorkerPool, change: GraphChange, progress: Progress) -> Written:
    """Resolve the packages and files that changed and write what differs."""
    work = _work(change, lambda id, paths: _edited_files(store, change.plan, id, paths))
    written = _update(store, cache, pool, change, work, progress, None)
    assert written is not None
    return written


def update_graph_from(
    store: Store, cache: Cache, pool: WorkerPool, change: GraphChange, ready: Ready, progress: Progress
) -> Written | None:
    """The same with what is ready, and the store is opened only when all is resolved; None if it is not as told."""
    work = _work(change, lambda _, paths: ready.edited.intersection(paths))
    return _update(store, cache, pool, change, work, progress, ready)


def _update(
    store: Store,
    cache: Cache,
    pool: WorkerPool,
    change: GraphChange,
    work: _Work,
    progress: Progress,
    ready: Ready | None,
) -> Written | None:
    plan, keys = change.plan, change.keys
    is_small = len(work.files) + _file_count(plan, work.whole) <= SMALL_FILES
    here, worker = pool, None
    if is_small:
        here, worker = WorkerPool(0), ready.worker if ready is not None else ResolutionWorker(plan, cache)
    progress.stage("Resolving", len(work.whole) + len(work.files))
    with _handed_out(plan, store.directory, worker) as handed:
        results = list(_results(here, assignments(handed, plan.catalog, work.whole, work.files), progress))
        if ready is not None:
            if ready.early is not None:
                _tell_early(ready.early, [result for result in results if result.testing is None])
            store.open_for_change()
            if read_meta(store, STATE) != ready.state:
                return None
            if ready.early is not None:
                _tell_early(ready.early, [result for result in results if result.testing is not None], store)
        found = _compared(store, here, handed, plan, work, results)
        progress.stage("Storing", 0)
        old, new = found.old, found.new
        externals: dict[str, External] = {}
        _merge(externals, new.nodes.pop("External", []))
        if work.whole or work.gone or found.tables:
            implements = _implements(store, cache, here, handed, change, found.tables, old)
            _merge(externals, implements.externals)
            for kind, edges in implements.edges.items():
                new.edges[kind] += edges
    old.nodes["Repository"] = read_nodes(store, "Repository", [REPOSITORY_ID])
    new.nodes["Repository"] = [change.repository]
    _settle_externals(store, old, new, externals)
    delta = difference(old, new, change.meta)
    ripple = effects_of(store, old, new, delta) if len(delta) <= RIPPLING_ROWS else None
    store.apply(delta)
    if found.tables or work.gone:
        keep_tables(cache, keys.packages, found.tables)
    return Written(found.packages, found.files, len(delta) - len(delta.meta), _edge_count(delta), ripple)


def _tell_early(early: Early, results: Iterable[PackageResult], store: Store | None = None) -> None:
    """Of tests with the store, which has what lies between them and what they exercise."""
    for result in results:
        if not result.is_whole:
            exercised: Mapping[str, Sequence[tuple[str, str]]] = {}
            if store is not None and result.testing is not None:
                exercised = exercised_elsewhere(store, result.rows, result.testing)
            unresolved = [row for row in result.rows.nodes["Unresolved"] if isinstance(row, Unresolved)]
            for file in result.rows.nodes["File"]:
                early(file[0], [row for row in unresolved if row.file == file[0]], exercised.get(file[0], ()))


def _work(change: GraphChange, edited_of: Callable[[str, list[str]], Collection[str]]) -> _Work:
    """What the keys say is to be done. Of a package whose shape stayed, the files that are not as they were stored."""
    before = change.before.packages
    whole: set[str] = set()
    partly: set[str] = set()
    for id, key in change.keys.packages.items():
        last = before.get(id)
        if last is None or last.shape != key.shape:
            whole.add(id)
        elif last.edges != key.edges:
            partly.add(id)
    edited: set[str] = set()
    for package in _packages(change.plan, partly):
        found = edited_of(package.id, [file.path for file in package.files])
        edited.update(found)
        if not found:
            whole.add(package.id)  # something else than the text of a file has changed
    return _Work(frozenset(whole), frozenset(edited), frozenset(before.keys() - change.keys.packages.keys()))


def _edited_files(store: Store, plan: Plan, package: str, paths: list[str]) -> Collection[str]:
    """The files that the store has with other contents; none if it has other files."""
    stored = dict(read_digests(store, package))
    if sorted(stored) != sorted(paths):
        return ()
    return [path for path in paths if plan.files[path].digest != stored[path]]


def _packages(plan: Plan, ids: Collection[str]) -> Iterator[CatalogPackage]:
    if ids:
        for group in plan.catalog.values():
            yield from (package for package in group if package.id in ids)


def _file_count(plan: Plan, ids: Collection[str]) -> int:
    return sum(len(package.files) for package in _packages(plan, ids))


def _compared(
    store: Store, pool: WorkerPool, handed: Path, plan: Plan, work: _Work, results: Iterable[PackageResult]
) -> _Resolved:
    """What was resolved, beside what the store has in its place."""
    old = read_packages(store, work.whole | work.gone) if work.whole or work.gone else Subgraph()
    new = Subgraph()
    tables: dict[str, Tables] = {}
    packages = files = 0
    surprising: set[str] = set()
    for result in results:
        packages += 1
        files += result.files
        if result.is_whole:
            tables[result.id] = Tables(result.types, result.interfaces)
        elif not _add_files(store, old, result):
            surprising.add(result.id)
            continue
        elif result.testing is not None:
            before, after = update_test_edges(store, result.testing)
            old.add(before)
            new.add(after)
        new.add(result.rows)
    if surprising:
        again = _Work(frozenset(surprising), frozenset(), frozenset())
        more = _results(pool, assignments(handed, plan.catalog, again.whole), NoProgress())
        rest = _compared(store, pool, handed, plan, again, more)
        old.add(rest.old)
        new.add(rest.new)
        return _Resolved(old, new, tables | rest.tables, packages, files + rest.files)
    return _Resolved(old, new, tables, packages, files)


def _add_files(store: Store, old: Subgraph, result: PackageResult) -> bool:
    """Add what the store has of the files just resolved. False if they declare other things than they did, which the
    same shape should not allow: then the whole package is to be looked at."""
    stored = read_files(store, (node[0] for node in result.rows.nodes["File"]))
    if {node[0] for node in stored.nodes["Symbol"]} != {node[0] for node in result.rows.nodes["Symbol"]}:
        return False
    old.add(stored)
    old.nodes["Package"] += read_nodes(store, "Package", [node[0] for node in result.rows.nodes["Package"]])
    return True


@contextmanager
def _handed_out(plan: Plan, directory: Path, worker: ResolutionWorker | None = None) -> Generator[Path]:
    """The plan in a file that every worker can read, or by that name for this process alone."""
    path = directory / "plan.tmp"
    if worker is not None:
        start_worker(path, worker)
    else:
        path.write_bytes(pickle.dumps(plan, protocol=5))
    try:
        yield path
    finally:
        stop_worker(path)
        path.unlink(missing_ok=True)


def _results(pool: WorkerPool, tasks: Iterable[Assignment], progress: Progress) -> Iterator[PackageResult]:
    for assignment, results in pool.run(resolve_packages, tasks):
        if results is None:
            raise RuntimeError(f"a worker died while it resolved {', '.join(assignment.directories)}")
        yield from results
        progress.tick(sum(1 if result.is_whole else result.files for result in results))


def _merge(externals: dict[str, External], rows: Iterable[Node]) -> None:
    """Several packages may name the same thing outside; one that knows what it is wins over one that does not."""
    for row in rows:
        assert isinstance(row, External)
        known = externals.get(row.id)
        if known is None or (known.kind == "unknown", known) > (row.kind == "unknown", row):
            externals[row.id] = row


def _implements(
    store: Store,
    cache: Cache,
    pool: WorkerPool,
    handed: Path,
    change: GraphChange,
    fresh: Mapping[str, Tables],
    old: Subgraph,
) -> Edges:
    """The IMPLEMENTS edges that take the place of those it adds to `old`: only at what changed, if that can be told."""
    keys, before = change.keys, change.before
    last = {id: key for id, key in before.packages.items() if id in fresh or id not in keys.packages}
    kept = kept_tables(cache, last)
    differing: Turned | None = None
    if kept.keys() == last.keys() and keys.outside == before.outside:
        differing = turned(kept, fresh)
        if not differing.types and not differing.interfaces:
            return Edges({}, [])
        if len(differing.types) + len(differing.interfaces) > FEW_TABLES:
            differing = None
    outside = OutsideTables([])
    if differing is None or differing.types:
        outside = outside_tables(cache, pool, handed, keys.outside)
    if differing is None:
        for kind in IMPLEMENTS.values():
            old.edges[kind] += read_edges(store, kind)
    else:
        for kind, edge in read_edges_at(store, "IMPLEMENTS", "source", sorted(differing.types)):
            old.edges[kind].append(edge)
        for kind, edge in read_edges_at(store, "IMPLEMENTS", "target", sorted(differing.interfaces)):
            if edge.source not in differing.types:
                old.edges[kind].append(edge)
    tables = all_tables(cache, pool, handed, change.plan.catalog, keys.packages, fresh)
    return implements_edges(tables, outside, differing)


def _settle_externals(store: Store, old: Subgraph, new: Subgraph, externals: dict[str, External]) -> None:
    """Put the nodes outside into both slices: those that come, those that change, those that nothing uses any more."""
    used_before = Counter(_targets_outside(old))
    used_now = set(_targets_outside(new))
    known = read_externals(store, used_before.keys() | used_now)
    kept_elsewhere = still_used(store, {id: used_before[id] for id in used_before.keys() - used_now})
    old.nodes["External"] = [known[id] for id in sorted(known) if id not in kept_elsewhere]
    new.nodes["External"] = [externals.get(id) or known[id] for id in sorted(used_now)]


def _targets_outside(part: Subgraph) -> Iterator[str]:
    return (edge.target for kind, edges in part.edges.items() if kind.target == "External" for edge in edges)


def _edge_count(delta: GraphDelta) -> int:
    parts = (delta.edges_removed, delta.edges_added, delta.edges_changed)
    return sum(len(rows) for part in parts for rows in part.values())
