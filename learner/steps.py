"""Runs the steps of a learn beside each other: a step begins when the steps that it needs have ended.

Each step has a thread. That keeps two cores busy as long as most steps wait for the engine, for git or for other
processes; a step with much work of its own should give it to a process (see `worker_pool`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Final, Self, TypeVar

from golore.graph.progress import Progress

_MOST_THREADS: Final = 16

Result = TypeVar("Result")


class Steps:
    """Use it as a context manager; leaving it waits for the steps that have begun, and drops the others."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._threads = ThreadPoolExecutor(_MOST_THREADS)
        self._lock = threading.Lock()
        self._running: list[str] = []
        self._is_left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_left = True
        self._threads.shutdown(cancel_futures=True)

    def start(self, name: str, work: Callable[[], Result], *needed: Future[Any]) -> Future[Result]:
        """Call `work` when the needed steps have ended. If one of them fails, so does this one."""
        return self._threads.submit(self._run, name, work, needed)

    def _run(self, name: str, work: Callable[[], Result], needed: tuple[Future[Any], ...]) -> Result:
        for step in needed:
            step.result()
        if self._is_left:
            raise CancelledError
        self._show(name, is_running=True)
        try:
            return work()
        finally:
            self._show(name, is_running=False)

    def _show(self, name: str, *, is_running: bool) -> None:
        with self._lock:
            if is_running:
                self._running.append(name)
            else:
                self._running.remove(name)
            self._progress.running(tuple(self._running))
