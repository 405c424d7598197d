"""Measures whether cards name the files that are changed together: recall over a repository's newest commits.

    python benchmarks/usefulness.py REPO_GIT [--commits N] [--locate [--vectors]] [--json]

The repository (any git directory with its history) is learned as it was before its newest N commits, without merges.
For each of those commits that changed at least two Go files that existed then, each of these files is opened in turn,
and the share of the commit's other files among the first ten `related` of its card is computed. The shares are averaged
over the files of a commit, then over commits. Files below vendor directories do not count.

On the same commits, two simpler methods are measured: the other files of the directory in the order of their names, and
plain coupling, which ranks files by the number of earlier commits that changed both. Contents that a partial clone
lacks are left out.

`--locate` measures search instead: from the subject of each commit to the Go files that it changed, recall and
reciprocal rank within the first ten, against BM25 over whole files (see `locating`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from golore.graph.cards.card_builder import build_cards
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.store import Store
from golore.learner.checkout.git_log import read_history
from golore.learner.pipeline.graph_step import learn_graph
from locating import clone_at, locate, tasks_of

FIRST = 10
Suggest = Callable[[str], Sequence[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the related files of cards on a real history.")
    parser.add_argument("repository", type=Path, help="a git repository with its history")
    parser.add_argument("--commits", type=int, default=400, help="newest commits to predict (default: 400)")
    parser.add_argument("--locate", action="store_true", help="measure search with the subjects of commits")
    parser.add_argument("--vectors", action="store_true", help="with --locate: also with vectors, which takes minutes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    git = options.repository
    newest = run_git(git, "rev-list", "--no-merges", "--date-order", "-n", str(options.commits), "HEAD").split()
    base = run_git(git, "rev-parse", f"{newest[-1]}^").strip()
    if options.locate:
        return _locate(git, base, options.commits, vectors=options.vectors, as_json=options.json)
    with tempfile.TemporaryDirectory() as folder:
        tree, store, history = Path(folder, "tree"), Path(folder, "store"), Path(folder, "history")
        clone_at(git, base, history)  # golore reads no history of a bare repository
        existing = check_out(git, base, tree)
        commits = [found for found in _changes(git, "-n", str(options.commits), "HEAD") if len(found & existing) > 1]
        tasks = [sorted(found & existing) for found in commits]
        opened = {path for task in tasks for path in task}
        started = time.perf_counter()
        learn_graph(tree, store_directory=store)
        learned = time.perf_counter() - started
        related = _related(history, base, store, opened)
        building = time.perf_counter() - started - learned
        coupling = _coupling(git, base, existing)
    results = {
        "card": _recall(tasks, lambda path: related[path]),
        "same directory": _recall(tasks, _same_directory(existing)),
        "plain coupling": _recall(tasks, coupling),
    }
    margin = results["card"] - max(results["same directory"], results["plain coupling"])
    if options.json:
        about = {"repository": str(git), "base": base, "files": len(existing), "commits": len(tasks), "margin": margin}
        print(json.dumps({**about, "recall": results, "seconds": {"learn": learned, "cards": building}}))
        return 0
    print(f"{git}: {len(tasks)} of {len(newest)} commits, {len(existing):,} files at {base[:12]}")
    for name, value in results.items():
        print(f"  {name:15} recall@{FIRST} {value:.3f}")
    print(f"  the card is better by {margin:+.3f} (learned in {learned:.0f} s, cards in {building:.1f} s)")
    return 0


def _locate(git: Path, base: str, commits: int, *, vectors: bool, as_json: bool) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tree, store = Path(folder, "tree"), Path(folder, "store")
        clone_at(git, base, tree)
        existing = check_out(git, base, tree)
        tasks = tasks_of(git, commits, existing, run_git)
        scores, seconds, prompted = locate(tree, store, tasks, vectors=vectors)
    gained = {name: scores["all"][at] - scores["BM25"][at] for at, name in enumerate(("recall", "mrr"))}
    if as_json:
        about = {"repository": str(git), "base": base, "files": len(existing), "commits": len(tasks)}
        print(json.dumps({**about, "scores": scores, "gained": gained, "prompted": prompted, "seconds": seconds}))
        return 0
    print(f"{git}: {len(tasks)} of {commits} commits, {len(existing):,} files at {base[:12]}")
    for name, (recall, mrr) in scores.items():
        print(f"  {name:18} recall@{FIRST} {recall:.3f}  MRR@{FIRST} {mrr:.3f}")
    print(f"  search is better than BM25 by {gained['recall']:+.3f} and {gained['mrr']:+.3f}")
    print(f"  as prompts, files were recalled for {prompted.spoke:.0%}, and right in {prompted.right:.0%} of those")
    print("  " + ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()))
    return 0


def _related(clone: Path, base: str, store: Path, opened: set[str]) -> dict[str, tuple[str, ...]]:
    """The related files on the cards of the opened files. The cards are built as in a learn."""
    with Store.open(store, write=False) as graph, create_card_store(store) as card_store:
        build_cards(graph, card_store, lambda: read_history(clone, base), base, whole=True)
        cards = {path: card_store.card(path, include_empty=True) for path in opened}
    return {path: tuple(file for file, _ in card.related) if card else () for path, card in cards.items()}


def _same_directory(existing: set[str]) -> Suggest:
    directories: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(existing):
        directories[path.rpartition("/")[0]].append(path)
    return lambda path: [other for other in directories[path.rpartition("/")[0]] if other != path]


def _coupling(git: Path, base: str, existing: set[str]) -> Suggest:
    together: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for changed in _changes(git, base):
        paths = changed & existing
        for path in paths:
            together[path].update(paths - {path})
    return lambda path: [other for other, _ in sorted(together[path].items(), key=lambda item: (-item[1], item[0]))]


def _recall(tasks: Sequence[Sequence[str]], suggest: Suggest) -> float:
    total = 0.0
    for task in tasks:
        for path in task:
            first = set(suggest(path)[:FIRST])
            total += sum(other in first for other in task if other != path) / (len(task) - 1) / len(task)
    return total / len(tasks) if tasks else 0.0


def _changes(git: Path, *revisions: str) -> Iterator[set[str]]:
    """The Go files that each commit changed, newest first."""
    output = run_git(
        git, "log", "--no-merges", "--date-order", "--name-only", "--no-renames", "-z", "--format=%x01", *revisions
    )
    for part in output.split("\x01")[1:]:
        yield {path for field in part.split("\0") if _counts(path := field.lstrip("\n"))}


def _counts(path: str) -> bool:
    return path.endswith(".go") and "vendor" not in path.split("/")[:-1]


def check_out(git: Path, commit: str, tree: Path) -> set[str]:
    """Write the Go files and module files of a commit; returns the Go files."""
    wanted: list[tuple[str, str]] = []
    for row in run_git(git, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, path = row.partition("\t")
        is_module = path.rpartition("/")[2] in ("go.mod", "go.work")
        if about.split(" ")[0] in ("100644", "100755") and (_counts(path) or is_module):
            wanted.append((about.split(" ")[2], path))
    names = "".join(f"{name}\n" for name, _ in wanted)
    output = subprocess.run(
        ["git", "-C", str(git), "cat-file", "--batch"], input=names.encode(), capture_output=True, check=True
    ).stdout
    at = 0
    for _, path in wanted:
        end = output.index(b"\n", at)
        header, at = output[at:end].split(), end + 1
        if header[1] == b"missing":
            continue
        size = int(header[2])
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(output[at : at + size])
        at += size + 1
    return {path for _, path in wanted if path.endswith(".go")}


def run_git(git: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(git), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
