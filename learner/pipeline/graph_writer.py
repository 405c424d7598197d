"""Writes resolved packages to the store: the whole graph, or the difference for the packages and files that changed.

If the shape of a package did not change, only its edited files are resolved and compared with their rows in the store.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from golore.graph.cards.edit_effects import EditEffects, effects_of
from golore.graph.database.bulk_load import BulkLoad
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
    used_elsewhere,
)
from golore.graph.files.cache_db import Cache
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import REPOSITORY_ID, External, Node, Repository, Unresolved
from golore.graph.progress import NoProgress, Progress
from golore.graph.queries.store_counts import apply_and_count
from golore.graph.search.index_parts import IndexPart
from golore.learner.pipeline import method_tables
from golore.learner.pipeline.companion import Companion
from golore.learner.pipeline.implements_edges import (
    IMPLEMENTS,
    ChangedTables,
    Edges,
    OutsideTables,
    all_tables,
    cache_outside_tables,
    cache_tables,
    cached_outside_tables,
    cached_tables,
    changed_tables,
    implements_edges,
    outside_tables,
)
from golore.learner.pipeline.method_tables import Tables
from golore.learner.pipeline.package_keys import Keys
from golore.learner.pipeline.resolve_workers import (
    Assignment,
    PackageResult,
    Plan,
    ResolutionWorker,
    Spooled,
    assignments,
    close_spools,
    outside_interfaces,
    resolve_packages,
    start_worker,
    stop_worker,
)
from golore.learner.pipeline.stored_keys import STATE
from golore.learner.pipeline.test_edges_update import exercised_elsewhere, update_test_edges
from golore.learner.project.catalog import CatalogPackage
from golore.learner.worker_pool import Call, WorkerPool

SMALL_FILES = 120
"""Up to this many files are resolved in this process, because a new one would have to start and load the plan first."""
MOST_EFFECT_ROWS = 20_000
"""If more rows change, effects on cards are not computed, because most cards are rebuilt anyway."""
FEW_TABLES = 2_000
"""Up to this many changed types and interfaces, their edges are read one by one; above it, all edges are read."""


class GraphChange(NamedTuple):
    """The graph to write. `keys` are the new keys, `before` those in the store, `meta` the meta rows to write."""

    plan: Plan
    repository: Repository
    keys: Keys
    before: Keys
    meta: Mapping[str, str]


BodyEditCallback = Callable[[str, Sequence[Unresolved], Sequence[tuple[str, str]]], None]
"""Called before anything is written, for each file in which only bodies were edited, with its path, its unresolved
uses, and what its tests exercise in other files, as pairs of file and name, one pair for each test."""


class PreparedUpdate(NamedTuple):
    """What an incremental learner prepares: a worker for the plan, the edited files, and the state that the store must
    have. If it has another state, the other fields are out of date."""

    worker: ResolutionWorker
    edited: frozenset[str]
    state: str
    early: BodyEditCallback | None = None


class Written(NamedTuple):
    """Number of packages and files resolved, and of rows and edges written."""

    packages: int = 0
    files: int = 0
    rows: int = 0
    edges: int = 0
    effects: EditEffects | None = None
    """Effects on the cards of other files; None if any card may have changed."""


class _Work(NamedTuple):
    """What to resolve: whole packages by id, and single files of others. `gone`: packages that no longer exist."""

    whole: frozenset[str]
    files: frozenset[str]
    gone: frozenset[str]


class _Resolved(NamedTuple):
    """Stored rows (`old`) and rows to store (`new`), both without `IMPLEMENTS` edges, and `old` without external nodes.
    `tables`: encoded method tables of the packages that were resolved as a whole."""

    old: Subgraph
    new: Subgraph
    tables: dict[str, bytes]
    packages: int
    files: int


def load_graph(
    store: Store,
    cache: Cache,
    pool: WorkerPool,
    change: GraphChange,
    progress: Progress,
    companion: Companion | None = None,
) -> Written:
    """Resolve all packages and replace the whole graph."""
    with store.bulk_load(change.meta, companion) as bulk:
        # What the rows are made from is freed before the engine loads them.
        written, parts = _spool_all(store, bulk, cache, pool, change, progress, is_indexed=companion is not None)
        if companion is not None:
            companion.resolved(bulk.directory, change.meta[STATE], parts)
    return written


def _spool_all(
    store: Store,
    bulk: BulkLoad,
    cache: Cache,
    pool: WorkerPool,
    change: GraphChange,
    progress: Progress,
    *,
    is_indexed: bool,
) -> tuple[Written, list[IndexPart]]:
    """Resolve all packages, and collect all rows of the graph and the parts of the search index."""
    plan, keys = change.plan, change.keys
    externals: dict[str, External] = {}
    tables: dict[str, bytes] = {}
    outside = cached_outside_tables(cache, keys.outside)
    parts: list[IndexPart] = []
    files = 0
    progress.stage("Resolving", len(keys.packages))
    with _shared_plan(plan, store.directory) as plan_path:
        everything = assignments(
            plan_path, plan.catalog, frozenset(keys.packages), spool=bulk.directory, is_indexed=is_indexed
        )
        # The external interfaces first: they take as long as many packages, and nobody should wait for them at the end.
        calls: list[Call] = [(outside_interfaces, plan_path)] if outside is None else []
        calls += [(resolve_packages, assignment) for assignment in everything]
        closing = (close_spools, Assignment(plan_path, (), frozenset(), spool=bulk.directory))
        implements: Edges | None = None
        for result in _outcomes(pool, calls, progress, closing):
            match result:
                case Spooled():
                    bulk.count(result.rows)
                    parts += result.parts
                case OutsideTables():
                    outside = result
                    cache_outside_tables(cache, keys.outside, outside)
                case PackageResult():
                    tables[result.id] = result.tables
                    _merge(externals, result.rows.nodes["External"])
                    files += result.files
            if implements is None and outside is not None and len(tables) == len(keys.packages):
                # Now, because the workers are still writing the rest of their rows.
                implements = implements_edges(_decoded(tables), outside)
                cache_tables(cache, keys.packages, tables)
    assert outside is not None
    if implements is None:  # there are no packages
        implements = implements_edges({}, outside)
    pool.close()  # frees the workers' memory for what follows
    _merge(externals, implements.externals)
    for kind, found in implements.edges.items():
        bulk.edges(kind, found)
    progress.stage("Storing", 0)
    bulk.nodes("External", [externals[id] for id in sorted(externals)])
    bulk.nodes("Repository", [change.repository])
    bulk.complete()
    edges = sum(count for table, count in bulk.rows.items() if isinstance(table, EdgeKind))
    return Written(len(tables), files, bulk.rows.total(), edges), parts


def update_graph(store: Store, cache: Cache, pool: WorkerPool, change: GraphChange, progress: Progress) -> Written:
    """Resolve the packages and files that changed, and write the difference to the store."""
    work = _work(change, lambda id, paths: _edited_files(store, change.plan, id, paths))
    written = _update(store, cache, pool, change, work, progress, None)
    assert written is not None
    return written


def update_graph_from(
    store: Store, cache: Cache, pool: WorkerPool, change: GraphChange, ready: PreparedUpdate, progress: Progress
) -> Written | None:
    """Like `update_graph`, but uses a prepared worker and opens the store for writing only after resolving.

    Returns None if the state of the store is not `ready.state`.
    """
    work = _work(change, lambda _, paths: ready.edited.intersection(paths))
    return _update(store, cache, pool, change, work, progress, ready)


def _update(
    store: Store,
    cache: Cache,
    pool: WorkerPool,
    change: GraphChange,
    work: _Work,
    progress: Progress,
    ready: PreparedUpdate | None,
) -> Written | None:
    plan, keys = change.plan, change.keys
    is_small = len(work.files) + _file_count(plan, work.whole) <= SMALL_FILES
    active_pool, worker = pool, None
    if is_small:
        active_pool, worker = WorkerPool(0), ready.worker if ready is not None else ResolutionWorker(plan, cache)
    progress.stage("Resolving", len(work.whole) + len(work.files))
    with _shared_plan(plan, store.directory, worker) as plan_path:
        results = list(_results(active_pool, assignments(plan_path, plan.catalog, work.whole, work.files), progress))
        if ready is not None:
            if ready.early is not None:
                _call_early(ready.early, [result for result in results if result.testing is None])
            store.open_for_writing()
            if read_meta(store, STATE) != ready.state:
                return None
            if ready.early is not None:
                _call_early(ready.early, [result for result in results if result.testing is not None], store)
        found = _old_and_new(store, active_pool, plan_path, plan, work, results)
        progress.stage("Storing", 0)
        old, new = found.old, found.new
        externals: dict[str, External] = {}
        _merge(externals, new.nodes.pop("External", []))
        if work.whole or work.gone or found.tables:
            implements = _implements(store, cache, active_pool, plan_path, change, _decoded(found.tables), old)
            _merge(externals, implements.externals)
            for kind, edges in implements.edges.items():
                new.edges[kind] += edges
    old.nodes["Repository"] = read_nodes(store, "Repository", [REPOSITORY_ID])
    new.nodes["Repository"] = [change.repository]
    _add_externals(store, old, new, externals)
    delta = difference(old, new, change.meta)
    effects = effects_of(store, old, new, delta) if len(delta) <= MOST_EFFECT_ROWS else None
    apply_and_count(store, delta)
    if found.tables or work.gone:
        cache_tables(cache, keys.packages, found.tables)
    return Written(found.packages, found.files, len(delta) - len(delta.meta), _edge_count(delta), effects)


def _call_early(early: BodyEditCallback, results: Iterable[PackageResult], store: Store | None = None) -> None:
    """Call `early` for the files of these results. Results with tests need the store, which has the calls of helpers in
    other files."""
    for result in results:
        if not result.is_whole:
            exercised: Mapping[str, Sequence[tuple[str, str]]] = {}
            if store is not None and result.testing is not None:
                exercised = exercised_elsewhere(store, result.rows, result.testing)
            unresolved = [row for row in result.rows.nodes["Unresolved"] if isinstance(row, Unresolved)]
            for file in result.rows.nodes["File"]:
                early(file[0], [row for row in unresolved if row.file == file[0]], exercised.get(file[0], ()))


def _work(change: GraphChange, edited_of: Callable[[str, list[str]], Collection[str]]) -> _Work:
    """What to resolve, by the keys: packages whose shape changed as a whole, and edited files of other packages."""
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
            whole.add(package.id)  # something other than the text of a file changed
    return _Work(frozenset(whole), frozenset(edited), frozenset(before.keys() - change.keys.packages.keys()))


def _edited_files(store: Store, plan: Plan, package: str, paths: list[str]) -> Collection[str]:
    """The files whose digest differs from the stored one; empty if the store has other files for this package."""
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


def _old_and_new(
    store: Store, pool: WorkerPool, plan_path: Path, plan: Plan, work: _Work, results: Iterable[PackageResult]
) -> _Resolved:
    """The resolved rows, and the rows of the store that they replace."""
    old = read_packages(store, work.whole | work.gone) if work.whole or work.gone else Subgraph()
    new = Subgraph()
    tables: dict[str, bytes] = {}
    packages = files = 0
    mismatched: set[str] = set()
    for result in results:
        packages += 1
        files += result.files
        if result.is_whole:
            tables[result.id] = result.tables
        elif not _add_files(store, old, result):
            mismatched.add(result.id)
            continue
        elif result.testing is not None:
            before, after = update_test_edges(store, result.testing)
            old.add(before)
            new.add(after)
        new.add(result.rows)
    if mismatched:
        again = _Work(frozenset(mismatched), frozenset(), frozenset())
        more = _results(pool, assignments(plan_path, plan.catalog, again.whole), NoProgress())
        rest = _old_and_new(store, pool, plan_path, plan, again, more)
        old.add(rest.old)
        new.add(rest.new)
        return _Resolved(old, new, tables | rest.tables, packages, files + rest.files)
    return _Resolved(old, new, tables, packages, files)


def _add_files(store: Store, old: Subgraph, result: PackageResult) -> bool:
    """Add the stored rows of the files just resolved to `old`. Returns False if the store has other symbols for them,
    which an unchanged shape should rule out; the caller then resolves the whole package."""
    stored = read_files(store, (node[0] for node in result.rows.nodes["File"]))
    if {node[0] for node in stored.nodes["Symbol"]} != {node[0] for node in result.rows.nodes["Symbol"]}:
        return False
    old.add(stored)
    old.nodes["Package"] += read_nodes(store, "Package", [node[0] for node in result.rows.nodes["Package"]])
    return True


@contextmanager
def _shared_plan(plan: Plan, directory: Path, worker: ResolutionWorker | None = None) -> Generator[Path]:
    """Write the plan to a file for the worker processes, or register `worker` in this process under that path."""
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
    for result in _outcomes(pool, ((resolve_packages, task) for task in tasks), progress):
        assert isinstance(result, PackageResult)
        yield result


def _outcomes(
    pool: WorkerPool, calls: Iterable[Call], progress: Progress, closing: Call | None = None
) -> Iterator[PackageResult | OutsideTables | Spooled]:
    """The results of `resolve_packages`, one by one, of `outside_interfaces`, as tables, and of `close_spools`."""
    for work, task, result in pool.run_calls(calls, closing):
        if result is None:
            what = "external interfaces"
            if isinstance(task, Assignment):
                what = ", ".join(task.directories) or "packages"
            raise RuntimeError(f"a worker process died while resolving {what}")
        if work is outside_interfaces:
            yield OutsideTables(result)
        elif work is close_spools:
            yield result
        else:
            yield from result
            progress.tick(sum(1 if found.is_whole else found.files for found in result))


def _decoded(tables: Mapping[str, bytes]) -> dict[str, Tables]:
    return {id: method_tables.decode(encoded) for id, encoded in tables.items()}


def _merge(externals: dict[str, External], rows: Iterable[Node]) -> None:
    """Add external nodes. If several packages have the same node, one of known kind takes precedence."""
    for row in rows:
        assert isinstance(row, External)
        known = externals.get(row.id)
        if known is None or (known.kind == "unknown", known) > (row.kind == "unknown", row):
            externals[row.id] = row


def _implements(
    store: Store,
    cache: Cache,
    pool: WorkerPool,
    plan_path: Path,
    change: GraphChange,
    fresh: Mapping[str, Tables],
    old: Subgraph,
) -> Edges:
    """The new `IMPLEMENTS` edges; adds the edges that they replace to `old`.

    Only edges at changed tables are made, if the previous tables are known and few changed; otherwise all edges.
    """
    keys, before = change.keys, change.before
    last = {id: key for id, key in before.packages.items() if id in fresh or id not in keys.packages}
    previous = cached_tables(cache, last)
    differing: ChangedTables | None = None
    if previous.keys() == last.keys() and keys.outside == before.outside:
        differing = changed_tables(previous, fresh)
        if not differing.types and not differing.interfaces:
            return Edges({}, [])
        if len(differing.types) + len(differing.interfaces) > FEW_TABLES:
            differing = None
    outside = OutsideTables([])
    if differing is None or differing.types:
        outside = outside_tables(cache, pool, plan_path, keys.outside)
    if differing is None:
        for kind in IMPLEMENTS.values():
            old.edges[kind] += read_edges(store, kind)
    else:
        for kind, edge in read_edges_at(store, "IMPLEMENTS", "source", sorted(differing.types)):
            old.edges[kind].append(edge)
        for kind, edge in read_edges_at(store, "IMPLEMENTS", "target", sorted(differing.interfaces)):
            if edge.source not in differing.types:
                old.edges[kind].append(edge)
    tables = all_tables(cache, pool, plan_path, change.plan.catalog, keys.packages, fresh)
    return implements_edges(tables, outside, differing)


def _add_externals(store: Store, old: Subgraph, new: Subgraph, externals: dict[str, External]) -> None:
    """Set the external nodes of both subgraphs. A node that only `old` uses is left out of both if edges of other
    packages still use it; otherwise the difference deletes it."""
    used_before = Counter(_external_targets(old))
    used_now = set(_external_targets(new))
    known = read_externals(store, used_before.keys() | used_now)
    still_used = used_elsewhere(store, {id: used_before[id] for id in used_before.keys() - used_now})
    old.nodes["External"] = [known[id] for id in sorted(known) if id not in still_used]
    new.nodes["External"] = [externals.get(id) or known[id] for id in sorted(used_now)]


def _external_targets(part: Subgraph) -> Iterator[str]:
    return (edge.target for kind, edges in part.edges.items() if kind.target == "External" for edge in edges)


def _edge_count(delta: GraphDelta) -> int:
    parts = (delta.edges_removed, delta.edges_added, delta.edges_changed)
    return sum(len(rows) for part in parts for rows in part.values())
