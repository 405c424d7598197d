"""Worker processes that share out tasks, and survive the death of one of them.

A crew of size 0 does the work in this process: starting Python twice costs more than a small repository. A task whose
worker dies (a parser that crashes on some input) comes back as `None`, a new worker takes its place, and the rest goes
on. What the tasks are is not known here.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerPool:
    """Use as a context manager; leaving it ends the workers."""

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
        """End the workers, whatever they are doing; new ones come when there is new work."""
        for connection, process in self._workers.items():
            connection.close()
            process.kill()
        for process in self._workers.values():
            process.join()
        self._workers.clear()

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | None]]:
        """Each task with its result, as they are done; the result is None where the worker died over it."""
        if not self.size:
            for task in tasks:
                yield task, work(task)
            return
        waiting = iter(tasks)
        busy: dict[Connection, Task] = {}
        idle = list(self._workers)
        while True:
            while (idle or len(self._workers) < self.size) and (task := next(waiting, None)) is not None:
                connection = idle.pop() if idle else self._hire()
                connection.send((work, task))
                busy[connection] = task
            if not busy:
                return
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                task = busy.pop(ready)
                try:
                    result = _received(ready)
                except EOFError:
                    self._bury(ready)
                    yield task, None
                else:
                    idle.append(ready)
                    yield task, result

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        """The result of the same work in every process that has tasks behind it."""
        if not self.size:
            return [work(task)]
        for connection in self._workers:
            connection.send((work, task))
        return [_received(connection) for connection in list(self._workers)]

    def _hire(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._workers[ours] = process
        return ours

    def _bury(self, connection: Connection) -> None:
        process = self._workers.pop(connection)
        connection.close()
        process.join()


def _received(connection: Connection) -> Any:
    answer, failure = connection.recv()
    if failure is not None:
        raise failure
    return answer


def _serve(connection: Connection) -> None:
    """What a worker process does until the crew is dismissed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # what the tasks make is trees without cycles, or lives as long as the worker
    while True:
        try:
            work, task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (work(task), None)
        except Exception as failure:  # noqa: BLE001  raised again where the crew was asked
            answer = (None, failure)
        connection.send(answer)
