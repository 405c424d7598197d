"""`cache.db`: data that can be derived again from the files, stored to save time.

Facts are keyed by the digest of a file's bytes and the extractor version; their content is opaque to this module.
Deleting the database loses nothing but time. Therefore a damaged or foreign file is deleted and created again, and no
write waits for the disk: a power failure may lose the newest rows.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from golore.graph.errors import CacheDamaged, GoloreError, StoreBusy, StoreError
from golore.graph.files.file_state import FileState
from golore.graph.files.sqlite_wal import switch_to_wal

CACHE_VERSION: Final = 2
APPLICATION: Final = 0x676F6C6F
"""SQLite application id of the file: "golo" in ASCII."""
_WAIT: Final = 5.0
_PAGE: Final = 8_192
"""Bytes. A first learn writes in a fifth less time than with SQLite's 4,096. Larger pages save little more, and updates
of single rows write whole pages."""
_BATCH: Final = 500
"""Keys per statement. Older versions of SQLite allow 999 parameters."""

_TABLES: Final = """
CREATE TABLE facts(key TEXT PRIMARY KEY, head BLOB NOT NULL, outline BLOB NOT NULL, shape BLOB NOT NULL,
                   body BLOB NOT NULL);
CREATE TABLE files(path TEXT PRIMARY KEY, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
                   ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, key TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE resolved(path TEXT PRIMARY KEY, key TEXT NOT NULL, rows BLOB NOT NULL);
"""


_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""What reading a damaged file raises: SQLite reports sizes and texts from it as they are."""


class _ForeignFile(sqlite3.DatabaseError):
    pass


class CachedFacts(NamedTuple):
    """The facts of a file in parts, so that a reader loads only the part it needs."""

    key: str
    head: bytes
    outline: bytes
    shape: bytes
    body: bytes


class CachedFile(NamedTuple):
    """The content of a path when it was last read. The state only decides whether to read it again; the digest
    identifies the content."""

    path: str
    digest: str
    state: FileState
    key: str


class CachedResolution(NamedTuple):
    """The resolved uses of a file; `key` identifies everything that the result depends on."""

    path: str
    key: str
    rows: bytes


def facts_key(digest: str, extractor_version: str) -> str:
    return f"{digest}:{extractor_version}"


class Cache:
    """Open it with `Cache.open` and use it as a context manager. `message` is set if an unusable file was replaced."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, message: str | None, neighbours: tuple[Path, ...]
    ) -> None:
        self.path = path
        self._connection = connection
        self.message = message
        self.neighbours = neighbours
        """Other caches that may have facts that this one lacks (see `read_only_caches`)."""

    @classmethod
    def open(cls, path: Path, *, wait: float = _WAIT, neighbours: tuple[Path, ...] = ()) -> Self:
        try:
            return cls(path, _connect(path, wait), None, neighbours)
        except _FAILURES as failure:
            # A lock or a full disk is no reason to delete the cache.
            if not _is_damage(failure):
                raise _store_error(path, failure) from failure
            message = f"The cache {path} could not be used ({failure}) and was created again. Nothing but time is lost."
        try:
            remove_cache(path)
            return cls(path, _connect(path, wait), message, neighbours)
        except (OSError, sqlite3.Error) as failure:
            raise _store_error(path, failure) from failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def put_many(self, rows: Iterable[CachedFacts]) -> None:
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", rows)

    def has(self, keys: Collection[str]) -> set[str]:
        return {key for (key,) in self._select("SELECT key FROM facts WHERE key IN", keys)}

    def keys(self) -> Iterator[str]:
        return (key for (key,) in self._connection.execute("SELECT key FROM facts"))

    def get_heads(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, head FROM facts WHERE key IN", keys)

    def get_outlines(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Key and outline of each key that is present, in no particular order."""
        return self._select("SELECT key, outline FROM facts WHERE key IN", keys)

    def get_shapes(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, shape FROM facts WHERE key IN", keys)

    def get_bodies(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, body FROM facts WHERE key IN", keys)

    def get_shape(self, key: str) -> bytes | None:
        with self._errors():
            row = self._connection.execute("SELECT shape FROM facts WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def prune(self, keep: Collection[str]) -> int:
        """Delete the facts of all other keys. Returns how many were deleted."""
        wanted = set(keep)
        unwanted = [(key,) for (key,) in self._all("SELECT key FROM facts") if key not in wanted]
        if unwanted:
            with self._transaction() as connection:
                connection.executemany("DELETE FROM facts WHERE key = ?", unwanted)
        return len(unwanted)

    def files(self) -> dict[str, CachedFile]:
        return {row[0]: _file(row) for row in self._all("SELECT * FROM files")}

    def file(self, path: str) -> CachedFile | None:
        with self._errors():
            row = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return _file(row) if row else None

    def set_files(self, changed: Iterable[CachedFile], removed: Iterable[str] = ()) -> None:
        with self._transaction() as connection:
            connection.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in removed))
            rows = ((file.path, file.digest, *file.state, file.key) for file in changed)
            connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def resolution_keys(self) -> dict[str, str]:
        return dict(self._all("SELECT path, key FROM resolved"))

    def get_resolutions(self, paths: Collection[str]) -> Iterator[CachedResolution]:
        rows = self._select("SELECT path, key, rows FROM resolved WHERE path IN", paths)
        return (CachedResolution(*row) for row in rows)

    def set_resolutions(self, changed: Iterable[CachedResolution], removed: Iterable[str] = ()) -> None:
        with self._transaction() as connection:
            connection.executemany("DELETE FROM resolved WHERE path = ?", ((path,) for path in removed))
            connection.executemany("INSERT OR REPLACE INTO resolved VALUES (?, ?, ?)", changed)

    def counts(self) -> Mapping[str, int]:
        tables = ("facts", "files", "resolved")
        return {name: next(self._all(f"SELECT count(*) FROM {name}"))[0] for name in tables}

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        connection = self._connection
        with self._errors():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # If the disk is full, SQLite has already rolled back.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _select(self, statement: str, keys: Collection[str]) -> Iterator[Any]:
        wanted = list(keys)
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            placeholders = ",".join("?" * len(batch))
            with self._errors():
                yield from self._connection.execute(f"{statement} ({placeholders})", batch)

    def _all(self, statement: str) -> Iterator[Any]:
        with self._errors():
            yield from self._connection.execute(statement)

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except _FAILURES as failure:
            if _is_damage(failure):
                remove_cache(self.path)
                raise CacheDamaged(
                    f"The cache {self.path} was damaged ({failure}) and has been removed. Run the command again."
                ) from failure
            raise _store_error(self.path, failure) from failure


def _file(row: tuple[str, str, int, int, int, int, str]) -> CachedFile:
    return CachedFile(row[0], row[1], FileState(*row[2:6]), row[6])


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE}")  # has no effect on a file that exists
        switch_to_wal(connection, wait)
        for pragma in ("synchronous = OFF", "cache_size = -8192"):
            connection.execute(f"PRAGMA {pragma}").fetchone()
        _require_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_tables(connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) == (APPLICATION, CACHE_VERSION):
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.execute("ROLLBACK")
        # Another process may have created the tables while this one waited for the lock.
        if connection.execute("PRAGMA user_version").fetchone()[0] == CACHE_VERSION:
            return
        raise _ForeignFile("it was made by another version of golore or by another program")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {CACHE_VERSION}")
    connection.execute("COMMIT")


def is_cache_damage(failure: Exception) -> bool:
    """Whether a step that failed like this may succeed with a new cache. An exception that golore does not raise
    deliberately comes from data in the cache that cannot be decoded, or else from a defect, which occurs again."""
    if isinstance(failure, CacheDamaged):
        return True
    if isinstance(failure, GoloreError):
        cause = failure.__cause__
        return type(failure) is StoreError and isinstance(cause, _FAILURES) and _is_damage_to_writer(cause)
    return not isinstance(failure, OSError) and _is_damage_to_writer(failure)


def _is_damage_to_writer(failure: BaseException) -> bool:
    """Like `_is_damage`, for a learn: a byte of the header makes a file read-only, a byte of an index a row double."""
    if isinstance(failure, sqlite3.Error) and _code(failure) in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CONSTRAINT}:
        return True
    return _is_damage(failure)


def _is_damage(failure: BaseException) -> bool:
    if not isinstance(failure, sqlite3.Error) or isinstance(failure, _ForeignFile):
        return True
    # Without a code, the error is one of Python's module: the data is not what it should be.
    damage = {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERNAL,
    }
    return _code(failure) in damage


def _code(failure: sqlite3.Error) -> int:
    return getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF


def _store_error(path: Path, failure: Exception) -> StoreError:
    if isinstance(failure, sqlite3.Error):
        code = _code(failure)
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreBusy(
                f"The cache {path} is being written by another process. Wait until it has finished, and try again."
            )
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"The disk that holds {path} is full. Make room and try again.")
    return StoreError(f"The cache {path} cannot be used: {failure}. Check who owns it, or remove it.")


def remove_cache(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
