"""Tables of one topic in `cache.db`, with a version of their own: another version's are dropped and made anew.

Only for what can be derived again. What the tables mean is the affair of the modules that have them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from golore.graph.files.cache_db import Cache
from golore.graph.files.store_path import CACHE_NAME

_WAIT: Final = 5.0


class CacheTables(NamedTuple):
    """`notes` is the table of names and what is noted by them, among which the version is. `tables` are the others."""

    version: str
    meta: str
    tables: Mapping[str, str]
    indexes: tuple[str, ...] = ()


def open_tables(
    store_directory: Path, drawer: CacheTables, *, write: bool, wait: float = _WAIT
) -> sqlite3.Connection | None:
    """A reader gets None where there is none of this version; a writer has it made. Failures of SQLite come through."""
    path = store_directory / CACHE_NAME
    if not path.exists():
        if not write:
            return None
        Cache.open(path).close()  # who makes the file marks it as ours
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        if _version_in(connection, drawer) != drawer.version:
            if not write:
                connection.close()
                return None
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            _make(connection, drawer)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All of a block's writes, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends it by itself
            connection.execute("ROLLBACK")
        raise


class OpenTables:
    """What is in a drawer that was opened; a context manager that closes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._run.close()


def read_table_meta(connection: sqlite3.Connection, drawer: CacheTables, name: str) -> str:
    """Empty where there is none."""
    found = connection.execute(f"SELECT value FROM {drawer.meta} WHERE name = ?", (name,)).fetchone()
    return found[0] if found else ""


def _version_in(connection: sqlite3.Connection, drawer: CacheTables) -> str:
    try:
        return read_table_meta(connection, drawer, "version")
    except sqlite3.OperationalError as failure:
        if "no such table" in str(failure):
            return ""
        raise


def _make(connection: sqlite3.Connection, drawer: CacheTables) -> None:
    with transaction(connection):
        # Another process may have made them while this one waited.
        if _version_in(connection, drawer) == drawer.version:
            return
        notes = {drawer.meta: "(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"}
        for name, columns in {**notes, **drawer.tables}.items():
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name}{columns}")
        for statement in drawer.indexes:
            connection.execute(statement)
        connection.execute(f"INSERT INTO {drawer.meta} VALUES ('version', ?)", (drawer.version,))
