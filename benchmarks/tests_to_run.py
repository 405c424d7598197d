"""Judges the tests that `golore affected` chooses by coverage: does it choose every test that runs a function?

    python benchmarks/tests_to_run.py --go GO [--truth DIR] [--misses N] [--floor] REPOSITORY... [--std PACKAGE...]

Runs each test, example and fuzz target of each REPOSITORY alone, with coverage of the whole repository, and takes the
functions that ran as truth. A REPOSITORY must build without a network. `--std` names directories below GOROOT/src, such
as encoding/json, which are copied out to be learned and are run where they are. `--truth` keeps what was run.

Prints, for each repository: the share of covered pairs of test and function that golore has (recall), how many pairs it
has for each covered one (ratio), and how long that took. `--floor` adds the ratio of a choice that knows what each test
ran, and adds what that code calls, directly or not, or names as functions: who follows all calls has no lower one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from golore.graph.changes.program import Program
from golore.graph.changes.test_selection import select_tests
from golore.graph.database.store import Store
from golore.graph.queries.adjacency_builder import make_adjacency
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbol_columns, symbol_from, symbols_where
from golore.graph.queries.symbol_steps import open_steps
from golore.learner.learn import learn

BLOCK = re.compile(r"(.*):(\d+)\.\d+,(\d+)\.\d+ \d+ [1-9]\d*")
SECONDS = 120
HOST = "judged.example"


class Judged(NamedTuple):
    """A repository to judge: its files, where Go runs its tests, and the pattern that names its packages."""

    name: str
    root: Path
    runs_in: Path
    pattern: str


Blocks = frozenset[tuple[str, int, int]]
"""Covered code: file, first and last line."""
Truth = dict[tuple[str, str], Blocks]
"""What each test ran, by the directory of its package and its name."""


def main() -> int:
    options = parse()
    environment = go_environment(options.go)
    with tempfile.TemporaryDirectory(prefix="golore-judge-") as scratch:
        for judged in repositories(options, environment, Path(scratch)):
            truth = read_truth(judged, environment, options.truth)
            judge(judged, truth, options.misses, has_floor=options.floor)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--go", default="go", help="the Go program")
    parser.add_argument("--truth", type=Path, help="directory for what was run; it is not run again")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="print N functions that were missed most")
    parser.add_argument("--floor", action="store_true", help="print the ratio of what ran and all that it calls")
    parser.add_argument("--std", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("repositories", nargs="*", type=Path)
    return parser.parse_args()


def go_environment(go: str) -> dict[str, str]:
    environment = {**os.environ, "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    program = shutil.which(go)
    if program is None:
        sys.exit(f"There is no program {go}.")
    return {**environment, "GO": str(Path(program).absolute())}


def repositories(options: argparse.Namespace, environment: dict[str, str], scratch: Path) -> Iterator[Judged]:
    for root in options.repositories:
        yield Judged(root.resolve().name, root.resolve(), root.resolve(), "./...")
    source = Path(run([environment["GO"], "env", "GOROOT"], environment, Path.cwd()).strip()) / "src"
    for package in options.std:
        yield Judged(package, copied(source, package, scratch), source / package, f"{package}/...")


def copied(source: Path, package: str, scratch: Path) -> Path:
    """A copy of a standard package as a module of its own. Lines stay the same; its own import paths get a host."""
    copy = scratch / package.replace("/", "-")
    shutil.copytree(source / package, copy)
    for file in filter(Path.is_file, copy.rglob("*.go")):
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        file.write_text(text.replace(f'"{package}', f'"{HOST}/{package}'), encoding="utf-8", errors="surrogateescape")
    (copy / "go.mod").write_text(f"module {HOST}/{package}\n\ngo 1.24\n")
    return copy


def run(command: list[str], environment: dict[str, str], directory: Path) -> str:
    done = subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, timeout=1_800, check=False
    )
    if done.returncode:
        print(f"{' '.join(command)}: {done.stderr.strip()[-400:]}", file=sys.stderr)
    return done.stdout


def read_truth(judged: Judged, environment: dict[str, str], kept: Path | None) -> Truth:
    file = kept / f"{judged.name.replace('/', '-')}.json" if kept else None
    if file is not None and file.exists():
        rows = json.loads(file.read_text())
        return {
            (directory, test): frozenset((one[0], one[1], one[2]) for one in blocks) for directory, test, blocks in rows
        }
    found = {
        (directory, test): blocks
        for directory, import_path in packages(judged, environment)
        for test, blocks in covered(judged, environment, directory, import_path)
    }
    if file is not None:
        file.write_text(json.dumps([[*test, sorted(blocks)] for test, blocks in found.items()]))
    return found


def packages(judged: Judged, environment: dict[str, str]) -> list[tuple[str, str]]:
    """The directories of the packages with tests, relative to the root, and their import paths."""
    form = "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}\t{{.ImportPath}}{{end}}"
    lines = run([environment["GO"], "list", "-f", form, judged.pattern], environment, judged.runs_in).splitlines()
    found = [line.split("\t") for line in lines if line]
    return [(os.path.relpath(directory, judged.runs_in), path) for directory, path in found]


def covered(
    judged: Judged, environment: dict[str, str], directory: str, import_path: str
) -> Iterator[tuple[str, Blocks]]:
    where = judged.runs_in / directory
    with tempfile.TemporaryDirectory(prefix="golore-coverage-") as scratch:
        program, profile = f"{scratch}/tests", Path(scratch) / "profile"
        cover = f"-coverpkg={judged.pattern}"
        run(
            [environment["GO"], "test", "-c", "-vet=off", cover, "-o", program, import_path],
            environment,
            judged.runs_in,
        )
        if not Path(program).exists():
            return
        tests = run([program, "-test.list", "."], environment, where).split()
        for test in tests:
            if test.startswith("Benchmark"):
                continue
            profile.unlink(missing_ok=True)
            command = [program, "-test.run", f"^{test}$", "-test.coverprofile", str(profile), "-test.short"]
            try:
                done = subprocess.run(
                    command, env=environment, cwd=where, capture_output=True, timeout=SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0 and profile.exists():
                yield test, blocks_in(profile.read_text(), judged)


def blocks_in(profile: str, judged: Judged) -> Blocks:
    prefix = module_of(judged)
    found = [match for line in profile.splitlines() if (match := BLOCK.fullmatch(line))]
    return frozenset((match[1].removeprefix(f"{prefix}/"), int(match[2]), int(match[3])) for match in found)


def module_of(judged: Judged) -> str:
    if judged.pattern != "./...":
        return judged.pattern.removesuffix("/...")
    words = (judged.root / "go.mod").read_text().split()
    return words[words.index("module") + 1]


def judge(judged: Judged, truth: Truth, misses: int, *, has_floor: bool) -> None:
    store_directory = judged.root / ".golore"
    learn(judged.root, store_directory)
    make_adjacency(store_directory)
    with Store.open(store_directory, write=False) as store:
        covered = tests_by_function(store, truth)
        begin, hits, chosen, longest = time.perf_counter(), 0, 0, 0.0
        missed: Counter[str] = Counter()
        for function, by in covered.items():
            start = time.perf_counter()
            found = {(folder(test.symbol.file), test.symbol.name) for test in select_tests(store, [function]).tests}
            longest = max(longest, time.perf_counter() - start)
            found &= truth.keys()
            hits += len(found & by)
            chosen += len(found)
            missed[function.id] += len(by - found)
        pairs = sum(map(len, covered.values()))
        seconds = time.perf_counter() - begin
        floor = f", floor {1 + beyond(store, covered) / pairs:.2f}" if has_floor else ""
    print(
        f"{judged.name}: {len(truth)} tests, {len(covered)} functions, {pairs} pairs; recall {hits / pairs:.4f}, "
        f"ratio {chosen / pairs:.2f}{floor}; {1000 * seconds / len(covered):.1f} ms a function, "
        f"longest {1000 * longest:.0f}",
        flush=True,
    )
    for id, number in missed.most_common(misses):
        if number:
            print(f"    missed {number}: {id}")


def tests_by_function(store: Store, truth: Truth) -> dict[Ref, set[tuple[str, str]]]:
    """The tests that run each function that was compiled with coverage."""
    files = {file for blocks in truth.values() for file, _, _ in blocks}
    statement = f"MATCH (s:Symbol) WHERE s.kind IN ['func', 'method'] RETURN {symbol_columns('s')}, s.end_line"
    functions: defaultdict[str, list[tuple[int, int, Ref]]] = defaultdict(list)
    for row in store.rows(statement):
        symbol = symbol_from(row)
        if symbol.file in files:
            functions[symbol.file].append((symbol.line, row[-1], symbol))
    found: dict[Ref, set[tuple[str, str]]] = {symbol: set() for rows in functions.values() for _, _, symbol in rows}
    for test, blocks in truth.items():
        for file, first, last in blocks:
            for line, end_line, symbol in functions[file]:
                if line <= first and last <= end_line:
                    found[symbol].add(test)
    return found


def beyond(store: Store, covered: dict[Ref, set[tuple[str, str]]]) -> int:
    """How many pairs follow from those that were covered, by calls and functions used as values, directly or not."""
    steps = open_steps(store)
    program = Program(store, steps)
    named: dict[int, list[int]] = {}
    for number in map(steps.number, symbols_where(store, "s.kind IN ['func', 'method']")):
        part = program.part(number)
        named[number] = [*part.runs, *(one for one in part.holds if steps.kind(one) in ("func", "method"))]
    judged = {steps.number(function) for function in covered}
    ran: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for function, tests in covered.items():
        for test in tests:
            ran[test].add(steps.number(function))
    return sum(len((reached(named, functions) - functions) & judged) for functions in ran.values())


def reached(named: dict[int, list[int]], starts: set[int]) -> set[int]:
    found, pending = set(starts), list(starts)
    while pending:
        new = [one for one in named.get(pending.pop(), ()) if one not in found]
        found.update(new)
        pending += new
    return found


def folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


if __name__ == "__main__":
    raise SystemExit(main())
