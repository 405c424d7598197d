"""A `golore watch` process for tests: its events and its exit."""

from __future__ import annotations

import io
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from golore.graph.database.store import Store
from golore.graph.transfer.jsonl_export import export_jsonl

GOLORE: Final = Path(sys.executable).with_name("golore")
DEADLINE: Final = 600.0
"""Seconds. Only a test that fails waits so long; a busy machine may need minutes."""


class Watch:
    """Use as a context manager; leaving it kills the process if it still runs."""

    def __init__(
        self, root: Path, command: Sequence[str | Path] = (GOLORE,), cwd: Path | None = None, **environ: str
    ) -> None:
        self._process = subprocess.Popen(
            [*command, "watch", "--json", str(root)],
            cwd=cwd,
            env=os.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._reader.join()

    def event(self, *names: str) -> dict[str, Any]:
        """The next event with one of these names; events before it are skipped."""
        deadline = time.monotonic() + DEADLINE
        skipped: list[dict[str, Any]] = []
        while True:
            try:
                event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise AssertionError(f"no {names} in time, only {skipped}") from None
            assert event is not None, f"ended without {names}, after {skipped}"
            if event["event"] in names:
                return event
            skipped.append(event)

    def ended(self) -> tuple[int, str]:
        """Wait for the end. Returns the exit code and the standard error."""
        self._process.wait(DEADLINE)
        self._reader.join()
        assert self._process.stderr is not None
        return self._process.returncode, self._process.stderr.read()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)


def until(holds: Callable[[], bool]) -> bool:
    """Wait until `holds()` is true. Returns False if it is not before the deadline."""
    deadline = time.monotonic() + DEADLINE
    pause = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.05)
    return True


def exported(store: Path) -> list[str]:
    out = io.StringIO()
    with Store.open(store, write=False) as opened:
        export_jsonl(opened, out)
    return out.getvalue().splitlines()
