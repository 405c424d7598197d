"""Runs the jobs of `golore fleet learn`: on this machine, or as tasks of a Ray cluster (see `ray_pool`).

Failed jobs that may succeed are tried again; one that was killed gets more memory. The largest repositories come first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, Protocol

import msgspec
from golore.graph.safety.system import physical_memory
from golore.mcp_server.services.fleet.fleet_jobs import Job, Outcome, run_job

_ATTEMPTS: Final = 3
_SHARE: Final = 0.8
"""Of the memory of this machine, for all jobs together."""


class Pool(Protocol):
    """`memory`: the most that one job can have, in bytes."""

    memory: int

    def submit(self, job: Job) -> None: ...

    def next_outcome(self) -> tuple[Job, Outcome]:
        """Wait until one of the submitted jobs has ended."""
        ...


def run_jobs(jobs: Iterable[Job], pool: Pool, report: Callable[[Outcome], None]) -> list[Outcome]:
    """The outcome of each job. `report` is called with each as soon as it is known."""
    running = 0
    for job in sorted(jobs, key=lambda job: (-job.memory, job.address, job.revision)):
        pool.submit(job)
        running += 1
    found: list[Outcome] = []
    while running:
        job, outcome = pool.next_outcome()
        again = _next_attempt(job, outcome, pool.memory)
        if again is not None:
            pool.submit(again)
            continue
        running -= 1
        found.append(outcome)
        report(outcome)
    return sorted(found, key=lambda one: (one.address, one.revision))


class LocalPool:
    """Runs as many jobs at once as the processors and the memory of this machine suffice for, but at least one."""

    def __init__(self) -> None:
        self._cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.memory = int(physical_memory() * _SHARE)
        self._waiting: list[Job] = []
        self._running: dict[Future[Outcome], Job] = {}
        self._threads = ThreadPoolExecutor(self._cpus)

    def submit(self, job: Job) -> None:
        self._waiting.append(job)

    def next_outcome(self) -> tuple[Job, Outcome]:
        while self._waiting and self._has_room(self._waiting[0]):
            job = self._waiting.pop(0)
            self._running[self._threads.submit(run_job, job)] = job
        done = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
        return self._running.pop(done), done.result()

    def _has_room(self, job: Job) -> bool:
        jobs = self._running.values()
        cpus, memory = sum(one.cpus for one in jobs), sum(one.memory for one in jobs)
        return not jobs or (cpus + job.cpus <= self._cpus and memory + job.memory <= self.memory)


def _next_attempt(job: Job, outcome: Outcome, memory: int) -> Job | None:
    if outcome.status != "failed" or not outcome.can_retry or job.attempt >= _ATTEMPTS:
        return None
    wanted = min(job.memory * 2, memory) if outcome.was_stopped else job.memory
    cpus = 1 if outcome.was_stopped else job.cpus  # workers need memory, too
    return msgspec.structs.replace(job, attempt=job.attempt + 1, memory=wanted, cpus=cpus)
