"""Measures the whole `golore learn`: its time, its parts and its memory, beside parsing the same files alone.

    python benchmarks/learn.py PATH [--workers N] [--cores N] [--json]

First the files of the repository are parsed by tree-sitter in one thread of a separate process, and the trees are
dropped. Then the command learns the repository into a fresh store, and once more with nothing changed. The ratio is
that of the first learn, from the start of the process to its end, to the parse. If the learn has read code outside the
repository, such as vendored packages, that is parsed too, and a second ratio includes it.

CPU time and peak memory are those of the command with all its processes; memory is the sum of their PSS, which counts
shared pages once, or of their RSS if the kernel does not report PSS. It is that of another learn into a fresh store,
because the kernel has to count the pages all the time, which makes a learn 7 % slower. On a machine that others use,
compare the ratios of CPU time: times depend on the machine and the moment. *Serial* is the share of the time outside
the stages that worker processes share.

With `--cores N`, one more learn runs on one core, and the serial fraction is computed from both times by Amdahl's law
(Karp and Flatt's metric): T(N) = T(1) (s + (1 - s) / N). N is the number of cores that the first learn may use.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

PARALLEL = ("Reading", "Resolving")
"""The stages that worker processes share."""
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


class Memory:
    """Samples the memory of a process and its descendants until it is stopped."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self.measure = "PSS" if Path("/proc/self/smaps_rollup").exists() else "RSS"
        self._pid = pid
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        self._done.set()
        self._watcher.join()

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


class Run(NamedTuple):
    """One run of a command: what it printed, and its wall and CPU seconds."""

    output: str
    seconds: float
    cpu: float


def start_golore(*arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [Path(sys.executable).with_name("golore"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def run_golore(*arguments: str, environment: dict[str, str]) -> Run:
    began = time.perf_counter()
    process = start_golore(*arguments, environment=environment)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        sys.exit(f"golore {' '.join(arguments)} failed.")
    return Run(output, seconds, used.ru_utime + used.ru_stime)


def peak_memory(*arguments: str, environment: dict[str, str]) -> Memory:
    process = start_golore(*arguments, environment=environment)
    memory = Memory(process.pid)
    process.communicate()
    memory.stop()
    return memory


def serial_fraction(one_core: float, seconds: float, cores: int) -> float:
    """The share of the work that only one core can do, if learning takes this long on one core and on all."""
    return (seconds / one_core - 1 / cores) / (1 - 1 / cores)


def measure(path: Path, workers: str, cores: int) -> tuple[dict[str, object], dict[str, float]]:
    """The figures, and the seconds of each part of the learn."""
    files, lines, size, parse_seconds, parse_cpu = run([sys.executable, "-c", PARSE, str(path)])
    with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as directory:
        environment = {**os.environ, "GOLORE_HOME": directory}
        # Without it, Python compiles all modules again in every process.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        run_golore("learn", "--help", environment=environment)
        options = ["--workers", workers] if workers else []
        first = run_golore("learn", str(path), "--json", *options, environment=environment)
        report = json.loads(first.output)
        again = run_golore("learn", str(path), "--json", *options, environment=environment)
        store = Path(report["store"])
        outside, outside_seconds = run([sys.executable, "-c", OUTSIDE, str(store / "cache.db")])
        stored = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as other:
            elsewhere = {**environment, "GOLORE_HOME": other}
            memory = peak_memory("learn", str(path), "--json", *options, environment=elsewhere)
        one_core = 0.0
        if cores > 1:
            with tempfile.TemporaryDirectory(prefix="golore-benchmark-") as other:
                alone = {**environment, "GOLORE_HOME": other}
                allowed = os.sched_getaffinity(0)
                os.sched_setaffinity(0, {min(allowed)})
                one_core = run_golore("learn", str(path), "--json", *options, environment=alone).seconds
                os.sched_setaffinity(0, allowed)
    parts: dict[str, float] = {
        "Start": first.seconds - sum(seconds for _, seconds in report["parts"]),
        **dict(report["parts"]),
    }
    figures: dict[str, object] = {
        "files": report["files"],
        "lines": lines,
        "source_bytes": size,
        "packages": report["packages"],
        "rows": report["rows_written"],
        "parse_seconds": parse_seconds,
        "parse_cpu_seconds": parse_cpu,
        "seconds": first.seconds,
        "cpu_seconds": first.cpu,
        "serial": 1 - sum(parts.get(name, 0.0) for name in PARALLEL) / first.seconds,
        "files_per_second": files / first.seconds,
        "lines_per_second": lines / first.seconds,
        "ratio_to_parse": first.seconds / parse_seconds,
        "outside_files": outside,
        "outside_parse_seconds": outside_seconds,
        "ratio_to_parse_with_outside": first.seconds / (parse_seconds + outside_seconds),
        "cpu_ratio_to_parse": first.cpu / parse_cpu,
        "again_seconds": again.seconds,
        "again_cpu_seconds": again.cpu,
        "peak_memory_bytes": memory.peak,
        "peak_memory_measure": memory.measure,
        "store_bytes": stored,
    }
    if one_core:
        figures["one_core_seconds"] = one_core
        figures["serial_fraction"] = serial_fraction(one_core, first.seconds, cores)
    return figures, parts


def run(command: list[str]) -> list[float]:
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure `golore learn` of a Go repository into a fresh store.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--workers", default="", help="number of worker processes (default: as `golore learn`)")
    parser.add_argument("--cores", type=int, default=0, help="compute the serial fraction, for so many cores")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found, parts = measure(options.path.resolve(), options.workers, options.cores)
    if options.json:
        print(json.dumps({**found, "parts": parts}, indent=2))
        return
    print(
        "{files:,} files, {lines:,} lines, {packages:,} packages, {rows:,} rows\n"
        "bare parse, one thread   {parse_seconds:8.2f} s, {parse_cpu_seconds:.2f} s of CPU\n"
        "golore learn             {seconds:8.2f} s, {cpu_seconds:.2f} s of CPU\n"
        "ratio to the bare parse  {ratio_to_parse:8.2f}, {cpu_ratio_to_parse:.2f} of CPU\n"
        "with {outside_files:,} files outside {ratio_to_parse_with_outside:8.2f} "
        "(their parse {outside_parse_seconds:.2f} s)\n"
        "serial                   {serial:8.0%}\n"
        "again, nothing changed   {again_seconds:8.2f} s, {again_cpu_seconds:.2f} s of CPU".format_map(found)
    )
    for name, seconds in parts.items():
        print(f"  {name:23}{seconds:8.2f} s")
    if "serial_fraction" in found:
        print(
            "on one core              {one_core_seconds:8.2f} s, serial fraction {serial_fraction:.0%}".format_map(
                found
            )
        )
    print(
        "lines per second         {lines_per_second:8,.0f}".format_map(found),
        f"peak memory              {int(str(found['peak_memory_bytes'])) / 1e6:8,.0f} MB",
        f"store                    {int(str(found['store_bytes'])) / 1e6:8,.0f} MB",
        sep="\n",
    )


if __name__ == "__main__":
    main()
