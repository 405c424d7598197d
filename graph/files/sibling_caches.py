"""Reads facts from the caches of other checkouts of the same repository, instead of extracting them again.

The caches are only read. Facts are keyed by digest and extractor version, so it does not matter which checkout made
them. A cache that is missing, damaged, locked or of another version is ignored.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from golore.graph.files.cache_db import APPLICATION, CACHE_VERSION, CachedFacts
from golore.graph.files.read_only_db import database_uri

_WAIT: Final = 0.1
"""Seconds to wait for a lock before giving up: then the facts are extracted again."""


class SiblingCaches:
    """The open caches of other checkouts; use it as a context manager."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._connections = [connection for path in paths if (connection := _connect(path)) is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections:
            connection.close()

    def facts(self, key: str) -> CachedFacts | None:
        for connection in self._connections:
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError):
                row = connection.execute("SELECT * FROM facts WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    return CachedFacts(*row)
        return None


def _connect(path: Path) -> sqlite3.Connection | None:
    connection: sqlite3.Connection | None = None
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError):
        connection = sqlite3.connect(f"{database_uri(path)}?mode=ro", uri=True, timeout=_WAIT)
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if found == [APPLICATION, CACHE_VERSION]:
            return connection
    if connection is not None:
        connection.close()
    return None
