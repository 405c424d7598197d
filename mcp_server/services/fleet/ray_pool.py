"""Runs the jobs of a fleet, and its compaction, as tasks of a Ray cluster. The only module that loads ray.

Every node needs this version of golore, and in its own environment the credentials of the lake. If a node dies, Ray
repeats its tasks elsewhere. Ray itself reads the token of the cluster, from RAY_AUTH_TOKEN.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import redirect_stdout
from typing import Any, Final, Self

from golore.graph.errors import GoloreError, UsageError
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.lake_index import Index, compact
from golore.mcp_server.services.fleet.fleet_jobs import GIGABYTE, Job, Outcome, failed, run_job

_NODE_FAILURES: Final = 5
"""How often Ray repeats a task whose node or worker died."""
_SHARE: Final = 0.9
_SHOWN: Final = 200


class RayPool:
    """Use it as a context manager: leaving it ends what still runs."""

    def __init__(self, address: str) -> None:
        self._messages = redirect_stdout(sys.stderr)  # Ray prints what happens to its tasks
        self._ray = _connected(address)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        self.memory = int(max((node.get("memory", 0) for node in nodes), default=GIGABYTE) * _SHARE)
        self.nodes = len(nodes)
        self._cpus = int(max((node.get("CPU", 0) for node in nodes), default=1))
        self._task: Any = self._ray.remote(run_job)
        self._running: dict[Any, Job] = {}

    def __enter__(self) -> Self:
        self._messages.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()
        self._messages.__exit__(None, None, None)

    def submit(self, job: Job) -> None:
        options = self._task.options(
            num_cpus=min(job.cpus, self._cpus),
            memory=min(job.memory, self.memory),
            max_retries=_NODE_FAILURES,
            name=f"golore {job.address}",
        )
        self._running[options.remote(job)] = job

    def next_outcome(self) -> tuple[Job, Outcome]:
        (done, *_), _ = self._ray.wait(list(self._running), num_returns=1)
        job = self._running.pop(done)
        try:
            return job, self._ray.get(done)
        except self._ray.exceptions.RayError as failure:
            is_memory = isinstance(failure, self._ray.exceptions.OutOfMemoryError)
            return job, failed(job, f"Ray: {_first_line(failure)}.", can_retry=True, was_stopped=is_memory)

    def compact(self, lake: str) -> tuple[Index, bool]:
        """Make an index of a lake in a task."""
        task = self._ray.remote(_compact_at).options(num_cpus=1, memory=self.memory // 2, max_retries=_NODE_FAILURES)
        try:
            return self._ray.get(task.remote(lake))
        except self._ray.exceptions.RayError as failure:
            cause: object = getattr(failure, "cause", None)
            raise GoloreError(
                str(cause) if isinstance(cause, GoloreError) else f"Ray: {_first_line(failure)}."
            ) from failure


def _compact_at(address: str) -> tuple[Index, bool]:
    return compact(open_lake(address))


def _connected(address: str) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as failure:
        raise UsageError("Ray is not installed. Install it with: pip install 'golore[fleet]'.") from failure
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except (ConnectionError, OSError, RuntimeError, ValueError, AssertionError) as failure:
        raise UsageError(
            f"The Ray cluster {address} cannot be used: {_first_line(failure)}. Check the address, and the token in "
            "RAY_AUTH_TOKEN."
        ) from failure
    except ray.exceptions.RayError as failure:
        raise UsageError(
            f"The Ray cluster {address} refused: {_first_line(failure)}. Check the token in RAY_AUTH_TOKEN."
        ) from failure
    return ray


def _first_line(failure: BaseException) -> str:
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0].rstrip(".")[:_SHOWN]
