"""An open database of the embedded engine: Ladybug, or Kuzu 0.11.3 if GOLORE_ENGINE is `kuzu`.

Both have the same Python interface and, as far as golore uses it, the same Cypher. They are imported by name, and never
both in one process, because that crashes the interpreter. Only this package opens a `Session`. Locking is left to the
caller.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, cast

from golore.graph.errors import GraphDamaged, StoreBusy, StoreError, UsageError
from golore.graph.safety.memory_limit import restore_memory_limit, set_memory_limit

ENGINES: Final = ("ladybug", "kuzu")

_MEGABYTE: Final = 1 << 20
_READ_POOL: Final = 256 * _MEGABYTE
_MAX_DATABASE: Final = 1 << 38
"""The engines reserve address space for the largest possible file, by default 8 TB, which small machines refuse."""
_READER_MEMORY: Final = 1 << 30
_READER_SHARE: Final = 4
"""Memory of a limited reader: a gigabyte, of which opening reserves a third, and a share of the size of the file."""
_THREADS: Final = max(1, min(4, os.cpu_count() or 1))
_PAGE: Final = 10_000
_CHUNK: Final = 100_000
_FEW_ROWS: Final = 10_000
"""So many rows take less time than importing pyarrow, 100 ms."""
_REFUSALS: Final = ("connection exception", "parser exception")
"""How the engine begins its refusal of a statement that writes to a database opened for reading, or is malformed."""
_ROOM_FLOOR: Final = 16 * _MEGABYTE
_ROOM_PER_ROW: Final = 100

Row = list[Any]


class _Result(Protocol):
    def has_next(self) -> bool: ...
    def get_n(self, count: int) -> list[Row]: ...
    def get_as_arrow(self, chunk_size: int) -> Any: ...
    def get_column_names(self) -> list[str]: ...
    def get_num_tuples(self) -> int: ...
    def close(self) -> None: ...


class _Connection(Protocol):
    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> _Result | list[_Result]: ...
    def set_query_timeout(self, timeout_in_ms: int) -> None: ...
    def close(self) -> None: ...


class _Database(Protocol):
    def close(self) -> None: ...


def engine_name() -> str:
    name = os.environ.get("GOLORE_ENGINE", "").strip().lower() or ENGINES[0]
    if name not in ENGINES:
        raise UsageError(f"GOLORE_ENGINE is {name!r}. Set it to one of {', '.join(ENGINES)}, or leave it unset.")
    return name


_is_limited = False
_is_ending = False
_left_open: Final[list[object]] = []
"""Databases that are not closed, and must not be freed either."""


def leave_databases_open() -> None:
    """Let `Session.leave` close nothing. For processes that end at once after their answer: the engine takes 4 ms to
    free a database, and the end of the process frees it too."""
    global _is_ending
    _is_ending = True


def limit_memory() -> None:
    """Limit the memory of this process while it has a database open for reading.

    For processes that only answer one question. The engine trusts the sizes in its file: a damaged one made it allocate
    gigabytes. A process that learns or serves must not use this, because it needs memory for other things meanwhile.
    """
    global _is_limited
    _is_limited = True


def _set_limit(path: Path) -> int | None:
    """Set the limit, if it is wanted. Returns the limit before."""
    return set_memory_limit(reader_memory(path)) if _is_limited else None


def reader_memory(path: Path) -> int:
    """Bytes that a process needs at most to open a database and to answer a question from it."""
    return _MAX_DATABASE + _READER_MEMORY + _READER_SHARE * path.stat().st_size


class EngineFailure(Exception):
    """A statement failed; the text is the message of the engine. Never leaves the `graph` package."""

    @property
    def is_full_pool(self) -> bool:
        """Whether the buffer pool had no room for a page or an intermediate result."""
        return "buffer manager exception" in str(self).lower()


class Session:
    """A database with one connection. Values are passed as parameters; a row is a list in column order."""

    def __init__(
        self,
        path: Path,
        *,
        write: bool,
        pool: int | None = None,
        threads: int | None = None,
        is_bulk: bool = False,
    ) -> None:
        """`is_bulk`: many rows are loaded into a new database, whose log is folded into it only when it is closed."""
        module = _module(engine_name())
        self.is_writable: Final = write
        self.pool: Final = pool or _READ_POOL
        self.is_fresh = True
        """Whether no statement has run yet."""
        self._open_results = 0
        self._limit_before = None if write else _set_limit(path)
        self._database: _Database
        self._connection: _Connection
        try:
            self._database = module.Database(
                str(path),
                buffer_pool_size=self.pool,
                max_num_threads=threads or _THREADS,
                read_only=not write,
                max_db_size=_MAX_DATABASE,
                auto_checkpoint=not is_bulk,
            )
            self._connection = module.Connection(self._database)
        except (RuntimeError, MemoryError) as failure:
            self._lift_limit()
            raise opening_error(path, str(failure)) from failure
        if write and not is_bulk:
            # Folding the log into the file rewrites whole node groups and takes seconds at 400,000 symbols; reading
            # the log again at the next open takes milliseconds. `Store` decides when to fold.
            self.run("CALL force_checkpoint_on_close = false")

    @property
    def is_being_read(self) -> bool:
        """Whether a caller is still reading rows: then the session must not be closed."""
        return self._open_results > 0

    def close(self) -> None:
        self._connection.close()
        self._database.close()
        self._lift_limit()

    def leave(self) -> None:
        """Close a database that is not needed again, unless the process is about to end (`leave_databases_open`)."""
        if _is_ending and not self.is_writable:
            _left_open.append((self._connection, self._database))
            self._lift_limit()
        else:
            self.close()

    def _lift_limit(self) -> None:
        restore_memory_limit(self._limit_before)

    def run(self, statement: str, **parameters: object) -> None:
        self._execute(statement, parameters).close()

    def copy(self, statement: str, rows: Any) -> None:
        """Run a COPY from `$rows`, an Arrow table. The engine keeps a parameter until its connection is closed, so the
        table gets a connection of its own."""
        shared = self._connection
        self._connection = _module(engine_name()).Connection(self._database)
        try:
            self.run(statement, rows=rows)
        finally:
            self._connection.close()
            self._connection = shared

    def rows(self, statement: str, parameters: Mapping[str, object] | None = None) -> Iterator[Row]:
        """The statement runs at once; the rows are fetched as they are read."""
        return chain.from_iterable(self._pages(self._execute(statement, parameters or {}), None))

    def columns(self, statement: str, parameters: Mapping[str, object] | None = None) -> list[list[Any]]:
        """The whole result by columns: for many thousands of rows, several times faster than by rows."""
        result = self._execute(statement, parameters or {})
        try:
            total = result.get_num_tuples()
            if total <= _FEW_ROWS and "pyarrow" not in sys.modules:
                rows = result.get_n(total) if total else []
                return [[row[at] for row in rows] for at in range(len(result.get_column_names()))]
            return [column.to_pylist() for column in result.get_as_arrow(_CHUNK).columns]
        finally:
            result.close()

    def table(self, statement: str) -> Any:
        """The whole result as a `pyarrow.Table`."""
        result = self._execute(statement, {})
        try:
            return result.get_as_arrow(_CHUNK)
        finally:
            result.close()

    def pages(
        self,
        statement: str,
        parameters: Mapping[str, object] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> tuple[list[str], Iterator[list[Row]]]:
        """The column names, and all rows or the first `most`, in pages. A query that runs longer than `seconds` is
        interrupted, which raises `EngineFailure`."""
        if seconds is not None:
            self._connection.set_query_timeout(max(1, int(seconds * 1000)))
        try:
            result = self._execute(statement, parameters or {})
        finally:
            if seconds is not None:
                self._connection.set_query_timeout(0)
        return result.get_column_names(), self._pages(result, most)

    def _pages(self, result: _Result, most: int | None) -> Iterator[list[Row]]:
        self._open_results += 1
        return self._fetched_pages(result, sys.maxsize if most is None else most)

    def _fetched_pages(self, result: _Result, left: int) -> Iterator[list[Row]]:
        try:
            while left > 0 and result.has_next():
                page = result.get_n(min(_PAGE, left))
                left -= len(page)
                yield page
        finally:
            self._open_results -= 1
            result.close()

    def _execute(self, statement: str, parameters: Mapping[str, object]) -> _Result:
        try:
            result = self._connection.execute(statement, dict(parameters))
        except (RuntimeError, MemoryError) as failure:
            raise EngineFailure(str(failure)) from failure
        if isinstance(result, list):
            raise EngineFailure("more than one statement")
        self.is_fresh = False
        return result


def _module(name: str) -> Any:
    if name == "kuzu":
        importlib.import_module("importlib.util")  # kuzu uses it, but does not import it
    try:
        return _without_asyncio(name)
    except ImportError as failure:
        raise StoreError(
            f"The graph engine {name} cannot be loaded ({failure}). Install it with `pip install golore[kuzu]`."
            if name == "kuzu"
            else f"The graph engine {name} cannot be loaded ({failure}). Install golore again."
        ) from failure


def _without_asyncio(name: str) -> Any:
    """Import an engine without its asynchronous connections, which golore does not use: asyncio takes as long to import
    as a question takes to answer."""
    unused = f"{name}.async_connection"
    is_replaced = name not in sys.modules
    if is_replaced:
        sys.modules[unused] = ModuleType(unused)
        sys.modules[unused].AsyncConnection = None  # pyright: ignore[reportAttributeAccessIssue]
    try:
        return cast("Any", importlib.import_module(name))
    finally:
        if is_replaced:
            del sys.modules[unused]


def opening_error(path: Path, detail: str) -> StoreError:
    known = _resource_error(path, detail)
    if known is not None:
        return known
    if "lock" in detail.lower():
        return StoreBusy(f"The store {path} is locked by another program ({detail}). Close it and try again.")
    return GraphDamaged(
        f"The store {path} cannot be opened: {detail.strip()} Run `golore learn` to rebuild it; notes and summaries "
        "are kept."
    )


def require_room(path: Path, rows: int) -> None:
    """Raise `StoreError` if the disk has no room for so many rows: both engines end the whole process when they cannot
    write their log."""
    if _free_bytes(path) < _ROOM_FLOOR + _ROOM_PER_ROW * rows:
        raise _full(path)


def loading_error(path: Path, detail: str) -> StoreError:
    return _resource_error(path, detail) or StoreError(
        f"The graph could not be loaded into {path}: {detail.strip()} The store was not changed; please report this."
    )


def running_error(path: Path, detail: str) -> StoreError:
    """The error for a failed statement of golore itself. The store is damaged, unless a resource is exhausted or the
    engine refused the statement before it read anything."""
    if detail.lower().startswith(_REFUSALS):
        return StoreError(f"The store {path} refused a statement: {detail.strip()} Report this error of golore.")
    return _resource_error(path, detail) or GraphDamaged(
        f"The store {path} cannot be queried: {detail.strip()} Run `golore learn` to rebuild it."
    )


def _resource_error(path: Path, detail: str) -> StoreError | None:
    """The error for a full disk, missing permission or insufficient memory; None for other failures."""
    lowered = detail.lower()
    full = any(phrase in lowered for phrase in ("no space left", "disk quota", "file too large"))
    if full or _free_bytes(path) < _MEGABYTE:
        return _full(path)
    if "permission denied" in lowered or "read-only file system" in lowered:
        return StoreError(f"No permission to use {path}. Check who owns it.")
    if any(phrase in lowered for phrase in ("buffer manager exception", "mmap", "bad_alloc")):
        return StoreError(f"Not enough memory for the store {path}: {detail.strip()} Free some memory and try again.")
    return None


def _full(path: Path) -> StoreError:
    return StoreError(f"The disk that holds {path.parent} is full. Make room and try again.")


def _free_bytes(path: Path) -> int:
    """Free bytes on the disk. Ladybug reports a full disk only as a failed read of what it could not write."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return sys.maxsize
