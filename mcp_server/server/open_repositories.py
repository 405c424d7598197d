"""The repositories of a server. Stores are kept open between questions, but do not block writers.

An open database blocks writers, so it is closed as soon as a writer appears, and after some time without questions. An
open database is always current: it cannot be changed in place meanwhile, and the next question notices if another
database has replaced it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreError, StoreMissing, StoreUntrusted, UsageError
from golore.graph.files import locks
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.gc_pause import gc_disabled
from golore.graph.lake.fleet import Fleet
from golore.graph.phrases import listed
from golore.graph.queries.names.name_resolver import NameList, NameResolver
from golore.graph.safety.trust import STORE_NAME, registered_stores
from golore.learner.checkout.freshness import Changes
from golore.learner.pipeline.version import is_outdated
from golore.mcp_server.hooks.first_learn import contains_home, has_go_code
from golore.mcp_server.server.adjacency_job import AdjacencyJob
from golore.mcp_server.server.freshness_cache import FreshnessCache
from golore.mcp_server.server.glibc_memory import return_free_memory, trim_memory
from golore.mcp_server.services.fleet.fleet_asking import open_fleet
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of

_CHECK_EVERY: Final = 0.05
"""Seconds between checks for a writer while a store is open. A learn takes longer until it has to change the store."""
_POOL_BYTES: Final = 48 << 20
"""Most bytes for the engine's pages and intermediate results. The engine takes what it needs, and returns it when the
store is closed. The largest results at 13,000 files fit."""
_MAX_IDLE: Final = 30.0
"""Seconds without a question after which a store is closed, to free its memory."""

_MAX_NAMED: Final = 5
_PROJECT_MARKS: Final = (".git", "go.mod", "go.work")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenServedRepository(OpenRepository):
    """An open repository of a server. `changes`: files that changed since the last learn, None if unknown."""

    changes: Changes | None
    is_being_learned: bool
    is_outdated: bool
    """Whether an older golore made the graph, so that parts of it may be missing or wrong."""
    adjacency_job: AdjacencyJob
    queries: QueryProcess
    """Runs Cypher. It does not need the open store, and may be used after this repository is closed."""
    published: str = ""
    """Of a store from a lake, which has no files to compare it with and is only read: what it describes, as a
    sentence."""


class RepositoryAccess(Protocol):
    """What the tools that only read need of a server: its repositories, and all those of a lake."""

    @property
    def needs_name(self) -> bool:
        """Whether a question about the fleet that names no repository is not about one of them."""
        ...

    @property
    def can_learn(self) -> bool: ...

    def opened(self, name: str = "") -> AbstractContextManager[OpenServedRepository]: ...

    def root_containing(self, path: str) -> str: ...

    def fleet(self) -> Fleet: ...


class ServedRepository:
    """A directory given to the server, which need not be learned yet. Answers one question at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._cached_names: tuple[str, NameList | None] = ("", None)
        self._cached_outdated: tuple[str, bool] = ("", False)
        self._freshness = FreshnessCache()
        self._adjacency_job = AdjacencyJob()
        self._queries = QueryProcess()
        self._used_at = 0.0
        self._trimmed_at = 0.0

    @property
    def name(self) -> str:
        return self.learned.root.name or "root"

    @property
    def learned(self) -> LearnedRepository:
        """The learned repository that contains the path, or the path itself if it is not learned."""
        try:
            return find_repository(self.path)
        except (StoreMissing, StoreUntrusted):
            return LearnedRepository(self.path, store_of(self.path))

    @contextmanager
    def opened(self) -> Generator[OpenServedRepository]:
        try:
            learned = find_repository(self.path)
        except StoreMissing:
            learned = LearnedRepository(self.path, store_of(self.path))
        with self._lock, gc_disabled():
            try:
                store = self._current(learned)
                generation = store.generation
                cached_generation, names_list = self._cached_names
                names = NameResolver(store, names_list if cached_generation == generation else None)
                changes = self._freshness.changes(learned.root, store, generation)
                if self._cached_outdated[0] != generation:
                    self._cached_outdated = (generation, is_outdated(store))
                yield OpenServedRepository(
                    learned,
                    store,
                    names,
                    changes=changes,
                    is_being_learned=_has_writer(learned),
                    is_outdated=self._cached_outdated[1],
                    adjacency_job=self._adjacency_job,
                    queries=self._queries,
                )
                self._cached_names = (generation, names.listed)
            except StoreError:
                # A query that ran out of memory may leave the engine without any for the next one.
                self._close()
                raise
            finally:
                self._used_at = time.monotonic()
                if _has_writer(learned):
                    self._close()

    def look(self) -> bool:
        """Close the store if a writer waits or if it is idle, and return what the last question has freed. Returns
        whether it is open or in use."""
        if not self._lock.acquire(blocking=False):
            return True
        try:
            store = self._store
            if store is not None and locks.is_held(store.directory / "writer.lock"):
                self._close()
            elif store is not None and time.monotonic() - self._used_at > _MAX_IDLE:
                self._close()
                trim_memory()
            elif self._trimmed_at != self._used_at:
                self._trimmed_at = self._used_at
                return_free_memory()
            return self._store is not None
        finally:
            self._lock.release()

    def close(self) -> None:
        self._queries.close()
        with self._lock:
            self._close()
            self._freshness.close()
            self._adjacency_job.close()

    def _current(self, learned: LearnedRepository) -> Store:
        if self._store is not None and (self._store.directory != learned.store or self._store.is_stale):
            self._close()
        if self._store is None:
            try:
                self._store = Store.open(learned.store, write=False, pool=_POOL_BYTES, threads=1)
            except StoreMissing as missing:
                raise StoreMissing(
                    f"{learned.root} has not been learned yet. Call memory_learn, or run `golore learn {learned.root}`."
                ) from missing
        return self._store

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()


class Repositories:
    """The repositories of a server: those around the given paths, or else around the working directory, or else those
    that the client names (see `client_roots`). As a context manager it runs a thread that calls
    `ServedRepository.look`.

    A home directory, and what contains it, is never offered for learning: editors start servers there.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if not path.is_dir():
                raise UsageError(f"There is no directory {path}. Check the path.")
        self.all: tuple[ServedRepository, ...] = ()
        self._others: dict[Path, ServedRepository] = {}
        """Other learned repositories of the user, which a caller named by their paths."""
        self._change = threading.Lock()
        self._wake = threading.Event()
        self._is_over = False
        self._keeper = threading.Thread(target=self._close_unused, daemon=True, name="golore-keeper")
        is_checked = not paths
        self.adopt([path for path in paths or (Path(),) if not is_checked or _is_in_project(path.resolve())])

    def __enter__(self) -> Repositories:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._wake.set()
        self._keeper.join()
        for repository in self._served():
            repository.close()

    @property
    def are_wanted(self) -> bool:
        """Whether the server has no repository, and would take those of its client."""
        return not self.all

    def adopt(self, paths: Sequence[Path]) -> None:
        """Serve the repositories around these paths from now on, if there are none yet."""
        with self._change:
            found: dict[Path, ServedRepository] = {}
            for path in paths:
                if path.is_dir() and (_is_learned(path) or not contains_home(str(path.resolve()))):
                    repository = ServedRepository(path)
                    found.setdefault(repository.learned.root, repository)
            self.all = self.all or tuple(found.values())

    def find(self, name: str = "") -> ServedRepository:
        """The repository with this name or path, or the one that contains this path. Without a name: the only one."""
        if not name and len(self.all) == 1:
            return self.all[0]
        matches = [repository for repository in self.all if name in (repository.name, str(repository.learned.root))]
        if name and not matches:
            matches = [repository for repository in self.all if Path(name).is_relative_to(repository.learned.root)]
        if len(matches) == 1:
            return matches[0]
        if not name:
            raise UsageError(self.advice)
        return self._other(name)

    def _other(self, name: str) -> ServedRepository:
        """A learned repository of this user that is not one of the server's own, by its path."""
        path = Path(name)
        if not path.is_absolute() or not path.exists():
            raise UsageError(f"This server has no repository {name!r}. {self.advice}")
        try:
            root = find_repository(path).root
        except StoreMissing as missing:
            raise UsageError(
                f"{name} is not in a learned repository. Run `golore learn` there, or give another `repository`."
            ) from missing
        with self._change:
            return self._others.setdefault(root, ServedRepository(root))

    @property
    def advice(self) -> str:
        """Says which repository to give, or how a server is told its own."""
        if self.all:
            return (
                f"Give one of these as `repository`, or the absolute path of a learned one: {', '.join(self.titles)}."
            )
        learned = _learned_roots()
        known = f" Learned ones: {listed(learned, _MAX_NAMED)}." if learned else ""
        return (
            f"This server was started in {Path.cwd()}, which is not a Go repository, and its client named none. Give "
            "the absolute path of a learned repository as `repository`, or start the server as `golore mcp PATH`."
            f"{known}"
        )

    def root_containing(self, path: str) -> str:
        """The root of the repository that contains an absolute path; empty for any other text."""
        if not Path(path).is_absolute():
            return ""
        roots = [root for repository in self.all if Path(path).is_relative_to(root := repository.learned.root)]
        if not roots:
            with suppress(GoloreError):
                roots.append(find_repository(Path(path)).root)
        return str(max(roots, key=lambda root: len(root.parts))) if roots else ""

    @property
    def titles(self) -> tuple[str, ...]:
        """The name of each repository, or its path if several have the same name."""
        names = [repository.name for repository in self.all]
        roots = [str(repository.learned.root) for repository in self.all]
        return tuple(name if names.count(name) == 1 else root for name, root in zip(names, roots, strict=True))

    @contextmanager
    def opened(self, name: str = "") -> Generator[OpenServedRepository]:
        try:
            with self.find(name).opened() as opened:
                yield opened
        finally:
            self._wake.set()

    @property
    def needs_name(self) -> bool:
        return False

    @property
    def can_learn(self) -> bool:
        return True

    def fleet(self) -> Fleet:
        """The fleet that the user's settings name."""
        return open_fleet()

    def _served(self) -> tuple[ServedRepository, ...]:
        with self._change:
            return (*self.all, *self._others.values())

    def _close_unused(self) -> None:
        while not self._is_over:
            self._wake.wait()
            self._wake.clear()
            while not self._is_over and True in {repository.look() for repository in self._served()}:
                time.sleep(_CHECK_EVERY)


def _learned_roots() -> list[str]:
    """The repositories that this user has learned, the last one first."""
    found: list[tuple[float, str]] = []
    for store in map(Path, registered_stores()):
        with suppress(OSError):
            if store.name == STORE_NAME:
                found.append(((store / MANIFEST_NAME).stat().st_mtime, str(store.parent)))
    return [root for _, root in sorted(found, reverse=True)]


def _is_learned(path: Path) -> bool:
    try:
        find_repository(path)
    except GoloreError:
        return False
    return True


def _is_in_project(directory: Path) -> bool:
    """Whether a directory belongs to a learned repository, a checkout or a module, or has Go code."""
    folders = [folder for folder in (directory, *directory.parents) if not contains_home(str(folder))]
    is_project = any((folder / name).exists() for folder in folders for name in _PROJECT_MARKS)
    return is_project or _is_learned(directory) or bool(folders and has_go_code(str(directory)))


def _has_writer(learned: LearnedRepository) -> bool:
    return locks.is_held(learned.store / "writer.lock")
