"""git → what has happened lately: the newest commits of each file, who wrote which lines, what is not committed.

Runs git's own command, never in the way of another one. What it says of commits is kept in `cache.db` until HEAD is
another one, and who wrote the lines of a file until the file or its last commit is. Without git, without a repository
or without a commit there is nothing to tell, and that is no failure.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.errors import StoreError
from golore.graph.history.recent_commits import RecentCommit, RecentCommits, commit_line, create_recent_commits
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.git_directory import common_directory, git_directory
from golore.learner.checkout.git_log import head_commit, read_history, run_git

_BLAME: Final = ("blame", "--incremental", "--root", "--")
_STATUS: Final = ("status", "--porcelain=v1", "-z", "--untracked-files=normal", "--")


class GitHead(NamedTuple):
    """What git's files tell of a directory, without git. `branch` is empty where HEAD is on none; `roots` are the
    commits behind which a shallow clone has no history."""

    is_one: bool
    branch: str = ""
    head: str = ""
    roots: frozenset[str] = frozenset()


class Uncommitted(NamedTuple):
    """A path below the root, and git's two letters for what is with it: in the index, and in the tree."""

    status: str
    path: str


class Hunk(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Lines from the first to the last one that came with one commit, by its place in the list of commits."""

    first: int
    last: int
    commit: int


class Blame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who wrote the lines of a file. A commit without an id is what is not committed."""

    commits: tuple[tuple[str, int, str, str], ...]
    hunks: tuple[Hunk, ...]

    def changes(self, first: int = 1, last: int = 1 << 30) -> list[tuple[RecentCommit, int]]:
        """The commits of these lines, the newest first, and how many of the lines are of each."""
        lines: dict[int, int] = {}
        for hunk in self.hunks:
            shared = min(hunk.last, last) - max(hunk.first, first) + 1
            if shared > 0:
                lines[hunk.commit] = lines.get(hunk.commit, 0) + shared
        found = [(RecentCommit(*self.commits[commit]), number) for commit, number in lines.items()]
        return sorted(found, key=lambda item: (bool(item[0].id), -item[0].time, item[0].id))


_blames: Final = msgspec.msgpack.Decoder(Blame)


def checkout_at(root: Path) -> GitHead:
    top = next((place for place in (root, *root.parents) if (place / ".git").exists()), None)
    own = git_directory(top) if top is not None else None
    if top is None or own is None:
        return GitHead(False)
    head = _text(own / "HEAD")
    branch = head.removeprefix("ref:").strip().removeprefix("refs/heads/") if head.startswith("ref:") else ""
    shallow = _text((common_directory(top) or own) / "shallow")
    return GitHead(True, branch, head_commit(root), frozenset(shallow.split()))


def uncommitted(root: Path, path: str = ".") -> tuple[Uncommitted, ...]:
    """What is not committed below a directory, or of one file; git is asked each time, as nothing else can know."""
    top = next((place for place in (root, *root.parents) if (place / ".git").exists()), root)
    prefix = "".join(f"{part}/" for part in root.relative_to(top).parts)
    fields = iter(run_git(root, *_STATUS, path).decode("utf-8", "surrogateescape").split("\0"))
    found: list[Uncommitted] = []
    for field in fields:
        if len(field) > 3:
            found.append(Uncommitted(field[:2], field[3:].removeprefix(prefix)))
            if field[0] in "RC":
                next(fields, None)  # the name it had before
    return tuple(found)


def update_recent_commits(root: Path, store_directory: Path) -> frozenset[str]:
    """Read the history if HEAD is another than last time; the files whose last commit is told in other words."""
    root = root.resolve()
    checkout = checkout_at(root)
    try:
        with create_recent_commits(store_directory) as recent:
            if recent.head == checkout.head and recent.roots == checkout.roots:
                return frozenset()
            before = _told_of_all(recent)
            _fill(root, recent, checkout)
            after = _told_of_all(recent)
    except sqlite3.Error as failure:
        raise StoreError(
            f"The history could not be written to {store_directory}: {failure}. Run `golore learn`."
        ) from failure
    return frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _fill(root: Path, recent: RecentCommits, checkout: GitHead) -> None:
    history = read_history(root, checkout.head) if checkout.head else None
    commits: list[RecentCommit] = []
    touched: list[tuple[str, int]] = []
    if history is not None:
        for number, (commit, origin) in enumerate(zip(history.commits, history.origins, strict=True)):
            commits.append(RecentCommit(origin.commit, commit.time, origin.author, origin.subject, len(commit.paths)))
            touched += [(_printable(path), number) for path in commit.paths]
    recent.replace(checkout.head, checkout.roots, commits, touched)


def _told_of_all(recent: RecentCommits) -> dict[str, str]:
    return {path: commit_line(change) for path, change in recent.newest().items()}


def blame_of(root: Path, recent: RecentCommits, path: str) -> Blame | None:
    """Who wrote the lines of a file as it is now; None where git does not know the file."""
    try:
        content = digest((root / path).read_bytes())
    except OSError:
        return None
    last = recent.commits_of(path, 1)
    key = f"{last[0].id if last else recent.head} {content}"
    kept = recent.blame(path, key)
    if kept is not None:
        return _blames.decode(kept)
    said = run_git(root, *_BLAME, path).decode("utf-8", "replace")
    found = _read_blame(said)
    if found.hunks:
        recent.set_blame(path, key, msgspec.msgpack.encode(found))
    return found if found.hunks else None


def _read_blame(text: str) -> Blame:
    """Read `git blame --incremental`: a commit with lines, what is said of it if it is new, then the file's name."""
    commits: dict[str, tuple[str, int, str, str]] = {}
    hunks: list[tuple[int, int, str]] = []
    for id, first, number, about in _entries(text):
        if id not in commits:
            is_real = id.strip("0") != ""
            subject = about.get("summary", "") if is_real else "not committed yet"
            author = about.get("author", "") if is_real else ""
            commits[id] = (id if is_real else "", int(about.get("committer-time", "0")), author, subject)
        hunks.append((first, first + number - 1, id))
    places = {id: at for at, id in enumerate(commits)}
    ordered = tuple(Hunk(first, last, places[id]) for first, last, id in sorted(hunks))
    return Blame(tuple(commits.values()), ordered)


def _entries(text: str) -> Iterator[tuple[str, int, int, dict[str, str]]]:
    head: list[str] = []
    about: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        if not head:
            head = line.split(" ")
        elif name == "filename":
            yield head[0], int(head[2]), int(head[3]), about
            head, about = [], {}
        else:
            about[name] = value


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
