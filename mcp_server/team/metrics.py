"""Numbers about a team server in the text format of Prometheus, summed over its processes.

Each process has a row of 64-bit numbers in a file that all of them map into their memory, and writes only that row, so
counting needs no lock and whichever process is asked knows all. There are no names of repositories, tokens or symbols.
"""

from __future__ import annotations

import mmap
import os
import threading
from typing import Final

from golore.mcp_server.team.team_server import TOOLS

STATUSES: Final = ("ok", "refused", "failed", "limited", "unauthorized", "unavailable")
"""`refused`: the tool answered with an error, such as an unknown name. `failed`: the
request was not valid, or golore has a bug."""
_TOOLS: Final = (*TOOLS, "view", "other", "none")
"""`view`: pages. `none`: requests that call no tool, such as a list of the tools."""
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REQUESTS: Final = 0
_DURATIONS: Final = _REQUESTS + len(_TOOLS) * len(STATUSES)
_ROW: Final = len(_BUCKETS) + 2
"""Of a histogram: its buckets, the sum in microseconds, and the number."""
_LAKE_ERRORS: Final = _DURATIONS + len(_TOOLS) * _ROW
_OPEN_STORES: Final = _LAKE_ERRORS + 1
_RUNNING: Final = _OPEN_STORES + 1
_WIDTH: Final = _RUNNING + 1


class Metrics:
    """The row of one process in the file with this descriptor; see `file_size`."""

    def __init__(self, descriptor: int, process: int, processes: int) -> None:
        self._memory = mmap.mmap(descriptor, file_size(processes))
        self._all = memoryview(self._memory).cast("Q")
        self._own = self._all[process * _WIDTH : (process + 1) * _WIDTH]
        self._processes = processes
        self._lock = threading.Lock()
        self._own[_OPEN_STORES] = self._own[_RUNNING] = 0  # of the process before this one

    def count(self, tool: str, status: str, seconds: float) -> None:
        """Count a request that was answered."""
        row = _TOOLS.index(tool if tool in _TOOLS else "other")
        own = self._own
        own[_REQUESTS + row * len(STATUSES) + STATUSES.index(status)] += 1
        start = _DURATIONS + row * _ROW
        for at, limit in enumerate(_BUCKETS):
            if seconds <= limit:
                own[start + at] += 1
                break
        own[start + len(_BUCKETS)] += int(seconds * 1e6)
        own[start + len(_BUCKETS) + 1] += 1

    def count_lake_error(self) -> None:
        with self._lock:  # also called by other threads than that of the requests
            self._own[_LAKE_ERRORS] += 1

    def set_open_stores(self, number: int) -> None:
        self._own[_OPEN_STORES] = number

    def change_running(self, by: int) -> None:
        self._own[_RUNNING] += by

    def text(self, cache_bytes: int) -> str:
        totals = [sum(self._all[at::_WIDTH].tolist()) for at in range(_WIDTH)]
        lines = ["# TYPE golore_requests_total counter"]
        for row, tool in enumerate(_TOOLS):
            for column, status in enumerate(STATUSES):
                if number := totals[_REQUESTS + row * len(STATUSES) + column]:
                    lines.append(f'golore_requests_total{{tool="{tool}",status="{status}"}} {number}')
        lines.append("# TYPE golore_request_duration_seconds histogram")
        for row, tool in enumerate(_TOOLS):
            lines += _histogram(tool, totals[_DURATIONS + row * _ROW : _DURATIONS + (row + 1) * _ROW])
        for name, kind, value in (
            ("golore_lake_errors_total", "counter", totals[_LAKE_ERRORS]),
            ("golore_requests_running", "gauge", totals[_RUNNING]),
            ("golore_open_stores", "gauge", totals[_OPEN_STORES]),
            ("golore_cache_bytes", "gauge", cache_bytes),
            ("golore_processes", "gauge", self._processes),
        ):
            lines += [f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"


def file_size(processes: int) -> int:
    """The size of the file that the processes share. It is full of zeros at first."""
    return _WIDTH * 8 * processes


def shared_file(processes: int) -> int:
    """The descriptor of a new file without a name for the metrics of so many processes."""
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="golore-metrics-")
    os.unlink(path)  # noqa: PTH108  the descriptor is all that is needed
    os.ftruncate(descriptor, file_size(processes))
    return descriptor


def _histogram(tool: str, row: list[int]) -> list[str]:
    *buckets, microseconds, number = row
    if not number:
        return []
    name, so_far = "golore_request_duration_seconds", 0
    lines: list[str] = []
    for limit, count in zip(_BUCKETS, buckets, strict=True):
        so_far += count
        lines.append(f'{name}_bucket{{tool="{tool}",le="{limit:g}"}} {so_far}')
    lines.append(f'{name}_bucket{{tool="{tool}",le="+Inf"}} {number}')
    return [*lines, f'{name}_sum{{tool="{tool}"}} {microseconds / 1e6:.6f}', f'{name}_count{{tool="{tool}"}} {number}']
