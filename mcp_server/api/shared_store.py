"""The store of a repository that a program keeps for long: open while it is used, closed for writers.

An open database blocks writers, so a thread closes it when a writer waits, and after some time without questions. The
next question opens it again, and then sees what was learned meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from golore.graph.errors import UsageError
from golore.graph.files import locks
from golore.graph.queries.names.name_resolver import NameResolver
from golore.mcp_server.services.open_store import OpenRepository, open_current_store
from golore.mcp_server.services.repository import LearnedRepository

_CHECK_EVERY: Final = 0.05
"""Seconds between checks for a writer while the store is open."""
_MAX_IDLE: Final = 30.0
"""Seconds without a question after which the store is closed."""


class SharedStore:
    """Use it in one thread at a time. Several uses may be nested, such as a question inside a loop over symbols."""

    def __init__(self, repository: LearnedRepository, base: Path) -> None:
        self._repository = repository
        self._base = base
        self._lock = threading.Lock()
        self._opened: OpenRepository | None = None
        self._users = 0
        self._used_at = 0.0
        self._is_closed = False

    @contextmanager
    def opened(self) -> Generator[OpenRepository]:
        with self._lock:
            current = self._current()
            self._users += 1
        try:
            yield current
        finally:
            with self._lock:
                self._users -= 1
                self._used_at = time.monotonic()

    def close(self) -> None:
        """Close the store for good."""
        with self._lock:
            self._is_closed = True
            self._close()

    def _current(self) -> OpenRepository:
        if self._is_closed:
            raise UsageError("This repository was closed. Open it again with `golore.open`.")
        if self._opened is not None and not self._users and self._opened.store.is_stale:
            self._close()
        if self._opened is None:
            store = open_current_store(self._repository)
            self._opened = OpenRepository(self._repository, store, NameResolver(store), (Path.cwd(), self._base))
            threading.Thread(target=self._close_unused, args=(self._opened,), daemon=True, name="golore-api").start()
        return self._opened

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.store.close()

    def _close_unused(self, opened: OpenRepository) -> None:
        """Close the store as soon as it is unused and a writer waits, or it is idle. Runs until it is closed."""
        writer = opened.store.directory / "writer.lock"
        while True:
            time.sleep(_CHECK_EVERY)
            with self._lock:
                if self._opened is not opened:
                    return
                is_idle = time.monotonic() - self._used_at > _MAX_IDLE
                if not self._users and (is_idle or locks.is_held(writer)):
                    self._close()
                    return
