"""Measures the time and memory of a learn, and compares the time with parsing alone.

    python benchmarks/learn.py PATH [--workers N] [--containment] [--json]

First the files of the repository are parsed by tree-sitter in one thread of a separate process, and the trees are
dropped; then the repository is learned into a fresh store, in another process. The ratio is that of the two times. If
the learn has read code outside the repository, such as vendored packages, that is parsed too, and a second ratio
includes it. Peak memory and CPU time are those of the learn with all its worker processes; memory is the sum of their
PSS, which counts shared pages once, or of their RSS if the kernel does not report PSS. Times depend on the machine and
the moment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

INTERVAL = 0.05
PARSE = """
import json, sys, time
from pathlib import Path
from golore.learner.checkout.discovery import discover
from golore.learner.extraction.parser import parse
discovery = discover(Path(sys.argv[1]))
sources = [(discovery.root / file.path).read_bytes() for file in discovery.files]
wall, cpu = time.perf_counter(), time.process_time()
for source in sources:
    parse(source)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
lines = sum(source.count(b"\\n") for source in sources)
print(json.dumps([len(sources), lines, sum(map(len, sources)), wall, cpu]))
"""
OUTSIDE = """
import json, sys, time
from pathlib import Path
from golore.graph.files.cache_db import Cache
from golore.learner.extraction.parser import parse
with Cache.open(Path(sys.argv[1])) as cache:
    paths = [Path(name) for name in cache.files()]
sources = [path.read_bytes() for path in paths if path.is_absolute()]
wall = time.perf_counter()
for source in sources:
    parse(source)
print(json.dumps([len(sources), time.perf_counter() - wall]))
"""
LEARN = """
import json, os, sys, time
from pathlib import Path
from golore.learner.pipeline.graph_step import learn_graph
if __name__ == "__main__":
    workers = int(sys.argv[3]) if sys.argv[3] else None
    began = time.perf_counter()
    edges = sys.argv[4] != "containment"
    report = learn_graph(Path(sys.argv[1]), store_directory=Path(sys.argv[2]), edges=edges, workers=workers)
    wall = time.perf_counter() - began
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    print(json.dumps([wall, cpu, report.files, report.packages, report.rows_written]))
"""


class Memory:
    """Samples the memory of a process and its descendants until it is stopped."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self.measure = "PSS" if Path("/proc/self/smaps_rollup").exists() else "RSS"
        self._pid = pid
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def stop(self) -> int:
        self._done.set()
        self._watcher.join()
        return self.peak

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL):
            self.peak = max(self.peak, sum(self._size(pid) for pid in self._processes()))

    def _processes(self) -> list[int]:
        found = [self._pid]
        for pid in found:
            for path in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found += [int(child) for child in path.read_text().split()]
                except OSError:
                    continue
        return found

    def _size(self, pid: int) -> int:
        try:
            if self.measure == "PSS":
                return _field(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")
            return _field(Path(f"/proc/{pid}/status"), "VmRSS:")
        except OSError:
            return 0  # the process has ended


def _field(path: Path, name: str) -> int:
    """The bytes that a line of a file in /proc gives in kilobytes; 0 if there is no such line."""
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def measure(path: Path, workers: str, containment: bool) -> dict[str, float | int | str]:
    files, lines, size, parse_seconds, parse_cpu = run([sys.executable, "-c", PARSE, str(path)])
    with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as directory:
        # A file, because worker processes import the main module again.
        script, store = Path(directory, "learn.py"), Path(directory, "store")
        script.write_text(LEARN)
        part = "containment" if containment else "all"
        process = subprocess.Popen(
            [sys.executable, str(script), str(path), str(store), workers, part], stdout=subprocess.PIPE
        )
        memory = Memory(process.pid)
        began = time.perf_counter()
        answer, _ = process.communicate()
        seconds_with_start = time.perf_counter() - began
        peak = memory.stop()
        if process.returncode:
            sys.exit(process.returncode)
        seconds, cpu, learned, packages, rows = json.loads(answer)
        outside, outside_seconds = run([sys.executable, "-c", OUTSIDE, str(store / "cache.db")])
        stored = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    return {
        "what": "containment" if containment else "everything",
        "files": learned,
        "lines": lines,
        "source_bytes": size,
        "packages": packages,
        "rows": rows,
        "parse_seconds": parse_seconds,
        "parse_cpu_seconds": parse_cpu,
        "seconds": seconds,
        "seconds_with_start": seconds_with_start,
        "cpu_seconds": cpu,
        "files_per_second": files / seconds,
        "lines_per_second": lines / seconds,
        "ratio_to_parse": seconds / parse_seconds,
        "outside_files": outside,
        "outside_parse_seconds": outside_seconds,
        "ratio_to_parse_with_outside": seconds / (parse_seconds + outside_seconds),
        "cpu_ratio_to_parse": cpu / parse_cpu,
        "peak_memory_bytes": peak,
        "peak_memory_measure": memory.measure,
        "store_bytes": stored,
    }


def run(command: list[str]) -> list[float]:
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a learn of a Go repository into a fresh store.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--workers", default="", help="number of worker processes (default: as `golore learn`)")
    parser.add_argument("--containment", action="store_true", help="only containment edges, no calls or references")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.path.resolve(), options.workers, options.containment)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(
        f"{found['files']:,} files, {found['lines']:,} lines, {found['packages']:,} packages, {found['rows']:,} rows\n"
        f"bare parse, one thread   {found['parse_seconds']:8.2f} s\n"
        f"{'learn, ' + str(found['what']):25}{found['seconds']:8.2f} s, {found['cpu_seconds']:.2f} s of CPU\n"
        f"ratio to the bare parse  {found['ratio_to_parse']:8.2f}, {found['cpu_ratio_to_parse']:.2f} of CPU\n"
        f"with {found['outside_files']:,} files outside {found['ratio_to_parse_with_outside']:8.2f} "
        f"(their parse {found['outside_parse_seconds']:.2f} s)\n"
        f"files per second         {found['files_per_second']:8,.0f}\n"
        f"lines per second         {found['lines_per_second']:8,.0f}\n"
        f"peak memory              {int(found['peak_memory_bytes']) / 1e6:8,.0f} MB ({found['peak_memory_measure']})\n"
        f"store                    {int(found['store_bytes']) / 1e6:8,.0f} MB"
    )


if __name__ == "__main__":
    main()
