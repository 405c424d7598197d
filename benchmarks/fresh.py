"""How long it takes until the graph follows an edit: by a learner that stays, by a watch, and by the command.

    python benchmarks/fresh.py PATH [SMALLER] [--edits N] [--commands N] [--room DIRECTORY] [--json]

The repository is copied to a scratch directory and learned there. Then a statement is put into a function of a file
chosen at random, N times, which moves all that follows it by a line. *Warm* is the time from then on until the learner
that stays has committed the graph; *watch* is the time from the write until `golore watch` tells of the update, with
its wait for the end of a burst and all that follows the graph; *card* is the time from the same write until the card of
the edited file is of its new contents (for tests, whose cards take a look at the graph, apart); *command* is a whole
`golore learn`. With a second, smaller repository the same is measured there, and how much the times grow with the size.
CPU seconds are told besides, as other work on the machine does not change them. With --room, copies and stores that are
already there are used again.
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
from golore.learner.checkout.discovery import digest, discover
from golore.learner.pipeline.incremental import IncrementalLearner

SEED = 4
KINDS = ("warm", "watch", "card", "card of test", "command")
GOLORE = Path(sys.executable).with_name("golore")
USUAL = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Without byte code, which an installed program has, a command takes a third of a second longer."""
_FUNCTION = re.compile(rb"^func [^\n]*\{\n", re.MULTILINE)


class Timing(NamedTuple):
    wall: float
    cpu: float


def edits(root: Path, count: int, seed: int = SEED) -> Iterator[Path]:
    """Edit bodies of so many files, one after the other, each when it is asked for."""
    chosen = random.Random(seed)
    paths = [root / file.path for file in discover(root).files]
    done = 0
    while done < count:
        path = chosen.choice(paths)
        text = path.read_bytes()
        begins = [match.end() for match in _FUNCTION.finditer(text)]
        if begins and b"DO NOT EDIT" not in text:
            at = chosen.choice(begins)
            path.write_bytes(text[:at] + b"\tprintln(%d)\n" % chosen.randrange(1000) + text[at:])
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
        done["not_warm"] += not update.is_warm
        for name in ("files_resolved", "edges_written", "rows_written"):
            done[name] += getattr(update.report, name)
    return times, done


class Watched(NamedTuple):
    updated: list[Timing]
    cards: list[Timing]
    cards_of_tests: list[Timing]


def watch_times(root: Path, count: int) -> Watched:
    """CPU is not told here: it is the other process's."""
    process = subprocess.Popen([GOLORE, "watch", root, "--json"], stdout=subprocess.PIPE, text=True)
    watched = Watched([], [], [])
    try:
        _await(process, "watching")
        _await_quiet(root, process)
        with create_card_store(root / ".golore") as card_store:
            for path in edits(root, count, SEED + 1):
                began = time.perf_counter()
                name, wanted = str(path.relative_to(root)), digest(path.read_bytes())
                had = card_store.card(name) is not None
                while had and (card := card_store.card(name)) is not None and card.digest != wanted:
                    time.sleep(0.001)
                fresh = Timing(time.perf_counter() - began, 0.0)
                if had:
                    (watched.cards_of_tests if name.endswith("_test.go") else watched.cards).append(fresh)
                _await(process, "updated")
                watched.updated.append(Timing(time.perf_counter() - began, 0.0))
    finally:
        process.terminate()
        process.wait()
    return watched


def _await(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        told: dict[str, Any] = json.loads(line)
        if told["event"] == event:
            return told
    sys.exit("the watch has ended")


def _await_quiet(root: Path, process: subprocess.Popen[str]) -> None:
    """The first learn tells of nothing if nothing has changed, so it is given something to tell of."""
    for _ in edits(root, 1, SEED + 2):
        _await(process, "updated")


def command_times(root: Path, count: int) -> list[Timing]:
    times: list[Timing] = []
    for _ in edits(root, count, SEED + 3):
        before = os.times()
        began = time.perf_counter()
        subprocess.run([GOLORE, "learn", root], check=True, capture_output=True, env=USUAL)
        wall, after = time.perf_counter() - began, os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        times.append(Timing(wall, spent))
    return times


def prepared(source: Path, room: Path) -> Path:
    root = room / source.name
    if not root.exists():
        shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".golore"))
    subprocess.run([GOLORE, "learn", root], check=True, stdout=subprocess.DEVNULL)
    return root


def measure(source: Path, room: Path, edited: int, commands: int) -> dict[str, Any]:
    root = prepared(source, room)
    found = discover(root)
    lines = sum((root / file.path).read_bytes().count(b"\n") for file in found.files)
    warm, done = warm_times(root, edited)
    watched = watch_times(root, edited)
    return {
        "path": str(source),
        "files": len(found.files),
        "lines": lines,
        "warm": told(warm),
        "work": done,
        "watch": told(watched.updated),
        "card": told(watched.cards),
        "card of test": told(watched.cards_of_tests),
        "command": told(command_times(root, commands)),
    }


def told(times: list[Timing]) -> dict[str, float]:
    """Milliseconds."""
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
                    print(f"{name} {key}: {large / small:.2f} times that of the smaller one")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time from an edit to the graph.")
    parser.add_argument("path", type=Path)
    parser.add_argument("smaller", type=Path, nargs="?")
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--commands", type=int, default=5)
    parser.add_argument("--room", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golore-fresh-") as scratch:
        room: Path = given.room or Path(scratch)
        sources = [path.resolve() for path in (given.path, given.smaller) if path]
        results = [measure(source, room, given.edits, given.commands) for source in sources]
    if given.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)


if __name__ == "__main__":
    main()
