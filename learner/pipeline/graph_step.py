"""`learn_graph`: builds or updates the graph of a repository from its files. The order of the steps is here.

The first learn, and any learn that would change a large part of the packages, loads the whole graph again. Any other
learn compares the packages whose keys changed with their rows in the store and writes the difference in one
transaction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.arrow import import_arrow
from golore.graph.database.store import Store
from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.files.identity import graph_identity
from golore.graph.files.store_path import CACHE_NAME, STORE_NAME, store_of
from golore.graph.gc_pause import gc_disabled
from golore.graph.model.entities import REPOSITORY_ID, Problem, Repository
from golore.graph.progress import NoProgress, Progress
from golore.graph.safety.system import physical_memory
from golore.graph.safety.trust import is_trusted
from golore.learner.checkout.discovery import Discovery, discover, discover_more, is_skipped_by_go
from golore.learner.checkout.freshness import record_seen_files
from golore.learner.checkout.git_directory import other_checkouts
from golore.learner.go_rules.go_env import read_environment
from golore.learner.pipeline.companion import Companion
from golore.learner.pipeline.graph_writer import GraphChange, Written, load_graph, update_graph
from golore.learner.pipeline.package_keys import Keys, Target, make_keys, state_key
from golore.learner.pipeline.resolve_workers import Plan
from golore.learner.pipeline.saved_survey import SavedSurvey, layout_key, read_saved_survey, save
from golore.learner.pipeline.stored_keys import StoredKeys, changed_meta, make_stored_keys, read_stored_keys
from golore.learner.pipeline.version import RESOLVER, learner_version, replacement_message
from golore.learner.project.catalog import Catalog, CatalogPackage, repository_catalog
from golore.learner.project.external_packages import (
    ExternalPackages,
    find_external_packages,
    is_unchanged,
    unvendored_path,
)
from golore.learner.project.project import Project, build_project
from golore.learner.project.read_facts import FileToRead, ReadResult, read_files
from golore.learner.project.stdlib_index import import_paths, index
from golore.learner.worker_pool import WorkerPool

SMALL_BYTES = 3 << 20
"""Below this many bytes of source, starting worker processes costs more than it saves."""
WORKER_SHARE = 4
"""Memory of a worker that resolves, in sizes of the source: 4.4 on Kubernetes with two workers, less with more."""
FEW_EDITED = 20
MOST_COMPARED = 500
"""Up to so many edited files, and so many packages that see them, differences are written, however small the graph."""


class Report(NamedTuple):
    """The result of a learn. Counters up to `rows_written` count work; `packages` and `files` are totals."""

    files_read: int
    files_parsed: int
    outside_parsed: int
    packages_resolved: int
    files_resolved: int
    edges_written: int
    rows_written: int
    packages: int
    files: int
    missing_imports: tuple[str, ...]
    problems: tuple[Problem, ...]
    seconds: float
    messages: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    """The stages of the learn with their seconds. What is left of `seconds` is the start."""


class Survey(NamedTuple):
    """What is known about a repository when its graph is made, except the facts, which are in the cache."""

    discovery: Discovery
    project: Project
    files: dict[str, CachedFile]
    catalog: dict[str, tuple[CatalogPackage, ...]]
    outside: ExternalPackages
    stored_keys: StoredKeys
    problems: tuple[Problem, ...]
    graph: str
    """Identity of the graph that was written (see `graph_identity`)."""
    layout: str = ""
    """What `layout_key` returns for the discovery and the project; empty if it was not computed yet."""


def learn_graph(
    root: Path,
    *,
    store_directory: Path | None = None,
    full: bool = False,
    edges: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
    companion: Companion | None = None,
) -> Report:
    """Bring the graph of a repository up to date with its files. Without `edges`, uses are not resolved. `companion`
    works beside a load of the whole graph."""
    return learn_graph_and_survey(
        root,
        store_directory=store_directory,
        full=full,
        edges=edges,
        workers=workers,
        progress=progress,
        companion=companion,
    )[0]


def learn_graph_and_survey(
    root: Path,
    *,
    store_directory: Path | None = None,
    full: bool = False,
    edges: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
    companion: Companion | None = None,
) -> tuple[Report, Survey]:
    """Like `learn_graph`, but also returns the `Survey` that incremental updates start from."""
    started, since_ns = time.monotonic(), time.time_ns()
    progress = progress or NoProgress()
    discovery = discover(root)
    project = build_project(discovery, read_environment(std=import_paths()))
    directory = store_directory or discovery.root / STORE_NAME
    is_first = full or not (directory / CACHE_NAME).exists()
    processes = worker_count(discovery, workers)
    if is_first:
        # Once, before the fork, because all workers need it, and before there are threads, so that numpy stays out.
        import_arrow("pyarrow.compute")
        if companion is not None and processes:
            companion.fork(processes, len(discovery.files))
    with (
        gc_disabled(),
        WorkerPool(processes, fork=is_first) as pool,
        Store.open(directory, write=True) as store,
        open_cache(directory, discovery.root) as cache,
    ):
        known_files = {} if full else cache.files()
        if companion is not None and is_first:
            companion.begin(discovery)
        if not known_files:
            progress.begin(len(discovery.files), _size_of(discovery))
        saved = None if full else read_saved_survey(directory)
        reading = _read(discovery, cache, pool, known_files, progress, edges)
        while more := _imported_left_out(project, reading).difference(discovery.also):
            discovery = discover_more(discovery, more.union(discovery.also))
            project = build_project(discovery, project.environment)
            found = tuple(file for file in discovery.files if file.path not in reading.files)
            reading = reading.with_more(
                _read(discovery._replace(files=found), cache, pool, known_files, NoProgress(), edges)
            )
        catalog = repository_catalog(project, reading.heads)
        outside = find_external_packages(
            project, catalog if edges else {}, cache, pool, known_files, None if saved is None else saved.outside
        )
        keys = keys_of(project, catalog, outside, edges=edges)
        repository = repository_of(project)
        before = read_stored_keys({} if full else store.meta())  # a full learn does not need the stored graph
        replaced = "" if full else replacement_message(store, before.meta_rows)
        stored_keys = make_stored_keys(state_key(keys, repr(repository)), keys)
        written = Written()
        if full or stored_keys.state != before.state:
            plan = Plan(project, catalog, outside.packages, reading.files, directory / CACHE_NAME, edges)
            edited = len(edited_files(known_files, reading.files))
            if full or replaced or store.is_empty or is_mostly_new(before.keys, keys, edited):
                change = GraphChange(plan, repository, keys, before.keys, stored_keys.meta_rows)
                written = load_graph(store, cache, pool, change, progress, companion)
            else:
                change = GraphChange(plan, repository, keys, before.keys, changed_meta(before, stored_keys))
                written = update_graph(store, cache, pool, change, progress)
            cache.prune(keys_in_use(reading.files, outside))
        record_seen_files(directory, discovery, reading.files, since_ns, _editable_files(project, outside))
        graph = graph_identity(directory)
    problems = tuple(sorted({*discovery.problems, *project.problems, *reading.problems, *outside.problems}))
    survey = Survey(discovery, project, reading.files, catalog, outside, stored_keys, problems, graph)
    if edges and not reading.problems:
        save_survey(directory, survey)
    messages = tuple(message for message in (store.message, cache.message, replaced) if message)
    work = (reading.read, reading.parsed, outside.parsed)
    return report_of(survey, work, written, time.monotonic() - started, messages), survey


def save_survey(directory: Path, survey: Survey) -> None:
    """Save a survey beside the graph, so that the next learn, perhaps in another process, can start from it."""
    fields = (survey.discovery.also, survey.files, survey.catalog, survey.outside, survey.stored_keys, survey.problems)
    layout = survey.layout or layout_key(survey.discovery, survey.project)
    save(directory, SavedSurvey(learner_version(), survey.graph, layout, *fields))


def resumed_survey(root: Path, directory: Path) -> Survey | None:
    """The survey of the last learn, or None if anything other than the contents of known files has changed since."""
    saved = read_saved_survey(directory)
    if saved is None or not saved.graph or saved.graph != graph_identity(directory):
        return None
    discovery = discover(root, also=saved.also)
    if [file.path for file in discovery.files] != sorted(saved.files):
        return None
    project = build_project(discovery, read_environment(std=import_paths()))
    if layout_key(discovery, project) != saved.layout:
        return None
    with open_cache(directory, discovery.root) as cache:
        if not is_unchanged(project, saved.outside, cache):
            return None
    return Survey(
        discovery,
        project,
        saved.files,
        saved.catalog,
        saved.outside,
        saved.stored_keys,
        saved.problems,
        saved.graph,
        saved.layout,
    )


def report_of(
    survey: Survey, work: tuple[int, int, int], written: Written, seconds: float, messages: tuple[str, ...]
) -> Report:
    """`work`: the number of files read, of files parsed, and of external files parsed."""
    return Report(
        *work,
        written.packages,
        written.files,
        written.edges,
        written.rows,
        sum(len(packages) for packages in survey.catalog.values()),
        len(survey.files),
        survey.outside.missing,
        survey.problems,
        seconds,
        messages,
    )


def open_cache(directory: Path, root: Path) -> Cache:
    """Open the cache of a store. It can copy facts from the caches of the repository's other worktrees."""
    return Cache.open(directory / CACHE_NAME, neighbours=_other_caches(root))


def keys_of(project: Project, catalog: Catalog, outside: ExternalPackages, *, edges: bool) -> Keys:
    targets = _Targets(project, catalog, outside.packages)
    return make_keys(catalog, outside.packages.values(), targets, RESOLVER if edges else "none")


def _other_caches(root: Path) -> tuple[Path, ...]:
    """The cache files of the repository's other worktrees, if their stores are this user's."""
    stores = [(other, store_of(other)) for other in other_checkouts(root)]
    return tuple(store / CACHE_NAME for other, store in stores if is_trusted(str(other), str(store)))


class _Targets:
    """Finds import targets for the keys: a package, whose shape is part of the key, or a text if it does not change."""

    def __init__(self, project: Project, catalog: Catalog, outside: dict[str, CatalogPackage]) -> None:
        self._project = project
        self._catalog = catalog
        self._outside = outside
        self._standard = f"std {index().version}"
        self._by_path: dict[str, list[CatalogPackage]] = {}
        self._by_context: dict[str, dict[str, Target]] = {}
        self._by_module: dict[str, dict[str, Target]] = {}

    def __call__(self, importer: CatalogPackage, path: str) -> Target:
        # Within one module, a path has the same target for every directory. There may be 100,000 imports.
        known = self._by_context.get(importer.context)
        if known is None:
            module = self._project.module_of(importer.context)
            known = {} if module is None else self._by_module.setdefault(module.dir, {})
            self._by_context[importer.context] = known
        if path[:1] == ".":
            return self._find(importer, path)
        if path not in known:
            known[path] = self._find(importer, path)
        return known[path]

    def _find(self, importer: CatalogPackage, path: str) -> Target:
        location = self._project.find(importer.context, path)
        if location is None:
            return self._in_other_module(path)
        if location.kind == "repo":
            packages = self._catalog.get(location.dir, ())
            return packages[0] if packages else None
        if location.kind == "std":
            return self._standard
        return self._outside.get(location.dir) or self._in_other_module(unvendored_path(location.import_path))

    def _in_other_module(self, path: str) -> str | None:
        """A text for a package that the importer's module does not see but another module does: the node of the import
        describes that package, although nothing is resolved through it. None if no module sees it."""
        if not self._by_path:
            for package in self._outside.values():
                self._by_path.setdefault(package.path, []).append(package)
        found = self._by_path.get(path, ())
        parts = [part for package in found for part in (package.module, *(file.key for file in package.files))]
        return f"elsewhere {' '.join(parts)}" if parts else None


def worker_count(discovery: Discovery, workers: int | None) -> int:
    """The number of worker processes: those that were asked for, or one for each core, as far as memory allows."""
    if workers is not None:
        return workers
    size = _size_of(discovery)
    if size < SMALL_BYTES:
        return 0
    # Half of the memory, because the system, the graph and an agent need some too.
    most = (physical_memory() // 2) // (WORKER_SHARE * size)
    return max(1, min(os.cpu_count() or 1, most))


def _size_of(discovery: Discovery) -> int:
    return sum(file.state.size for file in discovery.files)


def _editable_files(project: Project, outside: ExternalPackages) -> list[CachedFile]:
    """The external files that a user may edit: all but those in the module cache and in GOROOT."""
    fixed = [
        f"{path.as_posix()}/"
        for path in (project.environment.gomodcache, project.environment.goroot)
        if path is not None
    ]
    return [file for file in outside.files.values() if not file.path.startswith(tuple(fixed))]


def _imported_left_out(project: Project, reading: ReadResult) -> set[str]:
    """Directories of the repository that are imported, although Go leaves them out when it lists packages."""
    base, check_all = f"{project.root.as_posix()}/", project.ignores
    found: set[str] = set()
    for path, head in reading.heads.items():
        for imported in head.imports:
            if check_all or is_skipped_by_go(imported.path):
                location = project.find(path.rpartition("/")[0], imported.path)
                if location is not None and location.kind == "local" and location.dir.startswith(base):
                    found.add(location.dir.removeprefix(base))
    return found


def _read(
    discovery: Discovery,
    cache: Cache,
    pool: WorkerPool,
    known: Mapping[str, CachedFile],
    progress: Progress,
    edges: bool,
) -> ReadResult:
    progress.stage("Reading", len(discovery.files))
    root = str(discovery.root)
    wanted = (FileToRead(file.path, f"{root}/{file.path}", file.state) for file in discovery.files)
    return read_files(cache, pool, wanted, known, progress.tick, extent="all" if edges else "outline")


def repository_of(project: Project) -> Repository:
    """The node of the repository, named after the module at its root, else after the one nearest to the root."""
    modules = tuple(module.path for module in project.modules)
    nearest = min(project.modules, key=lambda module: (len(Path(module.dir).parts), module.dir), default=None)
    return Repository(REPOSITORY_ID, project.root.name if nearest is None else nearest.path, modules)


def is_mostly_new(before: Keys, keys: Keys, edited: int) -> bool:
    """Whether loading the whole graph is less work than finding the differences. `edited`: number of edited files.

    The packages that import an edited one are resolved again, and mostly get the rows that they have. So few edits
    leave few differences, but the rows of all these packages have to be read and compared, which takes memory.
    """
    last = before.packages
    changed = sum(1 for id, key in keys.packages.items() if id not in last or last[id].shape != key.shape)
    is_large_share = changed > 20 and changed > len(keys.packages) // 3
    return is_large_share and (edited > FEW_EDITED or changed > MOST_COMPARED)


def edited_files(before: Mapping[str, CachedFile], after: Mapping[str, CachedFile]) -> tuple[str, ...]:
    """The paths of files that were added, removed or have another content."""
    paths = before.keys() | after.keys()
    return tuple(sorted(path for path in paths if _digest(before.get(path)) != _digest(after.get(path))))


def _digest(file: CachedFile | None) -> str:
    return "" if file is None else file.digest


def keys_in_use(files: Mapping[str, CachedFile], outside: ExternalPackages) -> set[str]:
    """Cache keys of the facts that a graph of these files is made from."""
    external = (file.key for package in outside.packages.values() for file in package.files)
    return {file.key for file in files.values()}.union(external)
