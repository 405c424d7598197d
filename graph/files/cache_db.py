"""`cache.db`: what can be derived again from the files, kept to save time.

Facts are keyed by the digest of a file's bytes and the version of the extractor; their content is opaque here. Deleting
the file loses nothing but time, so a damaged or foreign one is thrown away and made anew, and a power failure may cost
its newest rows (no write waits for the disk).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from golore.graph.errors import StoreBusy, StoreDamaged, StoreError

CACHE_VERSION: Final = 1
APPLICATION: Final = 0x676F6C6F
"""Marks the file as ours: "golo" in ASCII."""
_WAIT: Final = 5.0
_BATCH: Final = 500
"""Keys asked for in one statement; SQLite's oldest limit on parameters is 999."""

_TABLES: Final = """
CREATE TABLE facts(key TEXT PRIMARY KEY, head BLOB NOT NULL, outline BLOB NOT NULL, shape BLOB NOT NULL,
                   body BLOB NOT NULL);
CREATE TABLE files(path TEXT PRIMARY KEY, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
                   key TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE resolved(path TEXT PRIMARY KEY, key TEXT NOT NULL, rows BLOB NOT NULL);
"""


class _Foreign(sqlite3.DatabaseError):
    pass


class CachedFacts(NamedTuple):
    """A file's facts in parts, so that a reader takes only the one it needs."""

    key: str
    head: bytes
    outline: bytes
    shape: bytes
    body: bytes


class CachedFile(NamedTuple):
    """What a path held when it was last looked at. Size and time tell whether to look again, never what is there."""

    path: str
    digest: str
    size: int
    mtime_ns: int
    key: str


class CachedResolution(NamedTuple):
    """What the references of a file resolved to; `key` names everything the result depends on."""

    path: str
    key: str
    rows: bytes


def facts_key(digest: str, extractor_version: str) -> str:
    return f"{digest}:{extractor_version}"


class Cache:
    """Open it with `Cache.open` and use it as a context manager. `message` is set where the old file was given up."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, message: str | None, neighbours: tuple[Path, ...]
    ) -> None:
        self._path = path
        self._connection = connection
        self.message = message
        self.neighbours = neighbours
        """Other caches that may have facts which this one lacks (see `neighbours`)."""

    @classmethod
    def open(cls, path: Path, *, wait: float = _WAIT, neighbours: tuple[Path, ...] = ()) -> Self:
        try:
            return cls(path, _connect(path, wait), None, neighbours)
        except sqlite3.DatabaseError as failure:
            # A lock or a full disk is no reason to throw the cache away.
            if not _is_damage(failure):
                raise _explained(path, failure) from failure
            message = f"The cache {path} could not be used ({failure}) and was made anew. Nothing but time is lost."
        try:
            _remove(path)
            return cls(path, _connect(path, wait), message, neighbours)
        except (OSError, sqlite3.Error) as failure:
            raise _explained(path, failure) from failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def put_many(self, rows: Iterable[CachedFacts]) -> None:
        with self._transaction() as run:
            run.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", rows)

    def has(self, keys: Collection[str]) -> set[str]:
        return {key for (key,) in self._select("SELECT key FROM facts WHERE key IN", keys)}

    def keys(self) -> Iterator[str]:
        return (key for (key,) in self._connection.execute("SELECT key FROM facts"))

    def get_heads(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, head FROM facts WHERE key IN", keys)

    def get_outlines(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Key and outline of those that are there, in no particular order."""
        return self._select("SELECT key, outline FROM facts WHERE key IN", keys)

    def get_shapes(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, shape FROM facts WHERE key IN", keys)

    def get_bodies(self, keys: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return self._select("SELECT key, body FROM facts WHERE key IN", keys)

    def get_shape(self, key: str) -> bytes | None:
        return next((shape for _, shape in self.get_shapes([key])), None)

    def prune(self, keep: Collection[str]) -> int:
        """Forget the facts of every other key, and say how many those were."""
        wanted = set(keep)
        gone = [(key,) for (key,) in self._all("SELECT key FROM facts") if key not in wanted]
        if gone:
            with self._transaction() as run:
                run.executemany("DELETE FROM facts WHERE key = ?", gone)
        return len(gone)

    def files(self) -> dict[str, CachedFile]:
        return {row[0]: CachedFile(*row) for row in self._all("SELECT * FROM files")}

    def file(self, path: str) -> CachedFile | None:
        with self._errors():
            row = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return CachedFile(*row) if row else None

    def set_files(self, changed: Iterable[CachedFile], removed: Iterable[str] = ()) -> None:
        with self._transaction() as run:
            run.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in removed))
            run.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", changed)

    def resolution_keys(self) -> dict[str, str]:
        return dict(self._all("SELECT path, key FROM resolved"))

    def get_resolutions(self, paths: Collection[str]) -> Iterator[CachedResolution]:
        rows = self._select("SELECT path, key, rows FROM resolved WHERE path IN", paths)
        return (CachedResolution(*row) for row in rows)

    def set_resolutions(self, changed: Iterable[CachedResolution], removed: Iterable[str] = ()) -> None:
        with self._transaction() as run:
            run.executemany("DELETE FROM resolved WHERE path = ?", ((path,) for path in removed))
            run.executemany("INSERT OR REPLACE INTO resolved VALUES (?, ?, ?)", changed)

    def counts(self) -> Mapping[str, int]:
        tables = ("facts", "files", "resolved")
        return {name: next(self._all(f"SELECT count(*) FROM {name}"))[0] for name in tables}

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        run = self._connection
        with self._errors():
            run.execute("BEGIN IMMEDIATE")
            try:
                yield run
                run.execute("COMMIT")
            except BaseException:
                # A full disk ends the transaction by itself.
                if run.in_transaction:
                    run.execute("ROLLBACK")
                raise

    def _select(self, statement: str, keys: Collection[str]) -> Iterator[Any]:
        wanted = list(keys)
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            marks = ",".join("?" * len(batch))
            with self._errors():
                yield from self._connection.execute(f"{statement} ({marks})", batch)

    def _all(self, statement: str) -> Iterator[Any]:
        with self._errors():
            yield from self._connection.execute(statement)

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.DatabaseError as failure:
            if _is_damage(failure):
                _remove(self._path)
                raise StoreDamaged(
                    f"The cache {self._path} was damaged ({failure}) and has been removed. Run the command again."
                ) from failure
            raise _explained(self._path, failure) from failure


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -8192"):
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
        # Another process may have made the tables while this one waited.
        if connection.execute("PRAGMA user_version").fetchone()[0] == CACHE_VERSION:
            return
        raise _Foreign("it was made by another version or another program")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {CACHE_VERSION}")
    connection.execute("COMMIT")


def _is_damage(failure: sqlite3.Error) -> bool:
    damage = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR}
    return isinstance(failure, _Foreign) or _code(failure) in damage


def _code(failure: sqlite3.Error) -> int:
    return getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF


def _explained(path: Path, failure: Exception) -> StoreError:
    if isinstance(failure, sqlite3.Error):
        code = _code(failure)
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreBusy(f"The cache {path} is being written by another process. Wait until it is done.")
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"The disk that holds {path} is full. Make room and try again.")
    return StoreError(f"The cache {path} cannot be used: {failure}. Check who owns it, or remove it.")


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
