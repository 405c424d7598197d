"""The process that runs the queries of users and agents; `query_process` starts it.

    python -P -m golore.mcp_server.services.query_child

Standard input has one request per line of JSON: `store`, `cypher`, `parameters`, `seconds`, `most`. The reply is
several lines: `opened`, then `rows` for every page, then `names`, the names of the columns; or `invalid` or `failed`
with a message.

The process keeps the store open between queries as a server does: until a writer appears, or until it has been idle for
a while. It ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from golore.graph.database.store import NOT_ENOUGH_MEMORY, Store
from golore.graph.database.vector_changes import VECTOR, VECTOR_KEY
from golore.graph.errors import GoloreError, UsageError
from golore.graph.files import locks
from golore.graph.safety.memory_limit import restore_memory_limit, set_memory_limit
from golore.graph.safety.system import forbid_core_dumps, set_alarm
from golore.mcp_server.text.output import to_json_value

_CHECK_EVERY: Final = 0.05
"""Seconds between checks for a writer while the store is open, as in a server."""
_MAX_IDLE: Final = 30.0
"""Seconds without a query after which the store is closed."""
_LIFETIME: Final = 600.0
"""Seconds without a query after which the process ends."""
_MEMORY: Final = 1 << 30
"""Bytes that queries may allocate besides the engine's pool."""
_ORPHAN_GRACE: Final = 1.0
"""Seconds after the limit of a query at which the kernel ends the process, if its parent is not there to do it."""


def main() -> int:
    forbid_core_dumps()
    # Replies go to a copy of standard output, so that nothing that the engine prints can get between them.
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        child = _Child(sys.stdin.buffer, replies)
        while request := child.next_request():
            child.answer(json.loads(request))
    return 0


class _Child:
    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._replies = replies
        self._requests: queue.Queue[bytes] = queue.Queue()
        # Windows cannot wait for a pipe with a time limit, so a thread waits for the requests.
        threading.Thread(target=self._receive, args=(requests,), daemon=True).start()
        self._store: Store | None = None
        self._limit_before: int | None = None

    def next_request(self) -> bytes:
        """Wait for a request, and close the store meanwhile if necessary. Empty if the process should end."""
        idle_since = time.monotonic()
        while True:
            try:
                return self._requests.get(timeout=_LIFETIME if self._store is None else _CHECK_EVERY)
            except queue.Empty:
                if self._store is None:
                    return b""
            is_idle = time.monotonic() - idle_since > _MAX_IDLE
            if is_idle or locks.is_held(self._store.directory / "writer.lock"):
                self._close()

    def answer(self, request: dict[str, Any]) -> None:
        seconds: float = request["seconds"]
        try:
            store = self._open(Path(request["store"]))
            self._send(opened=True)
            set_alarm(seconds + _ORPHAN_GRACE)
            names, pages = store.query_pages(
                request["cypher"], request["parameters"], seconds=seconds, most=request["most"]
            )
            for page in pages:
                self._send(rows=to_json_value(_without_vectors(page)))
            self._send(names=names)
        except UsageError as failure:
            self._send(invalid=str(failure))
        except (GoloreError, OSError) as failure:
            self._send(failed=str(failure))
        except MemoryError:
            self._send(invalid=NOT_ENOUGH_MEMORY)
        except (RuntimeError, ValueError) as failure:  # values that the engine or Python cannot convert
            self._send(invalid=f"The query failed: {failure}")
        finally:
            set_alarm(0)

    def _open(self, directory: Path) -> Store:
        if self._store is not None and (self._store.directory != directory or self._store.is_stale):
            self._close()
        if self._store is None:
            restore_memory_limit(self._limit_before)  # opening reserves address space
            self._store = Store.open(directory, write=False)
            _ = self._store.generation  # opens the database
            self._limit_before = set_memory_limit(_MEMORY)
        return self._store

    def _receive(self, requests: BinaryIO) -> None:
        while request := requests.readline():
            self._requests.put(request)
        self._requests.put(b"")

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _send(self, **values: object) -> None:
        self._replies.write(json.dumps(values).encode() + b"\n")
        self._replies.flush()


def _without_vectors(value: Any) -> Any:
    """A value whose nodes have no vectors: hundreds of numbers that nobody asked for."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        is_plain = bool(items) and isinstance(items[0], (int, float, str))
        return items if is_plain else [_without_vectors(item) for item in items]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        is_node = "_LABEL" in fields or "_label" in fields
        return {
            name: _without_vectors(item)
            for name, item in fields.items()
            if not (is_node and name in (VECTOR, VECTOR_KEY))
        }
    return value


if __name__ == "__main__":
    sys.exit(main())
