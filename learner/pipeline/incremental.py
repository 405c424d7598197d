"""Incremental learner for long-running processes: the cost of an update depends on the edit, not on the repository.

The learner keeps the survey of the last learn (packages, import targets, loaded types) and trusts the list of edited
files that it is given. It handles edits of known files that change neither the packages nor the external packages in
use. It falls back to an ordinary learn for new and deleted files, go.mod, ignore rules, changed build constraints,
changed imports of external code, and a store that another process has written to. An update does not notice edited
files that are not in the list, and changes to external code.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec
from golore.graph.cards.card_builder import ChangedFiles
from golore.graph.database.store import Store
from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.files.file_state import FileState, is_unchanged, state_from
from golore.graph.files.identity import graph_identity
from golore.graph.files.store_path import CACHE_NAME, STORE_NAME
from golore.graph.gc_pause import gc_disabled
from golore.graph.model.entities import Unresolved
from golore.graph.progress import NoProgress, Progress
from golore.learner.checkout.discovery import DEFAULT_LIMITS, SourceFile, is_skipped_by_go
from golore.learner.checkout.freshness import record_edits
from golore.learner.pipeline.companion import Companion
from golore.learner.pipeline.graph_step import (
    Report,
    Survey,
    edited_files,
    is_mostly_new,
    keys_in_use,
    keys_of,
    learn_graph_and_survey,
    open_cache,
    report_of,
    repository_of,
    resumed_survey,
    save_survey,
)
from golore.learner.pipeline.graph_writer import (
    BodyEditCallback,
    GraphChange,
    PreparedUpdate,
    Written,
    update_graph_from,
)
from golore.learner.pipeline.package_keys import Keys, PackageKeys, edges_key, state_key
from golore.learner.pipeline.resolve_workers import Plan, ResolutionWorker
from golore.learner.pipeline.stored_keys import StoredKeys, changed_meta, updated_stored_keys
from golore.learner.project.catalog import CatalogPackage, FileHead, repository_catalog
from golore.learner.project.project import Project
from golore.learner.project.read_facts import FileToRead, ReadResult, read_files
from golore.learner.worker_pool import WorkerPool

MOST_EDITED = 200
"""If more files are edited at once, an ordinary learn is run, which reads them in several processes."""
MOST_LOADED = 2_500
"""If the worker has loaded more packages, it is replaced, so that it does not grow to hold the whole repository."""
PRUNE_EVERY = 50
"""Number of updates after which facts of earlier file contents are removed from the cache."""


class Update(NamedTuple):
    """The result of a learn or an update. `changed`: the changed files, None if any file may have changed. `is_warm`:
    whether the update was incremental."""

    report: Report
    changed: ChangedFiles | None
    is_incremental: bool

    @property
    def paths(self) -> tuple[str, ...] | None:
        """The files that changed; None if any file may have changed."""
        return None if self.changed is None else tuple(self.changed.paths)


class BodyEdit(NamedTuple):
    """An edit inside function bodies, reported before the graph is written. `before` and `digest` are the digests of
    the old and the new contents; `unresolved` and `exercised` are as in `BodyEditCallback`."""

    path: str
    before: str
    digest: str
    unresolved: Sequence[Unresolved]
    exercised: Sequence[tuple[str, str]]


class IncrementalLearner:
    """Learns one repository repeatedly. Not thread-safe."""

    def __init__(self, root: Path, store_directory: Path | None = None, workers: int | None = None) -> None:
        self._root = root
        self._directory = store_directory
        self._workers = workers
        self._survey: Survey | None = None
        self._worker: ResolutionWorker | None = None
        self._linked: frozenset[str] = frozenset()
        self._updates = 0
        self._is_saved = True

    @property
    def updates(self) -> int:
        """Number of updates since the last ordinary learn."""
        return self._updates

    def found_documents(self) -> dict[str, FileState]:
        """The documents that the last walk found. Only right after `learn` or `resume`."""
        return {} if self._survey is None else {file.path: file.state for file in self._survey.discovery.documents}

    def learn(self, progress: Progress | None = None, companion: Companion | None = None) -> Update:
        """Run an ordinary learn, which later updates start from. `companion` is as in `learn_graph`."""
        before = self._survey
        self._forget()
        report, survey = learn_graph_and_survey(
            self._root,
            store_directory=self._directory,
            workers=self._workers,
            progress=progress,
            companion=companion,
        )
        self._survey, self._linked, self._is_saved = survey, _linked_files(survey), True
        if before is None:
            return Update(report, None, False)
        return Update(
            report,
            ChangedFiles(edited_files(before.files, survey.files), before.stored_keys.state, survey.stored_keys.state),
            False,
        )

    def resume(self, progress: Progress | None = None, companion: Companion | None = None) -> Update:
        """Continue from the last learn, also one of another process: compares size and time of all files, then updates
        only what changed."""
        directory = self._directory or self._root / STORE_NAME
        with gc_disabled():
            survey = resumed_survey(self._root, directory)
            if survey is None:
                return self.learn(progress, companion)
            self._survey, self._linked = survey, _linked_files(survey)
            files = survey.discovery.files
            edited = [file.path for file in files if _looks_edited(survey.files[file.path], file)]
            update = self.update(edited, progress, companion=companion)
            self.save()
        return update

    def save(self) -> None:
        """Save the survey beside the graph, if updates have changed it, so that the next learner can resume."""
        if self._survey is not None and not self._is_saved:
            save_survey(self._directory or self._root / STORE_NAME, self._survey)
            self._is_saved = True

    def update(
        self,
        paths: Collection[str],
        progress: Progress | None = None,
        early: Callable[[BodyEdit], None] | None = None,
        companion: Companion | None = None,
    ) -> Update:
        """Learn again after these files were edited. `paths` are relative to the root; unchanged files are ignored.

        `early` is called for each edit that stays inside bodies, as soon as the file is resolved.
        """
        survey, self._survey = self._survey, None  # if this fails halfway, the survey must not be used again
        if survey is not None:
            wanted = self._files_to_read(survey, paths)
            try:
                result = None if wanted is None else self._try_update(survey, wanted, early)
            except LookupError:
                result = None  # facts were removed from the cache in the meantime
            if result is not None:
                update, self._survey = result
                self._updates += 1
                self._is_saved = self._is_saved and not update.report.files_read
                return update
            self._survey = survey
        return self.learn(progress, companion)

    def _forget(self) -> None:
        self._survey = self._worker = None
        self._updates = 0

    def _files_to_read(self, survey: Survey, paths: Collection[str]) -> list[FileToRead] | None:
        """The edited files with their size and time on disk; None if an ordinary learn is required."""
        if len(paths) > MOST_EDITED:
            return None
        wanted: list[FileToRead] = []
        for path in sorted(set(paths)):
            absolute = f"{survey.discovery.root.as_posix()}/{path}"
            if path not in survey.files:
                # A deleted file of vendored code matters too.
                is_outside = absolute.rpartition("/")[0] in survey.outside.packages
                if is_outside or (_could_be_learned(path) and os.path.lexists(absolute)):
                    return None
                continue  # such as the temporary file that an editor renames
            try:
                status = os.lstat(absolute)
            except OSError:
                return None
            is_plain = stat.S_ISREG(status.st_mode) and status.st_mode & 0o444 == 0o444
            if path in self._linked or not is_plain or status.st_size > DEFAULT_LIMITS.max_file_bytes:
                return None
            wanted.append(FileToRead(path, absolute, state_from(status)))
        return wanted

    def _try_update(
        self, survey: Survey, wanted: list[FileToRead], early: Callable[[BodyEdit], None] | None
    ) -> tuple[Update, Survey] | None:
        """Read the files and write the difference; None if an ordinary learn is required."""
        started = time.monotonic()
        root = survey.discovery.root
        directory = self._directory or root / STORE_NAME
        with Store.open(directory, write=True) as store, open_cache(directory, root) as cache, WorkerPool(0) as pool:
            if store.is_empty or graph_identity(directory) != survey.graph:
                return None  # another process has written, and may have removed facts that are needed here
            before = {file.name: survey.files[file.name] for file in wanted}
            reading = read_files(cache, pool, wanted, before, lambda _: None)
            after = None if reading.problems else _updated_survey(survey, cache, reading)
            if after is None:
                return None
            edited = edited_files(before, reading.files)
            written: Written | None = Written()
            if edited:
                callback = None if early is None else _WithDigests(early, before, reading.files)
                written = self._write(store, cache, survey.stored_keys, after, edited, callback)
                if written is None:
                    return None
                record_edits(directory, survey.graph, reading.files.values())
                after = after._replace(graph=graph_identity(directory))
            if self._updates % PRUNE_EVERY == PRUNE_EVERY - 1:
                cache.prune(keys_in_use(after.files, after.outside))
            messages = tuple(message for message in (store.message, cache.message) if message)
        work = (reading.read, reading.parsed, 0)
        report = report_of(after, work, written, time.monotonic() - started, messages)
        return Update(
            report, ChangedFiles(edited, survey.stored_keys.state, after.stored_keys.state, written.effects), True
        ), after

    def _write(
        self,
        store: Store,
        cache: Cache,
        before: StoredKeys,
        survey: Survey,
        edited: tuple[str, ...],
        early: BodyEditCallback | None,
    ) -> Written | None:
        keys = survey.stored_keys.keys
        plan = Plan(
            survey.project, survey.catalog, survey.outside.packages, survey.files, store.directory / CACHE_NAME, True
        )
        worker = self._worker
        if worker is None or worker.loaded > MOST_LOADED or not _is_same_shape(before.keys, keys):
            worker = ResolutionWorker(plan, cache)  # types loaded from other shapes are out of date
        worker.use_plan(plan, cache)
        self._worker = worker
        change = GraphChange(
            plan, repository_of(survey.project), keys, before.keys, changed_meta(before, survey.stored_keys)
        )
        ready = PreparedUpdate(worker, frozenset(edited), before.state, early)
        with WorkerPool(self._workers if self._workers is not None else os.cpu_count() or 1) as pool:
            return update_graph_from(store, cache, pool, change, ready, NoProgress())


class _WithDigests:
    """An `BodyEditCallback` that adds the digests of the file and passes a `BodyEdit` on."""

    def __init__(
        self, report: Callable[[BodyEdit], None], before: Mapping[str, CachedFile], after: Mapping[str, CachedFile]
    ) -> None:
        self._report = report
        self._before = before
        self._after = after

    def __call__(self, path: str, unresolved: Sequence[Unresolved], exercised: Sequence[tuple[str, str]]) -> None:
        if path in self._before and path in self._after:
            self._report(BodyEdit(path, self._before[path].digest, self._after[path].digest, unresolved, exercised))


def _looks_edited(before: CachedFile, now: SourceFile) -> bool:
    return not is_unchanged(before.state, now.state)


def _could_be_learned(path: str) -> bool:
    return path.endswith(".go") and not any(part[:1] in "._" for part in path.split("/"))


def _updated_survey(survey: Survey, cache: Cache, reading: ReadResult) -> Survey | None:
    """The survey after these files were edited; None if an ordinary learn is required."""
    if not reading.files:
        return survey
    files = survey.files | reading.files
    groups = _regrouped_packages(survey, cache, files, reading.heads)
    if groups is None:
        return None
    catalog = survey.catalog | groups
    last = survey.stored_keys.keys
    if all(_shapes(survey.catalog[directory]) == _shapes(group) for directory, group in groups.items()):
        packages = dict(last.packages)
        for package in chain.from_iterable(groups.values()):
            shape = packages[package.id].shape
            packages[package.id] = PackageKeys(edges_key(shape, package), shape)
        keys = Keys(packages, last.outside)
    else:
        keys = keys_of(survey.project, catalog, survey.outside, edges=True)
    if is_mostly_new(last, keys, len(reading.files)):
        return None
    changed = [id for id, key in keys.packages.items() if last.packages[id] != key]
    state = state_key(keys, repr(repository_of(survey.project)))
    return survey._replace(
        files=files, catalog=catalog, stored_keys=updated_stored_keys(survey.stored_keys, state, keys, changed)
    )


def _regrouped_packages(
    survey: Survey, cache: Cache, files: Mapping[str, CachedFile], heads: Mapping[str, FileHead]
) -> dict[str, tuple[CatalogPackage, ...]] | None:
    """The packages of the directories with edited files; None if their files are grouped or constrained differently, if
    they need other external code, or if the cache lacks facts."""
    touched = {path.rpartition("/")[0] for path in heads}
    paths = [file.path for name in touched for package in survey.catalog[name] for file in package.files]
    keys = {path: files[path].key for path in paths if path not in heads}
    decoder = msgspec.msgpack.Decoder(FileHead)
    known = {key: decoder.decode(head) for key, head in cache.get_heads(set(keys.values()))}
    if any(key not in known for key in keys.values()):
        return None
    groups = repository_catalog(survey.project, {path: heads.get(path) or known[keys[path]] for path in paths})
    for name in touched:
        if _grouping(groups[name]) != _grouping(survey.catalog[name]):
            return None
        differing = _imports(groups[name]) ^ _imports(survey.catalog[name])
        if any(map(is_skipped_by_go, differing)) or not all(
            _leads_inside(survey.project, name, path) for path in differing
        ):
            return None
    return groups


def _grouping(packages: Iterable[CatalogPackage]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(package.id, [(file.path, file.constraint) for file in package.files]) for package in packages]


def _imports(packages: Iterable[CatalogPackage]) -> set[str]:
    return {path for package in packages for file in package.files for path in file.imports}


def _shapes(packages: Iterable[CatalogPackage]) -> list[str]:
    return [file.shape for package in packages for file in package.files]


def _leads_inside(project: Project, directory: str, path: str) -> bool:
    """Whether an import leads to the repository or to the standard library, so that it needs no other external code."""
    location = project.find(directory, path)
    return path != "C" and location is not None and location.kind in ("repo", "std")


def _is_same_shape(before: Keys, after: Keys) -> bool:
    return all(before.packages[id].shape == key.shape for id, key in after.packages.items())


def _linked_files(survey: Survey) -> frozenset[str]:
    """Symbolic links and their targets: an edit of one changes several files."""
    base, links = f"{survey.discovery.root}/", survey.discovery.links
    return frozenset(links).union(os.path.realpath(base + path).removeprefix(base) for path in links)
