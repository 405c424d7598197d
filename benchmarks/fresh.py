"""Measures how long the graph takes to follow an edit: in a running learner, in `golore watch` and by `golore learn`.

    python benchmarks/fresh.py PATH [SMALLER] [--edits N] [--commands N] [--room DIRECTORY] [--json]

The repository is copied to a scratch directory and learned there. Then a statement is inserted into a function of a
random file, N times, which moves all following lines by one. The times are:

    warm     from the edit until an incremental learner in this process has committed the graph
    watch    from the edit until `golore watch` reports the update, including its wait for the end of a burst and the
             work after the graph
    card     from the same edit until the card of the file is that of its new contents; test files, whose cards need a
             graph query, are counted separately
    command  a whole `golore learn`

With a second, smaller repository the same is measured there, and the ratio of the times is printed. CPU seconds are
printed as well, because other work on the machine does not change them. With --room, copies and stores that are already
in that directory are reused.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from golore.graph.cards.card_store import create_card_store
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.discovery import discover
from golore.learner.pipeline.incremental import IncrementalLearner

SEED = 4
KINDS = ("warm", "watch", "card", "card of test", "command")
GOLORE = Path(sys.executable).with_name("golore")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Lets Python write byte code, as an installed program has: without, a command takes a third of a second longer."""
_FUNCTION = re.compile(rb"^func [^\n]*\{\n", re.MULTILINE)


class Timing(NamedTuple):
    wall: float
    cpu: float


def edits(root: Path, count: int, seed: int = SEED) -> Iterator[Path]:
    """Edit a function body in `count` random files. Each file is edited when the iterator reaches it."""
    chance = random.Random(seed)
    paths = [root / file.path for file in discover(root).files]
    done = 0
    while done < count:
        path = chance.choice(paths)
        text = path.read_bytes()
        starts = [match.end() for match in _FUNCTION.finditer(text)]
        if starts and b"DO NOT EDIT" not in text:
            at = chance.choice(starts)
            path.write_bytes(text[:at] + b"\tprintln(%d)\n" % chance.randrange(1000) + text[at:])
            done += 1
            yield path


def warm_times(root: Path, count: int) -> tuple[list[Timing], dict[str, int]]:
    learner = IncrementalLearner(root)
    learner.learn()
    gc.collect()
    gc.freeze()
    times: list[Timing] = []
    done = {"files_resolved": 0, "edges_written": 0, "rows_written": 0, "not_warm": 0}
    for path in edits(root, count):
        wall, cpu = time.perf_counter(), time.process_time()
        update = learner.update([str(path.relative_to(root))])
        times.append(Timing(time.perf_counter() - wall, time.process_time() - cpu))
        done["not_warm"] += not update.is_incremental
        for name in ("files_resolved", "edges_written", "rows_written"):
            done[name] += getattr(update.report, name)
    return times, done


class Watched(NamedTuple):
    updated: list[Timing]
    cards: list[Timing]
    cards_of_tests: list[Timing]


def watch_times(root: Path, count: int) -> Watched:
    """CPU time is not measured: the work is done by another process."""
    process = subprocess.Popen([GOLORE, "watch", root, "--json"], stdout=subprocess.PIPE, text=True)
    watched = Watched([], [], [])
    try:
        _await(process, "watching")
        _await_first_learn(root, process)
        with create_card_store(root / ".golore") as card_store:
            for path in edits(root, count, SEED + 1):
                started = time.perf_counter()
                name, wanted = str(path.relative_to(root)), digest(path.read_bytes())
                has_card = card_store.card(name) is not None
                while has_card and (card := card_store.card(name)) is not None and card.digest != wanted:
                    time.sleep(0.001)
                fresh = Timing(time.perf_counter() - started, 0.0)
                if has_card:
                    (watched.cards_of_tests if name.endswith("_test.go") else watched.cards).append(fresh)
                _await(process, "updated")
                watched.updated.append(Timing(time.perf_counter() - started, 0.0))
    finally:
        process.terminate()
        process.wait()
    return watched


def _await(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        if message["event"] == event:
            return message
    sys.exit("the watch process has ended")


def _await_first_learn(root: Path, process: subprocess.Popen[str]) -> None:
    """Wait for the first learn. It reports nothing if nothing has changed, so a file is edited first."""
    for _ in edits(root, 1, SEED + 2):
        _await(process, "updated")


def command_times(root: Path, count: int) -> list[Timing]:
    times: list[Timing] = []
    for _ in edits(root, count, SEED + 3):
        before = os.times()
        started = time.perf_counter()
        subprocess.run([GOLORE, "learn", root], check=True, capture_output=True, env=ENVIRONMENT)
        wall, after = time.perf_counter() - started, os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        times.append(Timing(wall, spent))
    return times


def prepare(source: Path, directory: Path) -> Path:
    root = directory / source.name
    if not root.exists():
        shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".golore"))
    subprocess.run([GOLORE, "learn", root], check=True, stdout=subprocess.DEVNULL)
    return root


def measure(source: Path, directory: Path, edited: int, commands: int) -> dict[str, Any]:
    root = prepare(source, directory)
    found = discover(root)
    lines = sum((root / file.path).read_bytes().count(b"\n") for file in found.files)
    warm, done = warm_times(root, edited)
    watched = watch_times(root, edited)
    return {
        "path": str(source),
        "files": len(found.files),
        "lines": lines,
        "warm": milliseconds(warm),
        "work": done,
        "watch": milliseconds(watched.updated),
        "card": milliseconds(watched.cards),
        "card of test": milliseconds(watched.cards_of_tests),
        "command": milliseconds(command_times(root, commands)),
    }


def milliseconds(times: list[Timing]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    if not times:
        return {}
    numbers: dict[str, float] = {}
    parts: tuple[tuple[str, Callable[[Timing], float]], ...] = (("wall", lambda t: t.wall), ("cpu", lambda t: t.cpu))
    for name, part in parts:
        values = sorted(1000 * part(found) for found in times)
        numbers[f"{name}_median"] = round(statistics.median(values), 1)
        numbers[f"{name}_p95"] = round(values[min(len(values) - 1, int(0.95 * len(values)))], 1)
    return numbers


def show(results: list[dict[str, Any]]) -> None:
    for found in results:
        print(f"{found['path']}: {found['files']:,} files, {found['lines']:,} lines; work of all edits {found['work']}")
        for name in KINDS:
            print(f"  {name:12}", "  ".join(f"{key} {value:,.0f} ms" for key, value in found[name].items()))
    if len(results) == 2:
        for name in KINDS:
            for key in ("wall_median", "cpu_median"):
                large, small = (found[name].get(key, 0.0) for found in results)
                if small:
                    print(f"{name} {key}: {large / small:.2f} times that of the smaller repository")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the time from an edit to the updated graph.")
    parser.add_argument("path", type=Path)
    parser.add_argument("smaller", type=Path, nargs="?")
    parser.add_argument("--edits", type=int, default=20, help="number of edits (20)")
    parser.add_argument("--commands", type=int, default=5, help="number of runs of `golore learn` (5)")
    parser.add_argument("--room", type=Path, metavar="DIRECTORY", help="work in this directory and keep it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golore-fresh-") as scratch:
        directory: Path = options.room or Path(scratch)
        sources = [path.resolve() for path in (options.path, options.smaller) if path]
        results = [measure(source, directory, options.edits, options.commands) for source in sources]
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)


if __name__ == "__main__":
    main()
