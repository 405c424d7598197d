"""Groups of tables in `cache.db`. Each group has its own version: tables of another version are dropped and created
again.

Only for data that can be derived again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from golore.graph.files.cache_db import Cache
from golore.graph.files.read_only_db import connect_read_only, is_writable
from golore.graph.files.store_path import CACHE_NAME

_WAIT: Final = 5.0


class CacheTables(NamedTuple):
    """A group of tables. `meta` is the name of its key-value table, which also stores the version; `tables` maps the
    names of the other tables to their column definitions; `indexes` are CREATE INDEX statements."""

    version: str
    meta: str
    tables: Mapping[str, str]
    indexes: tuple[str, ...] = ()


def open_tables(
    store_directory: Path, schema: CacheTables, *, write: bool, wait: float = _WAIT
) -> sqlite3.Connection | None:
    """Open `cache.db` with these tables. If they are missing or have another version, a reader gets None and a writer
    creates them. Errors of SQLite are not converted."""
    path = store_directory / CACHE_NAME
    if not path.exists():
        if not write:
            return None
        Cache.open(path).close()  # creates the file with its application id
    if write or is_writable(path):
        connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    else:
        connection = connect_read_only(path, wait)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        if _stored_version(connection, schema) != schema.version:
            if not write:
                connection.close()
                return None
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            _create_tables(connection, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def memory_tables(schema: CacheTables) -> sqlite3.Connection:
    """Empty tables in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _create_tables(connection, schema)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Commit the writes of the block, or roll all of them back if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # not if the disk is full: SQLite has already rolled back
            connection.execute("ROLLBACK")
        raise


class OpenTables:
    """Base class for access to an open group of tables; as a context manager it closes the connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()


def read_table_meta(connection: sqlite3.Connection, schema: CacheTables, name: str) -> str:
    """A value from the meta table; empty if there is none."""
    row = connection.execute(f"SELECT value FROM {schema.meta} WHERE name = ?", (name,)).fetchone()
    return row[0] if row else ""


def _stored_version(connection: sqlite3.Connection, schema: CacheTables) -> str:
    try:
        return read_table_meta(connection, schema, "version")
    except sqlite3.OperationalError as failure:
        if "no such table" in str(failure):
            return ""
        raise


def _create_tables(connection: sqlite3.Connection, schema: CacheTables) -> None:
    with transaction(connection):
        # Another process may have created them while this one waited for the lock.
        if _stored_version(connection, schema) == schema.version:
            return
        meta = {schema.meta: "(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"}
        for name, columns in {**meta, **schema.tables}.items():
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name}{columns}")
        for statement in schema.indexes:
            connection.execute(statement)
        connection.execute(f"INSERT INTO {schema.meta} VALUES ('version', ?)", (schema.version,))
