"""Measures `golore affected` after an edit of one function, and compares which tests two versions of golore choose.

    python benchmarks/affected_time.py time REPOSITORY [--sample N] [FUNCTION...]
    python benchmarks/affected_time.py record REPOSITORY FILE [--sample N]
    python benchmarks/affected_time.py compare REPOSITORY FILE

REPOSITORY is learned, and its working tree equals HEAD.

`time` adds a statement to each FUNCTION, given by the end of its id, such as `nodename.Fits`, and to a sample of all
functions; the file is restored afterwards. It prints wall and processor time, git's processes included: of the second
question in a process that stays, about this edit, and of the command.

`record` writes the tests that are chosen for a sample of declarations, as if each had changed. `compare`, run with
another version of golore, counts how often the choice is the same, order and distances included. Where the first
version stopped at a limit, fewer tests are expected, and none that it did not choose.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from golore.graph.changes.test_selection import select_tests
from golore.graph.database.store import Store
from golore.graph.files.store_path import store_of
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbols, symbols_where
from golore.mcp_server.services.change_effects import affected, prepare_adjacency

GOLORE = Path(sys.executable).with_name("golore")
KINDS = ["func", "method", "var", "const", "struct", "interface", "type", "field"]


class Taken(NamedTuple):
    wall: float
    processor: float


def main() -> int:
    options = parse()
    root = options.repository.resolve()
    with Store.open(store_of(root), write=False) as store:
        prepare_adjacency(store)
    with Store.open(store_of(root), write=False) as store:
        if options.what == "time":
            print_times(root, store, chosen_functions(store, options.functions, options.sample))
        elif options.what == "record":
            record(store, options.file, options.sample)
        else:
            compare(store, options.file)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    for name in ("time", "record", "compare"):
        one = what.add_parser(name)
        one.add_argument("repository", type=Path)
        if name != "time":
            one.add_argument("file", type=Path)
        if name != "compare":
            one.add_argument("--sample", type=int, default=0 if name == "time" else 200)
        if name == "time":
            one.add_argument("functions", nargs="*")
    return parser.parse_args()


def sampled(store: Store, kinds: Sequence[str], number: int) -> list[Ref]:
    found = symbols_where(store, "s.kind IN $kinds", kinds=list(kinds))
    own = [one for one in found if not one.test and "vendor/" not in one.file]
    return random.Random(11).sample(own, min(number, len(own)))


def chosen_functions(store: Store, names: Sequence[str], sample: int) -> list[Ref]:
    found = [
        min(symbols_where(store, "s.id ENDS WITH $ending AND s.kind IN ['func', 'method']", ending=name), key=shortest)
        for name in names
    ]
    return found + sampled(store, ("func", "method"), sample)


def shortest(symbol: Ref) -> tuple[int, str]:
    return len(symbol.id), symbol.id


def print_times(root: Path, store: Store, functions: Sequence[Ref]) -> None:
    print(f"load {os.getloadavg()[0]:.1f}\n{'tests':>7} {'stays: wall, CPU':>18} {'command: wall, CPU':>20}")
    for function in functions:
        with edited(root, function):
            answer = affected(root, store)
            stays = taken(lambda: affected(root, store))
            command = taken(lambda: subprocess.run([GOLORE, "affected"], cwd=root, capture_output=True, check=True))
        number = f"{len(answer.tests.tests)}{'' if answer.tests.is_exact and answer.tests.is_complete else '+'}"
        print(
            f"{number:>7} {stays.wall:10.2f} {stays.processor:7.2f} {command.wall:12.2f} {command.processor:7.2f}"
            f"  {function.id}",
            flush=True,
        )


@contextmanager
def edited(root: Path, function: Ref) -> Generator[None]:
    file = root / function.file
    before = file.read_bytes()
    lines = before.split(b"\n")
    opening = next((at for at in range(function.line - 1, len(lines)) if lines[at].rstrip().endswith(b"{")), None)
    if opening is None:
        sys.exit(f"{function.id} has no body of several lines.")
    lines.insert(opening + 1, b"\t_ = 1")
    try:
        file.write_bytes(b"\n".join(lines))
        yield
    finally:
        file.write_bytes(before)


def taken(work: Callable[[], object]) -> Taken:
    started, before = time.perf_counter(), processor_time()
    work()
    return Taken(time.perf_counter() - started, processor_time() - before)


def processor_time() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usages)


def record(store: Store, file: Path, sample: int) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for one in sampled(store, KINDS, sample):
            tests, is_whole, seconds = chosen(store, one)
            lines.write(json.dumps([one.id, tests, is_whole, seconds]) + "\n")


def chosen(store: Store, symbol: Ref) -> tuple[list[list[object]], bool, float]:
    started = time.process_time()
    found = select_tests(store, [symbol])
    tests: list[list[object]] = [[test.symbol.id, test.distance] for test in found.tests]
    return tests, found.is_exact and found.is_complete, time.process_time() - started


def compare(store: Store, file: Path) -> None:
    same = other = fewer = more = 0
    before = after = 0.0
    for line in file.read_text(encoding="utf-8").splitlines():
        id, old, was_whole, seconds = json.loads(line)
        new, _, taken_now = chosen(store, symbols(store, [id])[0])
        before, after = before + seconds, after + taken_now
        if old == new:
            same += 1
        elif not was_whole and {test for test, _ in new} <= {test for test, _ in old}:
            fewer += 1
        elif not was_whole:
            more += 1
            print(f"limit reached before, and now another choice: {id}")
        else:
            other += 1
            print(f"another choice: {id}")
    print(f"same {same}, another choice {other}; limit reached before: fewer tests {fewer}, other tests {more}")
    print(f"processor time of the choice: {before:.1f} s before, {after:.1f} s now")


if __name__ == "__main__":
    sys.exit(main())
