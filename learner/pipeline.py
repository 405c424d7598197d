"""`learn`: from the files of a repository to its graph in the store. The only place that knows the order of the steps.

A first learn, or one after which most packages would change, loads the whole graph anew; any other compares those
packages whose keys changed with what the store has, and writes the difference in one transaction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from golore.graph.cache import Cache, CachedFile
from golore.graph.home import CACHE_NAME, STORE_NAME, store_of
from golore.graph.model import REPOSITORY_ID, Problem, Repository
from golore.graph.store import Store
from golore.learner import facts as f
from golore.learner.catalog import Catalog, CatalogPackage, repository_catalog
from golore.learner.crew import Crew
from golore.learner.discover import Discovery, discover
from golore.learner.environment import read_environment
from golore.learner.freshness import remember
from golore.learner.gitdir import other_checkouts
from golore.learner.keys import RESOLVER, PackageKeys, Target, package_keys, state_key
from golore.learner.outside import Outside, find_outside
from golore.learner.project import Project, build_project
from golore.learner.reading import Reading, Wanted, read_files
from golore.learner.resolving import Plan
from golore.learner.stdlib import index, paths
from golore.learner.writing import Change, Progress, Written, load_graph, update_graph

SMALL_BYTES = 3 << 20
"""Up to this much source, starting worker processes costs more than it saves."""


class Silent:
    def stage(self, name: str, total: int) -> None:
        pass

    def tick(self, units: int) -> None:
        pass


class Report(NamedTuple):
    """What a learn did: the first counters count work, the others what the repository holds."""

    files_read: int
    files_parsed: int
    outside_parsed: int
    packages_resolved: int
    rows_written: int
    packages: int
    files: int
    missing_imports: tuple[str, ...]
    problems: tuple[Problem, ...]
    seconds: float
    messages: tuple[str, ...] = ()


class Marks(msgspec.Struct, frozen=True):
    """The learner's notes in the store: what its rows were made from."""

    state: str = ""
    packages: dict[str, PackageKeys] = {}


def learn(
    root: Path,
    *,
    store_directory: Path | None = None,
    full: bool = False,
    edges: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Bring the store of a repository up to date with its files. Without `edges`, only with what contains what."""
    started, since_ns = time.monotonic(), time.time_ns()
    progress = progress or Silent()
    discovery = discover(root)
    project = build_project(discovery, read_environment(std=paths()))
    directory = store_directory or discovery.root / STORE_NAME
    with (
        Store.open(directory, write=True) as store,
        Cache.open(directory / CACHE_NAME, neighbours=_neighbours(discovery.root)) as cache,
        Crew(_crew_size(discovery, workers)) as crew,
    ):
        known = cache.files()
        reading = _read(discovery, cache, crew, known, progress)
        catalog = repository_catalog(project, reading.heads)
        outside = find_outside(project, catalog if edges else {}, cache, crew, known)
        keys = package_keys(catalog, _Targets(project, catalog, outside.packages), RESOLVER if edges else "none")
        repository = _repository(project)
        before = _read_marks(store)
        marks = Marks(state_key(keys, repr(repository)), keys)
        written = Written(0, 0)
        if full or marks.state != before.state:
            plan = Plan(project, catalog, outside.packages, reading.files, directory / "cache.db", edges)
            change = Change(plan, repository, keys, before.packages, _notes(marks))
            write = load_graph if full or store.is_empty or _is_mostly_new(before.packages, keys) else update_graph
            written = write(store, cache, crew, change, progress)
            cache.prune({file.key for file in reading.files.values()} | _keys_of(outside))
        remember(directory, discovery, reading.files, since_ns)
    problems = {*discovery.problems, *project.problems, *reading.problems}
    return Report(
        reading.read,
        reading.parsed,
        outside.parsed,
        written.packages,
        written.rows,
        sum(len(packages) for packages in catalog.values()),
        len(reading.heads),
        outside.missing,
        tuple(sorted(problems)),
        time.monotonic() - started,
        tuple(message for message in (store.message, cache.message) if message),
    )


def _neighbours(root: Path) -> tuple[Path, ...]:
    """The caches of the other worktrees of the same repository."""
    return tuple(store_of(other) / CACHE_NAME for other in other_checkouts(root))


class _Targets:
    """Where imports lead, for the keys: to a package whose shape counts, or to something that stays as it is."""

    def __init__(self, project: Project, catalog: Catalog, outside: dict[str, CatalogPackage]) -> None:
        self._project = project
        self._catalog = catalog
        self._outside = outside
        self._standard = f"std {index().version}"

    def __call__(self, importer: CatalogPackage, path: str) -> Target:
        location = self._project.find(importer.context, path)
        if location is None:
            return None
        if location.kind == "repo":
            packages = self._catalog.get(location.dir, ())
            return packages[0] if packages else None
        return self._standard if location.kind == "std" else self._outside.get(location.dir)


def _crew_size(discovery: Discovery, workers: int | None) -> int:
    if workers is not None:
        return workers
    return 0 if sum(file.size for file in discovery.files) < SMALL_BYTES else (os.cpu_count() or 1)


def _read(
    discovery: Discovery, cache: Cache, crew: Crew, known: Mapping[str, CachedFile], progress: Progress
) -> Reading:
    progress.stage("Reading", len(discovery.files))
    root = str(discovery.root)
    wanted = (Wanted(file.path, f"{root}/{file.path}", file.size, file.mtime_ns) for file in discovery.files)
    return read_files(cache, crew, wanted, known, progress.tick)


def _repository(project: Project) -> Repository:
    modules = tuple(module.path for module in project.modules)
    return Repository(REPOSITORY_ID, modules[0] if modules else project.root.name, modules)


def _read_marks(store: Store) -> Marks:
    text = store.marks().get("learned", "")
    try:
        return msgspec.json.decode(text, type=Marks) if text else Marks()
    except msgspec.MsgspecError:
        return Marks()


def _notes(marks: Marks) -> dict[str, str]:
    return {"learned": msgspec.json.encode(marks).decode(), "extractor": f.EXTRACTOR}


def _is_mostly_new(before: dict[str, PackageKeys], keys: dict[str, PackageKeys]) -> bool:
    changed = sum(1 for id, key in keys.items() if before.get(id) != key)
    return changed > 20 and changed > len(keys) // 3


def _keys_of(outside: Outside) -> set[str]:
    return {file.key for package in outside.packages.values() for file in package.files}
