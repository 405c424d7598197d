"""Judges `golore affected` by what had to be mended later: are the files of a commit's fix-ups among its first?

    python benchmarks/affected.py [--commits N] [--save FILE] REPOSITORY...

A *fix-up* of a commit C is a later commit F, without merges, that is not more than 14 days younger, and that

- names C: its message has C's id (at least 8 digits), as reverts do, or C's whole subject in quotes; or
- mends C: a word of its subject says so (fix, fixup, revert, follow-up, missing, forgot, broken, build, lint, vet,
  typo, again, correct), and it removes a line of Go code that C added to the same file, with 12 or more characters.

Commits with more than 20 Go files count neither as C nor as F. The truth for C is the set of Go files that its fix-ups
change or remove and C does not change, if they exist at C: what the author of C would have had to look at. Judged are
the newest N commits of each repository that change a Go file and have such files, if they can be checked out. Generated
and vendored files are left out.

Each C is checked out in a clone, learned as far as `affected` needs it, and compared with its parent; nothing younger
than C is known. Figures, over the commits: how many have a file of the truth among the first ten files (hit), the mean
share of the truth that is there (recall), and the mean of one over the rank of the first (MRR). Beside golore's order:

- coupling: the files that most often changed together with those of C before C, in the newest 2,000 commits;
- directory: the other Go files in the directories of C, most often changed first.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from golore.graph.changes.affected import Affected
from golore.graph.database.store import Store
from golore.learner.changes.compared_files import Request
from golore.learner.derived.co_change_step import update_co_change
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.change_effects import affected, prepare_adjacency

FIRST = 10
DAYS = 14
MOST_FILES = 20
LOOKED_AT = 6_000
COUPLED = 2_000
SHORTEST_LINE = 12
SHORTEST_ID = 8
MENDS = re.compile(
    r"\b(fix(e[sd]|up|ing)?|revert(s|ed)?|follow-?up|missing|forg[oe]t(ten)?|broken|build|lint(er)?|vet|typos?|again"
    r"|correct(s|ed|ly)?)\b",
    re.IGNORECASE,
)
RECORD, FIELD = "\x01golore record\x02", "\x01golore field\x02"
LEFT_OUT = ("*.pb.go", "*.pb.gw.go", "*bindata*", "*vfsdata*", "*/vendor/*", "vendor/*", "*Godeps/*")
"""Generated and vendored files. Clones may lack the largest of them."""
ID = re.compile(rf"\b[0-9a-f]{{{SHORTEST_ID},40}}\b")
QUOTED = re.compile(r'["“«]([^"”»\n]{12,})["”»]')


class Commit(NamedTuple):
    id: str
    time: int
    subject: str
    message: str
    files: frozenset[str]
    added: dict[str, frozenset[str]]
    removed: dict[str, frozenset[str]]


class Task(NamedTuple):
    commit: Commit
    fix_ups: tuple[str, ...]
    truth: frozenset[str]


class Score(NamedTuple):
    hits: int = 0
    recall: float = 0.0
    mrr: float = 0.0


def main() -> int:
    options = parse()
    totals: dict[str, list[Score]] = defaultdict(list)
    saved: list[dict[str, object]] = []
    for repository in options.repositories:
        scores: dict[str, list[Score]] = defaultdict(list)
        with tempfile.TemporaryDirectory(prefix="golore-affected-") as scratch:
            for task, rankings in judged(repository, Path(scratch), options.commits):
                for name, files in rankings.items():
                    scores[name].append(score(files, task.truth))
                saved.append({"repository": repository.name, **shown(task), "rankings": rankings})
        print_scores(repository.name, scores)
        for name, those in scores.items():
            totals[name] += those
    print_scores("all", totals)
    if options.save:
        options.save.write_text(json.dumps(saved, indent=1))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=75, help="commits of each repository")
    parser.add_argument("--save", type=Path, help="write the rankings of each commit here")
    parser.add_argument("repositories", nargs="+", type=Path)
    return parser.parse_args()


def judged(repository: Path, scratch: Path, most: int) -> Iterator[tuple[Task, dict[str, list[str]]]]:
    """The tasks of a repository, oldest first, with the files that each ranking lists."""
    commits = list(read_commits(repository))
    tree, store = scratch / "tree", scratch / "store"
    git(scratch, "clone", "-q", "--no-checkout", str(repository.resolve()), str(tree))
    git(tree, "sparse-checkout", "set", "--no-cone", "*.go", "go.mod", "go.sum", "go.work", "modules.txt")
    for task in tasks(repository, commits, most):
        try:
            git(tree, "checkout", "-q", "--force", task.commit.id)
        except subprocess.CalledProcessError:
            continue  # a clone that lacks large files
        git(tree, "clean", "-q", "-fdx")
        before = [one for one in commits if one.time < task.commit.time][-COUPLED:]
        existing = set(git(tree, "ls-files", "*.go").splitlines()) - task.commit.files
        rankings = {
            "golore": golore_files(tree, store, task.commit),
            "coupling": coupled(before, task.commit.files, existing),
            "directory": same_directory(before, task.commit.files, existing),
        }
        yield task, rankings


def golore_files(tree: Path, store: Path, commit: Commit) -> list[str]:
    learn_graph(tree, store_directory=store, workers=0)
    update_co_change(tree, store)
    with Store.open(store, write=False) as opened:
        prepare_adjacency(opened)
        found = affected(tree, opened, Request(revisions=f"{commit.id}^..{commit.id}"), breaking=False)
    return [path for path in listed_files(found) if path not in commit.files]


def listed_files(found: Affected) -> list[str]:
    """The Go files of an answer, in the order in which it lists them."""
    return [one.path for one in found.nearby]


def coupled(before: Sequence[Commit], changed: frozenset[str], existing: set[str]) -> list[str]:
    counts = Counter(
        path for one in before if not one.files.isdisjoint(changed) for path in one.files & existing if path
    )
    return [path for path, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def same_directory(before: Sequence[Commit], changed: frozenset[str], existing: set[str]) -> list[str]:
    directories = {path.rpartition("/")[0] for path in changed if path.endswith(".go")}
    counts = Counter(path for one in before for path in one.files)
    near = [path for path in existing if path.rpartition("/")[0] in directories]
    return sorted(near, key=lambda path: (-counts[path], path))


def tasks(repository: Path, commits: Sequence[Commit], most: int) -> list[Task]:
    """The newest commits that have fix-ups in other files, oldest first."""
    found: list[Task] = []
    for number in range(len(commits) - 1, -1, -1):
        commit = commits[number]
        if not any(is_code(path) for path in commit.files):
            continue
        later = commits[number + 1 :]
        fix_ups = [one for one in within(later, commit.time + DAYS * 86_400) if is_fix_up(one, commit)]
        existing = (
            set(git(repository, "ls-tree", "-r", "--name-only", commit.id).splitlines()) if fix_ups else set[str]()
        )
        truth = {path for one in fix_ups for path in one.files if path.endswith(".go")} - commit.files
        if truth & existing:
            found.append(Task(commit, tuple(one.id for one in fix_ups), frozenset(truth & existing)))
            if len(found) == most:
                break
    return found[::-1]


def within(commits: Iterable[Commit], end: int) -> Iterator[Commit]:
    return (one for one in commits if one.time <= end)


def is_code(path: str) -> bool:
    return path.endswith(".go") and not path.endswith("_test.go") and "vendor" not in path.split("/")


def is_fix_up(one: Commit, commit: Commit) -> bool:
    if any(commit.id.startswith(found) for found in ID.findall(one.message)):
        return True
    if any(quoted.strip() == commit.subject for quoted in QUOTED.findall(one.message)):
        return True
    if not MENDS.search(one.subject):
        return False
    return any(not lines.isdisjoint(commit.added.get(path, ())) for path, lines in one.removed.items())


def read_commits(repository: Path) -> Iterator[Commit]:
    """The newest commits without merges, oldest first, with the lines that they add to and remove from Go files."""
    form = f"--format={RECORD}%H{FIELD}%ct{FIELD}%s{FIELD}%B{FIELD}"
    text = git(
        repository, "log", f"-{LOOKED_AT}", "--no-merges", "--date-order", "--reverse", "--no-renames", "--no-ext-diff",
        "-U0", "-p", form, "--", "*.go", *(f":(exclude){one}" for one in LEFT_OUT),
    )  # fmt: skip
    for record in text.split(RECORD)[1:]:
        id, time, subject, message, patch = record.split(FIELD, 4)
        files, added, removed = parsed(patch)
        if len(files) <= MOST_FILES:
            yield Commit(id, int(time), subject, message, files, added, removed)


def parsed(patch: str) -> tuple[frozenset[str], dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    files: set[str] = set()
    lines: dict[str, dict[str, set[str]]] = {"+": defaultdict(set), "-": defaultdict(set)}
    path = ""
    in_hunk = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            path, in_hunk = line.rpartition(" b/")[2], False
            files.add(path)
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line[:1] in lines and path.endswith(".go"):
            code = line[1:].strip()
            if len(code) >= SHORTEST_LINE and not code.startswith("//"):
                lines[line[0]][path].add(code)
    added, removed = ({name: frozenset(texts) for name, texts in lines[sign].items()} for sign in "+-")
    return frozenset(files), added, removed


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def score(files: Sequence[str], truth: frozenset[str]) -> Score:
    ranks = [rank for rank, path in enumerate(files[:FIRST], 1) if path in truth]
    return Score(bool(ranks), len(ranks) / len(truth), 1 / ranks[0] if ranks else 0.0)


def shown(task: Task) -> dict[str, object]:
    commit = task.commit
    return {
        "commit": commit.id,
        "subject": commit.subject,
        "files": sorted(commit.files),
        "fix_ups": task.fix_ups,
        "truth": sorted(task.truth),
    }


def print_scores(title: str, scores: dict[str, list[Score]]) -> None:
    for name, those in scores.items():
        mean: Callable[[int], float] = lambda at, those=those: sum(one[at] for one in those) / len(those)  # noqa: E731
        print(f"{title:12} {name:10} {len(those):4} commits: hit {mean(0):.3f} recall {mean(1):.3f} MRR {mean(2):.3f}")


if __name__ == "__main__":
    raise SystemExit(main())
