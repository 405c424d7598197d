"""Measures the Python API on a learned repository: imports, one-hop questions, networkx and SCIP.

    python benchmarks/api.py ROOT [--questions N]

Questions are asked about functions and methods that are chosen at even distances in the order of ids. Times are those
of this process; the first question, which opens the graph, is not counted.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import golore
from golore.graph.database.store import Store
from golore.graph.transfer.scip_export import export_scip
from golore.mcp_server.services.repository import find_repository

RUNS = 7


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def import_seconds(used: str) -> float:
    """Seconds to import golore, and then to load one of its names, which are loaded when they are first used."""
    script = f"import time; t = time.perf_counter(); import golore; {used}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True) for _ in range(RUNS)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    print(f"import golore          median {import_seconds('0') * 1000:6.1f} ms")
    print(f"... and golore.open    median {import_seconds('golore.open') * 1000:6.1f} ms")
    with golore.open(options.root) as repository:
        callable_kinds = ("func", "method")
        symbols = [symbol for symbol in repository.symbols() if symbol.kind in callable_kinds]
        chosen = symbols[:: max(1, len(symbols) // options.questions)]
        repository.callers(chosen[0])
        for question in ("callers", "callees", "users", "tests"):
            ask = getattr(repository, question)
            times = sorted(seconds(lambda ask=ask, one=one: ask(one)) for one in chosen)
            p95, processor = times[int(len(times) * 0.95)][0], sorted(time for _, time in times)[int(len(times) * 0.95)]
            median = statistics.median(wall for wall, _ in times)
            print(
                f"{question:22} median {median * 1000:6.2f} ms   p95 {p95 * 1000:6.2f} ms   "
                f"p95 of processor time {processor * 1000:6.2f} ms"
            )
        for title, work in (
            ("to_networkx, symbols", repository.to_networkx),
            ("to_networkx, packages", lambda: repository.to_networkx(kinds=["package"])),
        ):
            wall, processor = seconds(work)
            print(f"{title:22} {wall:6.2f} s   processor {processor:6.2f} s")
    learned = find_repository(options.root)
    with Store.open(learned.store, write=False) as store:
        wall, processor = seconds(lambda: export_scip(store, learned.root, io.BytesIO()))
    print(f"SCIP                   {wall:6.2f} s   processor {processor:6.2f} s")


if __name__ == "__main__":
    main()
