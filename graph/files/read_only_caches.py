"""Reads facts from caches without writing: from that of this store in a worker process, and from those of other
checkouts of the same repository, whose facts need not be extracted again.

Facts are keyed by digest and extractor version, so it does not matter which checkout made them. A cache that is
missing, damaged, locked or of another version is ignored.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from golore.graph.files.cache_db import APPLICATION, CACHE_VERSION, CachedFacts
from golore.graph.files.read_only_db import database_uri

_WAIT: Final = 0.1
"""Seconds to wait for a lock before giving up: then the facts are extracted again."""


class ReadOnlyCaches:
    """Use it as a context manager."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._connections = [connection for path in paths if (connection := _connect(path)) is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections:
            connection.close()

    def has(self, key: str) -> bool:
        return self._row("SELECT 1 FROM facts WHERE key = ?", key) is not None

    def facts(self, key: str) -> CachedFacts | None:
        row = self._row("SELECT * FROM facts WHERE key = ?", key)
        return None if row is None else CachedFacts(*row)

    def _row(self, statement: str, key: str) -> Any:
        for connection in self._connections:
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError):
                row = connection.execute(statement, (key,)).fetchone()
                if row is not None:
                    return row
        return None


def _connect(path: Path) -> sqlite3.Connection | None:
    connection: sqlite3.Connection | None = None
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError):
        connection = sqlite3.connect(f"{database_uri(path)}?mode=ro", uri=True, timeout=_WAIT, isolation_level=None)
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if found == [APPLICATION, CACHE_VERSION]:
            connection.execute("BEGIN")  # one for all look-ups: each would take several times as long with its own
            return connection
    if connection is not None:
        connection.close()
    return None
