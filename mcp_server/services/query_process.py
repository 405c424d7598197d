"""Runs the queries of users and agents in another process, which can crash or be killed without further harm.

The engine checks its time limit only between steps, and does not count the memory of functions: `range(1, 2000000000)`
takes 16 GB. So the process that runs a query has a memory limit and is killed at the deadline. It is kept for the next
query, because starting one takes a fifth of a second. See `query_child` for the protocol.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from golore.graph.database.read_only import require_read_only
from golore.graph.database.store import NOT_ENOUGH_MEMORY, too_slow
from golore.graph.errors import GoloreError, StoreDamaged, StoreError, UsageError
from golore.graph.safety.child_processes import python_command

_GRACE: Final = 0.25
"""Seconds after the limit of a query at which its process is killed. The engine usually stops the query in time."""
_MAX_OPENING: Final = 30.0
"""Seconds for starting the process and opening the store, which may have to wait for a writer."""
_MAX_QUEUE: Final = 10.0
"""Seconds to wait for the queries of others."""
_CHUNK: Final = 1 << 20
_MAX_CHUNKS: Final = 4
_MODULE: Final = "golore.mcp_server.services.query_child"


class _Ended(Exception):
    """The process has ended, or closed its end of a pipe."""


class _DeadlinePassed(Exception):
    pass


class _ResultTooLarge(Exception):
    pass


class QueryProcess:
    """Runs one query at a time. The first query starts the process, and so does one after a query that ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The id of the process; None if there is none at the moment."""
        return None if self._child is None else self._child.process.pid

    def start(self) -> None:
        """Start the process before it is needed."""
        with self._lock:
            self._child = self._child or _Child()

    def query(
        self,
        store: Path,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        seconds: float,
        most: int | None = None,
        max_bytes: int | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of a query, at most `most`, each with the names of its columns. Values that JSON does not have are
        strings, and whole nodes come without their vectors.

        Raises `UsageError` if the query does anything but read, fails, takes longer than `seconds`, needs too much
        memory, or if its result is larger than `max_bytes`. Raises `GoloreError` if it crashed the process.
        """
        require_read_only(cypher)
        store = store.absolute()
        given = dict(parameters or {})
        request = {"store": str(store), "cypher": cypher, "parameters": given, "seconds": seconds, "most": most}
        if not self._lock.acquire(timeout=_MAX_QUEUE):
            raise GoloreError("Other queries of this repository are still running. Try again later.")
        try:
            rows, last = self._ask(store, request, seconds, max_bytes)
            if last.get("invalid") == NOT_ENOUGH_MEMORY:
                self._end()  # returns the memory to the system
        except BaseException:
            self._end()
            raise
        finally:
            self._lock.release()
        if "invalid" in last:
            raise UsageError(last["invalid"])
        if "failed" in last:
            raise StoreError(last["failed"])
        return [dict(zip(last["names"], row, strict=True)) for row in rows]

    def close(self) -> None:
        child = self._child
        if child is not None:
            child.process.kill()  # also ends a query that another thread waits for
        with self._lock:
            self._end()

    def _ask(
        self, store: Path, request: dict[str, Any], seconds: float, max_bytes: int | None
    ) -> tuple[list[list[Any]], dict[str, Any]]:
        """The rows, and the last line of the reply."""
        child, reply = self._open(store, json.dumps(request).encode() + b"\n")
        rows: list[list[Any]] = []
        deadline = time.monotonic() + seconds + _GRACE
        try:
            while "opened" in reply or "rows" in reply:
                reply = child.receive(deadline, max_bytes)
                rows += reply.get("rows", ())
        except _DeadlinePassed:
            raise UsageError(too_slow(seconds)) from None
        except _ResultTooLarge:
            raise UsageError("The result of the query is too large. Return less, or add a LIMIT.") from None
        except _Ended:
            cause = child.end()
            if cause == "SIGALRM":
                raise UsageError(too_slow(seconds)) from None
            raise GoloreError(
                f"The query crashed the graph engine ({cause}). Write it in another way; other queries still work."
            ) from None
        return rows, reply

    def _open(self, store: Path, request: bytes) -> tuple[_Child, dict[str, Any]]:
        """Send a request. Returns the process and its first reply, which comes when it has opened the store."""
        old = self._child
        if old is not None:
            try:
                return old, old.send(request, time.monotonic() + _MAX_OPENING)
            except (_Ended, _DeadlinePassed):
                self._end()  # it may end at any time between two queries
        child = self._child = _Child()
        try:
            return child, child.send(request, time.monotonic() + _MAX_OPENING)
        except _DeadlinePassed:
            raise StoreError(f"The store {store} could not be opened in {_MAX_OPENING:g} s. Try again later.") from None
        except _Ended:
            raise StoreDamaged(
                f"The store {store} crashed the graph engine ({child.end()}). Run `golore learn --full` to rebuild it."
            ) from None

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """A running `query_child` and the pipes to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            python_command("-m", _MODULE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        # Windows cannot wait for a pipe with a time limit, so threads write and read.
        self._chunks: queue.Queue[bytes] = queue.Queue(_MAX_CHUNKS)
        """What was read from the process. The last chunk is empty."""
        self._has_ended = False
        threading.Thread(target=self._read, args=(_required(self.process.stdout),), daemon=True).start()
        self._writer: threading.Thread | None = None
        self._buffer = bytearray()
        self._received = 0

    def send(self, request: bytes, deadline: float) -> dict[str, Any]:
        """Send a request. Returns the first line of the reply."""
        self._received = 0
        self._writer = threading.Thread(target=self._write, args=(_required(self.process.stdin), request), daemon=True)
        self._writer.start()
        return self.receive(deadline, None)

    def receive(self, deadline: float, max_bytes: int | None) -> dict[str, Any]:
        """The next line of the reply, whose lines may have `max_bytes` together."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            chunk = self._next_chunk(deadline)
            self._received += len(chunk)
            if max_bytes is not None and self._received > max_bytes:
                raise _ResultTooLarge
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return json.loads(line)

    def end(self) -> str:
        """Kill the process if it has not ended by itself. Returns the name of the signal that ended it, or its exit
        code."""
        self.process.kill()
        code = self.process.wait()
        while not self._has_ended:
            self._has_ended = not self._chunks.get()
        if self._writer is not None:
            self._writer.join()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _next_chunk(self, deadline: float) -> bytes:
        if self._has_ended:
            raise _Ended
        try:
            chunk = self._chunks.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise _DeadlinePassed from None
        if not chunk:
            self._has_ended = True
            raise _Ended
        return chunk

    def _read(self, replies: IO[bytes]) -> None:
        while chunk := os.read(replies.fileno(), _CHUNK):
            self._chunks.put(chunk)
        self._chunks.put(b"")

    @staticmethod
    def _write(requests: IO[bytes], request: bytes) -> None:
        left = memoryview(request)
        with suppress(OSError):  # the process has ended, which `receive` notices
            while left:
                left = left[os.write(requests.fileno(), left) :]


def _required(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("The process was started with a pipe.")
    return stream
