"""A pool of worker processes that tolerates the death of a worker.

A pool of size 0 runs tasks in this process, because starting another Python costs more than learning a small
repository. Workers are spawned, or forked where that is safe. If a worker dies, such as when
the parser crashes on some input, the result of its task is None, and a new worker is started for the remaining tasks.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

from golore.graph.safety.child_processes import guard_children

_ALLOCATOR_THREAD: Final = "jemalloc_bg_thd"
"""The thread that pyarrow's allocator starts. The allocator itself makes a fork safe (`pthread_atfork`)."""
_LESS_URGENT: Final = 10
"""Added to the niceness of a worker that gives way: it gets about a tenth of a core that another process wants."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Call = tuple[Callable[[Any], Any], Any]
"""A function and its argument."""


class WorkerPool:
    """Use it as a context manager; leaving it kills the workers.

    With `fork`, workers are started at once by forking this process, if that is safe. A worker that is spawned when it
    is needed imports everything again, which takes as long as parsing 150 files. Workers that `give_way` get less of a
    busy processor than others.
    """

    def __init__(self, size: int, *, fork: bool = False, give_way: bool = False) -> None:
        self.size = size
        self._give_way = give_way
        self._workers: dict[Connection, BaseProcess] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        if fork and _can_fork():
            for _ in range(size):
                self._start_worker(is_forked=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def started(self) -> int:
        """Number of workers that were started."""
        return len(self._workers)

    def close(self) -> None:
        """Kill the workers, even if they are busy, also for another thread. No task can be run later."""
        with self._lock:
            self._is_closed = True
            workers, self._workers = self._workers, {}
        for process in workers.values():
            process.kill()
        for connection, process in workers.items():
            process.join()
            connection.close()

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | None]]:
        """Yield each task with its result, in the order of completion. The result is None if the worker died.

        An exception that a task raises in a worker is raised here.
        """
        return ((task, result) for _, task, result in self.run_calls((work, task) for task in tasks))

    def run_calls(
        self, calls: Iterable[Call], closing: Call | None = None
    ) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """Like `run`, for tasks of several kinds: each is a function and its argument. Yields both and the result.
        `closing` is called in every started worker when there is nothing else for it to do."""
        if not self.size:
            for work, task in chain(calls, () if closing is None else (closing,)):
                yield work, task, work(task)
            return
        remaining = iter(calls)
        busy: dict[Connection, Call] = {}
        idle = list(self._workers)
        while True:
            while (idle or len(self._workers) < self.size) and (call := next(remaining, None)) is not None:
                connection = idle.pop() if idle else self._start_worker()
                connection.send(call)
                busy[connection] = call
            while idle and closing is not None:
                connection = idle.pop()
                connection.send(closing)
                busy[connection] = closing
            if not busy:
                return
            for ready in wait(list(busy)):
                ready = cast(Connection, ready)  # on Windows, of another class with the same methods
                call = busy.pop(ready)
                try:
                    result = _receive(ready)
                except EOFError:
                    self._remove_dead_worker(ready)
                    yield *call, None
                else:
                    if call is not closing:
                        idle.append(ready)
                    yield *call, result

    def _start_worker(self, *, is_forked: bool = False) -> Connection:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the worker pool is closed")
            return self._start_locked(is_forked)

    def _start_locked(self, is_forked: bool) -> Connection:
        guard_children()  # the command line of a spawned worker is not ours
        connection, worker_end = multiprocessing.Pipe()
        if is_forked:
            forking = multiprocessing.get_context("fork")
            process = forking.Process(target=_serve_forked, args=(worker_end, self._give_way), daemon=True)
        else:
            spawning = multiprocessing.get_context("spawn")
            process = spawning.Process(target=_serve, args=(worker_end, self._give_way), daemon=True)
        process.start()
        worker_end.close()
        self._workers[connection] = process
        return connection

    def _remove_dead_worker(self, connection: Connection) -> None:
        process = self._workers.pop(connection, None)
        if process is not None:  # else the pool was closed
            connection.close()
            process.join()


def _can_fork() -> bool:
    """Whether this process is on Linux, has one thread of its own and no database open: another thread may hold a lock,
    which nobody would release in the worker, and SQLite does not work in both processes after a fork."""
    if sys.platform == "linux":
        with suppress(OSError):
            names = [(thread / "comm").read_text().strip() for thread in Path("/proc/self/task").iterdir()]
            is_alone = len(names) - names.count(_ALLOCATOR_THREAD) == 1
            return is_alone and not any(_is_database(path) for path in Path("/proc/self/fd").iterdir())
    return False


def _is_database(descriptor: Path) -> bool:
    try:
        return ".db" in descriptor.readlink().suffix
    except OSError:  # closed since, such as the one of the listing
        return False


def _receive(connection: Connection) -> Any:
    result, failure = connection.recv()
    if failure is not None:
        raise failure
    return result


def _serve_forked(connection: Connection, give_way: bool) -> None:
    """Like `_serve`, in a worker that has inherited the open files of this process: a lock that it kept open would not
    end with this process, and neither would a worker that kept the other end of its own connection open."""
    kept = connection.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    _serve(connection, give_way)


def _serve(connection: Connection, give_way: bool) -> None:
    """Main loop of a worker process: runs tasks until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if give_way and sys.platform != "win32":
        os.nice(_LESS_URGENT)
    gc.disable()  # tasks make objects without cycles, or objects that live as long as the worker
    while True:
        try:
            work, task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            reply = (work(task), None)
        except Exception as failure:  # noqa: BLE001  raised again in the process that owns the pool
            reply = (None, failure)
        connection.send(reply)
