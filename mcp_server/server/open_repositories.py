"""The repositories of a server: each with its store, which is kept open between questions and never in a writer's way.

A reader that has the database open keeps a writer out, so an open one is closed as soon as a writer shows up, and after
a while without questions. What is open is always the newest: it cannot be changed in place meanwhile, and the next
question notices when another database has taken its place.
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
from golore.mcp_server.server.adjacency_job import Mapper
from golore.mcp_server.server.freshness_cache import Vigil
from golore.mcp_server.server.glibc_memory import give_memory_back
from golore.mcp_server.services.repository import Place, find_place, store_of

_LOOK_EVERY: Final = 0.05
"""Seconds between two looks for a writer, while something is open; a learn needs longer before it has to change it."""
_POOL: Final = 48 << 20
"""Bytes for the engine's pages: enough for small questions, and most of what a server keeps while it is asked."""
_KEPT_OPEN: Final = 30.0
"""Seconds without a question after which a store is closed, to give its memory back."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository that can be asked, and how far its graph is behind the files; None where that cannot be told."""

    place: Place
    store: Store
    names: Names
    changes: Changes | None
    is_being_learned: bool
    is_outdated: bool
    """Whether an older golore made it, so that some of it may be missing or wrong."""
    mapper: Mapper


class Repository:
    """One directory given to the server. It need not be learned yet; one question is answered at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._turn = threading.Lock()
        self._store: Store | None = None
        self._listed: tuple[str, NameList | None] = ("", None)
        self._edition: tuple[str, bool] = ("", False)
        self._vigil = Vigil()
        self._mapper = Mapper()
        self._used = 0.0

    @property
    def name(self) -> str:
        return self.place.root.name or "root"

    @property
    def place(self) -> Place:
        """The learned repository around the path, or the path itself where nothing is learned."""
        try:
            return find_place(self.path)
        except StoreMissing:
            return Place(self.path, store_of(self.path))

    @contextmanager
    def opened(self) -> Generator[Opened]:
        place = self.place
        with self._turn:
            try:
                store = self._current(place)
                generation = store.generation
                made_of, listed = self._listed
                names = Names(store, listed if made_of == generation else None)
                changes = self._vigil.changes(place.root, store, generation)
                if self._edition[0] != generation:
                    self._edition = (generation, is_outdated(store))
                yield Opened(place, store, names, changes, _is_written(place), self._edition[1], self._mapper)
                self._listed = (generation, names.listed)
            finally:
                self._used = time.monotonic()
                if _is_written(place):
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
            self._vigil.end()
            self._mapper.end()

    def _current(self, place: Place) -> Store:
        if self._store is not None and (self._store.directory != place.store or self._store.is_stale):
            self._close()
        if self._store is None:
            try:
                self._store = Store.open(place.store, write=False, pool=_POOL)
            except StoreMissing as missing:
                raise StoreMissing(
                    f"{place.root} has not been learned yet. Call memory_learn, or run `golore learn {place.root}`."
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
        found: dict[Path, Repository] = {}
        for path in paths or (Path(),):
            repository = Repository(path)
            found.setdefault(repository.place.root, repository)
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

    def named(self, name: str = "") -> Repository:
        """The repository that a caller means by its name or path; nothing is enough where there is only one."""
        if not name and len(self.all) == 1:
            return self.all[0]
        wanted = [repository for repository in self.all if name in (repository.name, str(repository.place.root))]
        if name and not wanted:
            wanted = [repository for repository in self.all if Path(name).is_relative_to(repository.place.root)]
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
        inside = [root for one in self.all if Path(path).is_relative_to(root := one.place.root)]
        return str(max(inside, key=lambda root: len(root.parts))) if inside else ""

    @property
    def titles(self) -> tuple[str, ...]:
        """What each is called: its name, or its path where names are alike."""
        names = [repository.name for repository in self.all]
        roots = [str(repository.place.root) for repository in self.all]
        return tuple(name if names.count(name) == 1 else root for name, root in zip(names, roots, strict=True))

    @contextmanager
    def opened(self, name: str = "") -> Generator[Opened]:
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


def _is_written(place: Place) -> bool:
    return locks.is_held(place.store / "writer.lock")
