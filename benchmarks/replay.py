"""Checks that learning along a real history gives the same graph as a fresh learn, and measures each commit.

    python benchmarks/replay.py REPOSITORY [--commits 300] [--every 20] [--until REVISION] [--stay] [--json]

REPOSITORY is anything that `git clone` accepts. Consecutive commits (first parents, oldest first) are checked out in a
scratch clone and learned into one store. At every 20th commit (`--every`), and at the last, the same tree is learned
into an empty store by another process, and both exports are compared byte by byte. Also counted: commits whose learn
wrote rows although the freshness check had seen no change. If any export differs, the first differing lines are printed
and the exit code is 1. Each learn is what `golore learn` does; with `--stay`, what `golore watch` does, which is given
the changed files. Seconds are those of the learn alone, without starting Python and without git.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.checkout.freshness import changes_since
from golore.learner.pipeline.graph_step import Report
from golore.learner.pipeline.incremental import IncrementalLearner

SHOWN = 20
LEARNED = ("*.go", "go.mod", "go.work", "*/go.mod", "*.gitignore", "*.gitmodules", "*modules.txt")
"""The files of a tree that a learn depends on, as git patterns."""
COUNTERS = (
    "files_read",
    "files_parsed",
    "outside_parsed",
    "files_resolved",
    "packages_resolved",
    "edges_written",
    "rows_written",
)
FRESH = """
import sys
from pathlib import Path
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.graph.database.store import Store
from golore.learner.pipeline.graph_step import learn_graph
if __name__ == "__main__":
    root, store, output = map(Path, sys.argv[1:])
    learn_graph(root, store_directory=store)
    with Store.open(store, write=False) as opened, output.open("w", encoding="utf-8") as file:
        export_jsonl(opened, file)
"""


class Step(NamedTuple):
    """One learned commit."""

    commit: str
    changed: int
    """The number of changed files that the freshness check reported before the learn."""
    report: Report


class Replay:
    """A clone that is moved along its history, and the store that follows it."""

    def __init__(self, source: str, directory: Path, stays: bool) -> None:
        self.directory = directory
        self.root = directory / "clone"
        self.store = directory / "kept"
        self._git(None, "clone", "-q", "--shared", "--no-checkout", source, str(self.root))
        self._learner = IncrementalLearner(self.root, self.store) if stays else None
        self._last = ""

    def commits(self, count: int, until: str) -> list[str]:
        """The last `count` commits up to a revision, oldest first, and one before them to start from."""
        output = self._git(self.root, "rev-list", "--first-parent", f"--max-count={count + 1}", until)
        return output.split()[::-1]

    def step(self, commit: str) -> Step:
        self._check_out(commit)
        changed = self._changed() if self.store.exists() else 0
        last, self._last = self._last, commit
        return Step(commit, changed, self._learn(last, commit))

    def _check_out(self, commit: str) -> None:
        # This may fail for a large file that a mirror lacks; only the files that are learned must be present.
        self._git(self.root, "checkout", "-q", "--force", "--detach", commit, may_fail=True)
        self._git(self.root, "clean", "-q", "-ffdx")
        missing = self._git(self.root, "diff", "--name-only", commit, "--", *LEARNED)
        if missing or self._git(self.root, "rev-parse", "HEAD").strip() != commit:
            raise SystemExit(f"{commit} could not be checked out: {missing}")

    def _learn(self, last: str, commit: str) -> Report:
        if self._learner is None:
            return IncrementalLearner(self.root, self.store).resume().report
        changed = (
            self._git(self.root, "diff", "--name-only", "--no-renames", last, commit, "--", *LEARNED) if last else ""
        )
        paths = changed.splitlines()
        is_incremental = last and all(path.endswith(".go") for path in paths)
        return (self._learner.update(paths) if is_incremental else self._learner.learn()).report

    def difference(self) -> list[str]:
        """The first lines that only one of the exports of the kept and a fresh store has; none if they are equal."""
        kept, fresh, script = self.directory / "kept.jsonl", self.directory / "fresh.jsonl", self.directory / "fresh.py"
        with Store.open(self.store, write=False) as store, kept.open("w", encoding="utf-8") as file:
            export_jsonl(store, file)
        # A file, because worker processes import the main module again.
        script.write_text(FRESH)
        with tempfile.TemporaryDirectory(dir=self.directory) as empty:
            subprocess.run([sys.executable, script, self.root, Path(empty, "store"), fresh], check=True)
        kept_bytes, fresh_bytes = kept.read_bytes(), fresh.read_bytes()
        return [] if kept_bytes == fresh_bytes else list(itertools.islice(_differences(kept_bytes, fresh_bytes), SHOWN))

    def _changed(self) -> int:
        with Store.open(self.store, write=False) as store:
            changes = changes_since(self.root, store)
        return len(changes) if changes is not None else 0

    def _git(self, directory: Path | None, *words: str, may_fail: bool = False) -> str:
        location = ["-C", str(directory)] if directory else []
        return subprocess.run(["git", *location, *words], check=not may_fail, capture_output=True, text=True).stdout


def _differences(kept: bytes, fresh: bytes) -> Iterator[str]:
    kept_lines, fresh_lines = set(kept.splitlines()), set(fresh.splitlines())
    yield from (f"only kept:  {line.decode()}" for line in sorted(kept_lines - fresh_lines))
    yield from (f"only fresh: {line.decode()}" for line in sorted(fresh_lines - kept_lines))
    yield "(same lines, but in another order or number)" if kept_lines == fresh_lines else "(end)"


def replay(
    source: str, count: int, every: int, until: str, stays: bool
) -> tuple[list[Step], dict[str, list[str]], list[str]]:
    """The steps, the differing lines by commit, and the commits at which the exports were compared."""
    with tempfile.TemporaryDirectory(prefix="golore-replay-") as directory:
        history = Replay(source, Path(directory), stays)
        commits = history.commits(count, until)
        started = time.monotonic()
        history.step(commits[0])
        _print_status(f"first learn {time.monotonic() - started:.1f} s, {len(commits) - 1} commits follow")
        steps: list[Step] = []
        differences: dict[str, list[str]] = {}
        compared: list[str] = []
        for number, commit in enumerate(commits[1:], 1):
            steps.append(history.step(commit))
            if number % every == 0 or number == len(commits) - 1:
                compared.append(commit)
                if found := history.difference():
                    differences[commit] = found
                _print_status(f"{number:4} {commit[:12]} {'DIFFERENT' if found else 'identical'}")
        return steps, differences, compared


def _print_status(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def figures(steps: list[Step]) -> dict[str, dict[str, float]]:
    """Median, 95th percentile and largest of the seconds and of each counter."""
    columns: dict[str, list[float]] = {"seconds": [step.report.seconds for step in steps]}
    for name in COUNTERS:
        if hasattr(steps[0].report, name):
            columns[name] = [getattr(step.report, name) for step in steps]
    return {
        name: {"median": statistics.median(values), "p95": _p95(values), "worst": max(values)}
        for name, values in columns.items()
    }


def _p95(values: list[float]) -> float:
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Learn along a git history and compare with fresh learns.")
    parser.add_argument("repository")
    parser.add_argument("--commits", type=int, default=300, help="number of commits (300)")
    parser.add_argument("--every", type=int, default=20, help="compare at every N-th commit, and at the last (20)")
    parser.add_argument("--until", default="HEAD", metavar="REVISION", help="the last commit to learn")
    parser.add_argument("--stay", action="store_true", help="learn as `golore watch` does, from the changed files")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    steps, differences, compared = replay(
        options.repository, options.commits, options.every, options.until, options.stay
    )
    unseen = [step.commit for step in steps if step.report.rows_written and not step.changed]
    costs = figures(steps)
    idle = sum(1 for step in steps if not step.report.rows_written)
    if options.json:
        found = {"commits": len(steps), "without_change": idle, "costs": costs, "compared": compared}
        print(json.dumps({**found, "differences": differences, "unseen": unseen}, indent=2))
    else:
        print(f"{len(steps)} commits, {idle} of them without a change of the graph")
        for name, cost in costs.items():
            digits = 3 if name == "seconds" else 0
            values = ", ".join(f"{key} {value:,.{digits}f}" for key, value in cost.items())
            print(f"{name:18}{values}")
        print(f"commits with changes that the freshness check missed: {len(unseen)} {' '.join(unseen[:SHOWN])}")
        print(f"compared at {len(compared)} commits: " + (f"{len(differences)} differ" if differences else "identical"))
    for commit, lines in itertools.islice(differences.items(), 1):
        print("\n".join((f"first difference at {commit}:", *lines)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
