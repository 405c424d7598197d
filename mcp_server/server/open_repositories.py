"""The repositories of a server: each with its store, which is kept open between questions and never in a writer's way.

A reader that has the database open keeps a writer out, so an open one is closed as soon as a writer shows up, and after
a while without questions. What is open is always the newest: it cannot be changed in place meanwhile, and the next
question notices when another database replaces it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing, UsageError
from golore.graph.files import locks
from golore.graph.queries.name_resolver import NameList, Names
from golore.learner.checkout.freshness import Changes
from golore.learner.pipeline.version import is_outdated
from golore.mcp_server.server.adjacency_job import AdjacencyJob
from golore.mcp_server.server.freshness_cache import FreshnessCache
from golore.mcp_server.server.glibc_memory import give_memory_back
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository, find_repository, store_of

_LOOK_EVERY: Final = 0.05
"""Seconds between two looks for a writer, while something is open; a learn needs longer before it has to change it."""
_POOL: Final = 48 << 20
"""Bytes for the engine's pages: enough for small questions, and most of what a server keeps while it is asked."""
_KEPT_OPEN: Final = 30.0
"""Seconds without a question after which a store is closed, to give its memory back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenServedRepository(OpenRepository):
    """An open repository of a server. `changes`: how far the graph is behind the files, None where that is unknown."""

    changes: Changes | None
    is_being_learned: bool
    is_outdated: bool
    """Whether an older golore made the graph, so that some of it may be missing or wrong."""
    adjacency_job: AdjacencyJob


class ServedRepository:
    """One directory given to the server. It need not be learned yet; one question is answered at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._turn = threading.Lock()
        self._store: Store | None = None
        self._listed: tuple[str, NameList | None] = ("", None)
        self._edition: tuple[str, bool] = ("", False)
        self._freshness = FreshnessCache()
        self._adjacency_job = AdjacencyJob()
        self._used = 0.0

    @property
    def name(self) -> str:
        return self.learned.root.name or "root"

    @property
    def learned(self) -> LearnedRepository:
        """The learned repository around the path, or the path itself where nothing is learned."""
        try:
            return find_repository(self.path)
        except StoreMissing:
            return LearnedRepository(self.path, store_of(self.path))

    @contextmanager
    def opened(self) -> Generator[OpenServedRepository]:
        learned = self.learned
        with self._turn:
            try:
                store = self._current(learned)
                generation = store.generation
                made_of, listed = self._listed
                names = Names(store, listed if made_of == generation else None)
                changes = self._freshness.changes(learned.root, store, generation)
                if self._edition[0] != generation:
                    self._edition = (generation, is_outdated(store))
                yield OpenServedRepository(
                    learned,
                    store,
                    names,
                    changes=changes,
                    is_being_learned=_is_written(learned),
                    is_outdated=self._edition[1],
                    adjacency_job=self._adjacency_job,
                )
                self._listed = (generation, names.listed)
            finally:
                self._used = time.monotonic()
                if _is_written(learned):
                    self._close()

    def look(self) -> bool:
        """Close the store if somebody wants to write or nobody has asked for long; whether it is still open."""
        if not self._turn.acquire(blocking=False):
            return True
        try:
            store = self._store
            if store is not None and locks.is_held(store.directory / "writer.lock"):
                self._close()
            elif store is not None and time.monotonic() - self._used > _KEPT_OPEN:
                self._close()
                give_memory_back()
            return self._store is not None
        finally:
            self._turn.release()

    def close(self) -> None:
        with self._turn:
            self._close()
            self._freshness.close()
            self._adjacency_job.close()

    def _current(self, learned: LearnedRepository) -> Store:
        if self._store is not None and (self._store.directory != learned.store or self._store.is_stale):
            self._close()
        if self._store is None:
            try:
                self._store = Store.open(learned.store, write=False, pool=_POOL)
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
    """All that a server answers about. Use it as a context manager: a thread looks after what is open."""

    def __init__(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if not path.is_dir():
                raise UsageError(f"There is no directory {path}. Check the path.")
        found: dict[Path, ServedRepository] = {}
        for path in paths or (Path(),):
            repository = ServedRepository(path)
            found.setdefault(repository.learned.root, repository)
        self.all = tuple(found.values())
        self._wake = threading.Event()
        self._is_over = False
        self._keeper = threading.Thread(target=self._keep, daemon=True, name="golore-keeper")

    def __enter__(self) -> Repositories:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._wake.set()
        self._keeper.join()
        for repository in self.all:
            repository.close()

    def named(self, name: str = "") -> ServedRepository:
        """The repository that a caller means by its name or path; nothing is enough where there is only one."""
        if not name and len(self.all) == 1:
            return self.all[0]
        wanted = [repository for repository in self.all if name in (repository.name, str(repository.learned.root))]
        if name and not wanted:
            wanted = [repository for repository in self.all if Path(name).is_relative_to(repository.learned.root)]
        if len(wanted) == 1:
            return wanted[0]
        known = ", ".join(self.titles)
        if not name:
            raise UsageError(f"There are several repositories here. Say which one as `repository`: {known}.")
        raise UsageError(f"{name!r} is not one of the repositories here. As `repository`, give one of: {known}.")

    def around(self, path: str) -> str:
        """The repository in which an absolute path lies; nothing for any other text."""
        if not path.startswith("/"):
            return ""
        inside = [root for one in self.all if Path(path).is_relative_to(root := one.learned.root)]
        return str(max(inside, key=lambda root: len(root.parts))) if inside else ""

    @property
    def titles(self) -> tuple[str, ...]:
        """What each is called: its name, or its path where names are alike."""
        names = [repository.name for repository in self.all]
        roots = [str(repository.learned.root) for repository in self.all]
        return tuple(name if names.count(name) == 1 else root for name, root in zip(names, roots, strict=True))

    @contextmanager
    def opened(self, name: str = "") -> Generator[OpenServedRepository]:
        try:
            with self.named(name).opened() as opened:
                yield opened
        finally:
            self._wake.set()

    def _keep(self) -> None:
        while not self._is_over:
            self._wake.wait()
            self._wake.clear()
            while not self._is_over and True in {repository.look() for repository in self.all}:
                time.sleep(_LOOK_EVERY)


def _is_written(learned: LearnedRepository) -> bool:
    return locks.is_held(learned.store / "writer.lock")
