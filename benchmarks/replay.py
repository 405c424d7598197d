"""Whether re-learning along a real history ends in the same graph as learning anew, and what each commit costs.

    python benchmarks/replay.py REPOSITORY [--commits 300] [--every 20] [--until REVISION] [--stay] [--json]

REPOSITORY is anything `git clone` takes. Consecutive commits (first parents, oldest first) are checked out in a scratch
clone and learned into one store; at every so many of them, and at the last, the same tree is learned into an empty
store by a process of its own, and the exports of both are compared byte by byte. Also counted: commits whose learn
wrote rows although the freshness of answers had seen no change. The exit code is 1 if any export differed, with the
first lines that do. Each learn is what `golore learn` does; with `--stay` what a watch does, which is told of the
changed files. Seconds are of the learn alone, without starting Python and without git.
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
"""What of a tree matters to a learn, as git's patterns."""
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
    """One commit learned."""

    commit: str
    changed: int
    """How many files the freshness check named before the learn."""
    report: Report


class Replay:
    """A clone that walks along its history, and the store that follows it."""

    def __init__(self, source: str, room: Path, stays: bool) -> None:
        self.room = room
        self.root = room / "clone"
        self.store = room / "kept"
        self._git(None, "clone", "-q", "--shared", "--no-checkout", source, str(self.root))
        self._learner = IncrementalLearner(self.root, self.store) if stays else None
        self._last = ""

    def commits(self, count: int, until: str) -> list[str]:
        """The last commits before a revision, the oldest first, and one more to begin with."""
        listed = self._git(self.root, "rev-list", "--first-parent", f"--max-count={count + 1}", until)
        return listed.split()[::-1]

    def step(self, commit: str) -> Step:
        self._check_out(commit)
        changed = self._changed() if self.store.exists() else 0
        last, self._last = self._last, commit
        return Step(commit, changed, self._learned(last, commit))

    def _check_out(self, commit: str) -> None:
        # It may fail for a large file that a mirror lacks; what is learned must be there.
        self._git(self.root, "checkout", "-q", "--force", "--detach", commit, may_fail=True)
        self._git(self.root, "clean", "-q", "-ffdx")
        missing = self._git(self.root, "diff", "--name-only", commit, "--", *LEARNED)
        if missing or self._git(self.root, "rev-parse", "HEAD").strip() != commit:
            raise SystemExit(f"{commit} could not be checked out: {missing}")

    def _learned(self, last: str, commit: str) -> Report:
        if self._learner is None:
            return IncrementalLearner(self.root, self.store).resume().report
        changed = (
            self._git(self.root, "diff", "--name-only", "--no-renames", last, commit, "--", *LEARNED) if last else ""
        )
        paths = changed.splitlines()
        is_told = last and all(path.endswith(".go") for path in paths)
        return (self._learner.update(paths) if is_told else self._learner.learn()).report

    def difference(self) -> list[str]:
        """The first lines that only one of the kept graph and a fresh one has."""
        kept, fresh, script = self.room / "kept.jsonl", self.room / "fresh.jsonl", self.room / "fresh.py"
        with Store.open(self.store, write=False) as store, kept.open("w", encoding="utf-8") as file:
            export_jsonl(store, file)
        # A file, because worker processes import the main module again.
        script.write_text(FRESH)
        with tempfile.TemporaryDirectory(dir=self.room) as empty:
            subprocess.run([sys.executable, script, self.root, Path(empty, "store"), fresh], check=True)
        ours, theirs = kept.read_bytes(), fresh.read_bytes()
        return [] if ours == theirs else list(itertools.islice(_unequal(ours, theirs), SHOWN))

    def _changed(self) -> int:
        with Store.open(self.store, write=False) as store:
            changes = changes_since(self.root, store)
        return len(changes) if changes is not None else 0

    def _git(self, directory: Path | None, *words: str, may_fail: bool = False) -> str:
        place = ["-C", str(directory)] if directory else []
        return subprocess.run(["git", *place, *words], check=not may_fail, capture_output=True, text=True).stdout


def _unequal(kept: bytes, fresh: bytes) -> Iterator[str]:
    ours, theirs = set(kept.splitlines()), set(fresh.splitlines())
    yield from (f"only kept:  {line.decode()}" for line in sorted(ours - theirs))
    yield from (f"only fresh: {line.decode()}" for line in sorted(theirs - ours))
    yield "(the lines are the same, their order or number is not)" if ours == theirs else "(end)"


def replay(
    source: str, count: int, every: int, until: str, stays: bool
) -> tuple[list[Step], dict[str, list[str]], list[str]]:
    """The steps, what differed by commit, and the commits at which the stores were compared."""
    with tempfile.TemporaryDirectory(prefix="golore-replay-") as room:
        history = Replay(source, Path(room), stays)
        commits = history.commits(count, until)
        began = time.monotonic()
        history.step(commits[0])
        _tell(f"first learn {time.monotonic() - began:.1f} s, {len(commits) - 1} commits follow")
        steps: list[Step] = []
        differences: dict[str, list[str]] = {}
        compared: list[str] = []
        for number, commit in enumerate(commits[1:], 1):
            steps.append(history.step(commit))
            if number % every == 0 or number == len(commits) - 1:
                compared.append(commit)
                if found := history.difference():
                    differences[commit] = found
                _tell(f"{number:4} {commit[:12]} {'DIFFERENT' if found else 'identical'}")
        return steps, differences, compared


def _tell(text: str) -> None:
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
    parser = argparse.ArgumentParser(description="Re-learn along a git history and compare with learning anew.")
    parser.add_argument("repository")
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--every", type=int, default=20, help="compare at every so many commits, and at the last")
    parser.add_argument("--until", default="HEAD", metavar="REVISION", help="the last commit to learn")
    parser.add_argument("--stay", action="store_true", help="learn as a watch does, told of the changed files")
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
        print(f"changes that freshness had not seen: {len(unseen)} {' '.join(unseen[:SHOWN])}")
        print(f"compared at {len(compared)} commits: " + (f"{len(differences)} differ" if differences else "identical"))
    for commit, lines in itertools.islice(differences.items(), 1):
        print("\n".join((f"first difference at {commit}:", *lines)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
