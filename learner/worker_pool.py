"""A pool of worker processes that tolerates the death of a worker.

A pool of size 0 runs tasks in this process, because starting another Python costs more than learning a small
repository. If a worker dies, such as when the parser crashes on some input, the result of its task is None, and a new
worker is started for the remaining tasks.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from golore.graph.safety.child_processes import guard_children

Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerPool:
    """Use it as a context manager; leaving it kills the workers."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._workers: dict[Connection, BaseProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the workers, even if they are busy. Later tasks start new ones."""
        for connection, process in self._workers.items():
            connection.close()
            process.kill()
        for process in self._workers.values():
            process.join()
        self._workers.clear()

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | None]]:
        """Yield each task with its result, in the order of completion. The result is None if the worker died.

        An exception that a task raises in a worker is raised here.
        """
        if not self.size:
            for task in tasks:
                yield task, work(task)
            return
        remaining = iter(tasks)
        busy: dict[Connection, Task] = {}
        idle = list(self._workers)
        while True:
            while (idle or len(self._workers) < self.size) and (task := next(remaining, None)) is not None:
                connection = idle.pop() if idle else self._start_worker()
                connection.send((work, task))
                busy[connection] = task
            if not busy:
                return
            for ready in wait(list(busy)):
                ready = cast(Connection, ready)  # on Windows, of another class with the same methods
                task = busy.pop(ready)
                try:
                    result = _receive(ready)
                except EOFError:
                    self._remove_dead_worker(ready)
                    yield task, None
                else:
                    idle.append(ready)
                    yield task, result

    def run_on_all(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        """Run the same task in every worker that was started, and return the results."""
        if not self.size:
            return [work(task)]
        for connection in self._workers:
            connection.send((work, task))
        return [_receive(connection) for connection in list(self._workers)]

    def _start_worker(self) -> Connection:
        guard_children()  # the command line of a spawned worker is not ours
        context = multiprocessing.get_context("spawn")
        connection, worker_end = context.Pipe()
        process = context.Process(target=_serve, args=(worker_end,), daemon=True)
        process.start()
        worker_end.close()
        self._workers[connection] = process
        return connection

    def _remove_dead_worker(self, connection: Connection) -> None:
        process = self._workers.pop(connection)
        connection.close()
        process.join()


def _receive(connection: Connection) -> Any:
    result, failure = connection.recv()
    if failure is not None:
        raise failure
    return result


def _serve(connection: Connection) -> None:
    """Main loop of a worker process: runs tasks until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
