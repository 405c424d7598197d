"""A repository of a team server: its newest usable publication, opened when somebody asks, closed when nobody does.

A newer publication is installed beside the one that is used, and takes its place between two questions. Answers one
question at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import LakeError, StoreError
from golore.graph.lake.bucket import Lake
from golore.graph.lake.keys import HeadKey
from golore.graph.queries.names.name_resolver import NameList, NameResolver
from golore.learner.checkout.freshness import Changes
from golore.mcp_server.server.adjacency_job import AdjacencyJob
from golore.mcp_server.server.glibc_memory import trim_memory
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.team.installed_store import (
    Installed,
    InstalledStore,
    install_newest,
    keep,
    remove_unused,
    repository_folder,
)
from golore.mcp_server.text.ages import age

_POOL_BYTES: Final = 64 << 20
"""Most bytes for the engine's pages and intermediate results, as in `open_repositories`."""
_MAX_IDLE: Final = 300.0
"""Seconds without a question after which a store is closed."""
_MAX_FOLLOWED: Final = 3600.0
"""Seconds without a question after which new publications are no longer installed."""
_RETRY_AFTER: Final = 600.0
_NO_CHANGES: Final = Changes()


class ServedPublication:
    def __init__(self, folder: Path, lake: Lake, name: str) -> None:
        self.name = name
        self._lake = lake
        self._folder = repository_folder(folder, lake, name)
        self._renewing = threading.Lock()
        self._lock = threading.Lock()
        self._installed: InstalledStore | None = None
        self._store: Store | None = None
        self._names: NameList | None = None
        self._adjacency_job = AdjacencyJob()
        self._queries = QueryProcess()
        self._used_at = 0.0
        self._refused = ("", 0.0)
        """A publication that could not be used, and when it is tried again: finding out may take a download."""

    @property
    def is_open(self) -> bool:
        return self._store is not None

    @property
    def used_at(self) -> float:
        """When the last question ended, by the monotonic clock."""
        return self._used_at

    @property
    def is_used(self) -> bool:
        """Whether there is an installed store to answer from."""
        return self._installed is not None

    @property
    def store(self) -> Path | None:
        """The installed store; None if there is none."""
        installed = self._installed
        return installed.store if installed is not None else None

    @contextmanager
    def opened(self) -> Generator[OpenServedRepository]:
        """Call `renew` first."""
        with self._lock:
            installed = self._installed
            if installed is None:
                raise LakeError(f"{self.name} is not available at the moment. Ask again.")
            try:
                if self._store is None:
                    self._store = Store.open(installed.store, write=False, pool=_POOL_BYTES, threads=1)
                names = NameResolver(self._store, self._names)
                yield OpenServedRepository(
                    LearnedRepository(installed.root, installed.store),
                    self._store,
                    names,
                    changes=_NO_CHANGES,
                    is_being_learned=False,
                    is_outdated=False,
                    adjacency_job=self._adjacency_job,
                    queries=self._queries,
                    published=_sentence(installed.publication),
                )
                self._names = names.listed
            except StoreError:
                # A query that ran out of memory may leave the engine without any for the next one.
                self._close_store()
                raise
            finally:
                self._used_at = time.monotonic()

    @contextmanager
    def kept(self) -> Generator[Path]:
        """The directory of the store, which is not removed during the block."""
        with self._lock:
            if self._installed is None:
                raise LakeError(f"{self.name} is not available at the moment. Ask again.")
            store = self._installed.store
            lock = keep(store)
        try:
            yield store
        finally:
            lock.release()

    def renew(self, keys: Sequence[HeadKey]) -> bool:
        """Install the newest publication, if another one is used. Returns whether it did."""
        with self._renewing:
            current = self._installed
            newest = max(keys, key=lambda one: (one.stamp, one.publication)).publication
            if current is not None and (current.publication.publication == newest or self._is_refused(newest)):
                return False
            found = install_newest(self._folder, self._lake, keys)
            if current is not None and current.directory == found.directory:
                found.used.release()
                self._refused = (newest, time.monotonic() + _RETRY_AFTER)
                with self._lock:
                    self._installed = current._replace(publication=found.publication)
                return False
            with self._lock:
                self._close_store()
                self._installed, self._names = found, None
                self._used_at = time.monotonic()
            if current is not None:
                current.used.release()
            remove_unused(self._folder, found)
            return True

    def _is_refused(self, publication: str) -> bool:
        return self._refused[0] == publication and time.monotonic() < self._refused[1]

    def close_if_idle(self) -> None:
        """Close the store if nobody has asked for a while, to free its memory, and after a longer while let newer
        publications pass until somebody asks."""
        if self._store is not None and self._is_idle(_MAX_IDLE):
            self.let_go(_MAX_IDLE)
        if self._installed is not None and self._is_idle(_MAX_FOLLOWED):
            self.close()

    def let_go(self, seconds: float) -> None:
        """Close the store, unless somebody has asked within so many seconds."""
        with self._lock:
            if self._is_idle(seconds):
                self._close_store()
                self._queries.close()
                trim_memory()

    def _is_idle(self, seconds: float) -> bool:
        return time.monotonic() - self._used_at >= seconds

    def close(self) -> None:
        self._queries.close()
        with self._lock:
            self._close_store()
            self._adjacency_job.close()
            installed, self._installed = self._installed, None
            if installed is not None:
                installed.used.release()

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()


def _sentence(found: Installed) -> str:
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(found.published)).total_seconds())
    version = f" ({found.version})" if found.version else ""
    more = f" A newer publication is not used: {found.message}" if found.message else ""
    return f"{found.repository} at {found.commit[:12]}{version}, published {age(seconds)}.{more}"
