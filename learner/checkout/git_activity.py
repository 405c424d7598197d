"""Recent activity from git: the newest commits of each file, the commit of each line, and uncommitted changes.

Commits are cached in
`cache.db` until HEAD changes, and the blame of a file until the file or its last commit changes. Without git, without a
repository or without a commit the results are empty; that is not an error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.errors import StoreError
from golore.graph.files.read_only_db import is_writable
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.history.recent_commits import (
    RecentCommit,
    RecentCommits,
    commit_line,
    create_recent_commits,
    recent_commits_in_memory,
)
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.git_command import run_git_on_files
from golore.learner.checkout.git_directory import common_directory, git_directory, read_text, top_of
from golore.learner.checkout.git_log import head_commit, read_history

_BLAME: Final = ("blame", "--incremental", "--root", "--no-textconv", "--no-ext-diff", "--")
_STATUS: Final = (
    "--literal-pathspecs status --porcelain=v1 -z --untracked-files=normal --ignore-submodules=dirty --"
).split()
"""For changes inside a submodule, git would start another git there, with the configuration of the submodule."""


class GitHead(NamedTuple):
    """HEAD of a directory's repository. `is_one`: whether there is a repository. `branch` is empty if HEAD is detached.
    `roots`: the commits of a shallow clone whose parents are missing."""

    is_repository: bool
    branch: str = ""
    head: str = ""
    roots: frozenset[str] = frozenset()


class Uncommitted(NamedTuple):
    """A path below the root with its two status letters from `git status`: of the index and of the working tree."""

    status: str
    path: str


class BlameRange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The lines `first` to `last`, which one commit wrote. `commit` is an index into `Blame.commits`."""

    first: int
    last: int
    commit: int


class Blame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The commit of each line of a file. Lines that are not committed have a commit with an empty id."""

    commits: tuple[tuple[str, int, str, str], ...]
    hunks: tuple[BlameRange, ...]

    def changes(self, first: int = 1, last: int = 1 << 30) -> list[tuple[RecentCommit, int]]:
        """The commits of the lines `first` to `last`, with line counts: uncommitted first, then newest first."""
        lines: dict[int, int] = {}
        for hunk in self.hunks:
            shared = min(hunk.last, last) - max(hunk.first, first) + 1
            if shared > 0:
                lines[hunk.commit] = lines.get(hunk.commit, 0) + shared
        found = [(RecentCommit(*self.commits[commit]), count) for commit, count in lines.items()]
        return sorted(found, key=lambda item: (bool(item[0].id), -item[0].time, item[0].id))


_blame_decoder: Final = msgspec.msgpack.Decoder(Blame)


def git_head_of(root: Path) -> GitHead:
    top = top_of(root)
    git_dir = git_directory(top) if top is not None else None
    if top is None or git_dir is None:
        return GitHead(False)
    head = read_text(git_dir / "HEAD")
    branch = head.removeprefix("ref:").strip().removeprefix("refs/heads/") if head.startswith("ref:") else ""
    shallow = read_text((common_directory(top) or git_dir) / "shallow")
    return GitHead(True, branch, head_commit(root), frozenset(shallow.split()))


def uncommitted(root: Path, path: str = ".") -> tuple[Uncommitted, ...]:
    """Uncommitted changes below a directory or of one file. Runs `git status` each time: nothing can be cached."""
    top = top_of(root) or root
    prefix = "".join(f"{part}/" for part in root.relative_to(top).parts)
    fields = iter(run_git_on_files(root, *_STATUS, path).decode("utf-8", "surrogateescape").split("\0"))
    found: list[Uncommitted] = []
    for field in fields:
        if len(field) > 3:
            found.append(Uncommitted(field[:2], field[3:].removeprefix(prefix)))
            if field[0] in "RC":
                next(fields, None)  # the old name of a rename or copy
    return tuple(found)


def update_recent_commits(root: Path, store_directory: Path) -> frozenset[str]:
    """Read the history if HEAD or the shallow roots changed. Returns the files whose `commit_line` changed."""
    root = root.resolve()
    checkout = git_head_of(root)
    try:
        with create_recent_commits(store_directory) as recent:
            if recent.head == checkout.head and recent.roots == checkout.roots:
                return frozenset()
            before = _newest_lines(recent)
            _replace_commits(root, recent, checkout)
            after = _newest_lines(recent)
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write the commit history to {store_directory}: {failure}. Run `golore learn` again."
        ) from failure
    return frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def current_commits(root: Path, store_directory: Path) -> RecentCommits:
    """The history up to HEAD. It is stored, unless the store cannot be written."""
    if is_writable(store_directory / CACHE_NAME):
        update_recent_commits(root, store_directory)
        return create_recent_commits(store_directory)
    recent = recent_commits_in_memory()
    _replace_commits(root, recent, git_head_of(root))
    return recent


def _replace_commits(root: Path, recent: RecentCommits, checkout: GitHead) -> None:
    history = read_history(root, checkout.head) if checkout.head else None
    commits: list[RecentCommit] = []
    touched: list[tuple[str, int]] = []
    if history is not None:
        for number, (commit, origin) in enumerate(zip(history.commits, history.origins, strict=True)):
            commits.append(RecentCommit(origin.commit, commit.time, origin.author, origin.subject, len(commit.paths)))
            touched += [(_printable(path), number) for path in commit.paths]
    touched.sort()  # by the primary key: inserting is twice as fast
    recent.replace(checkout.head, checkout.roots, commits, touched)


def _newest_lines(recent: RecentCommits) -> dict[str, str]:
    return {path: commit_line(change) for path, change in recent.newest().items()}


def blame_of(root: Path, recent: RecentCommits, path: str) -> Blame | None:
    """The blame of a file in its current state, from the cache or from git; None if unreadable or not tracked."""
    try:
        content = digest(read_regular(root / path, SOURCE_LIMIT, follow=True))
    except OSError:
        return None
    last = recent.commits_of(path, 1)
    key = f"{last[0].id if last else recent.head} {content}"
    cached = recent.blame(path, key)
    if cached is not None:
        return _blame_decoder.decode(cached)
    output = run_git_on_files(root, *_BLAME, path).decode("utf-8", "replace")
    found = _read_blame(output)
    if found.hunks:
        recent.set_blame(path, key, msgspec.msgpack.encode(found))
    return found if found.hunks else None


def _read_blame(text: str) -> Blame:
    """Parse the output of `git blame --incremental`, which describes each commit only the first time it occurs."""
    commits: dict[str, tuple[str, int, str, str]] = {}
    hunks: list[tuple[int, int, str]] = []
    for id, first, number, fields in _blame_entries(text):
        if id not in commits:
            is_real = id.strip("0") != ""
            subject = fields.get("summary", "") if is_real else "not committed yet"
            author = fields.get("author", "") if is_real else ""
            commits[id] = (id if is_real else "", int(fields.get("committer-time", "0")), author, subject)
        hunks.append((first, first + number - 1, id))
    positions = {id: position for position, id in enumerate(commits)}
    ordered = tuple(BlameRange(first, last, positions[id]) for first, last, id in sorted(hunks))
    return Blame(tuple(commits.values()), ordered)


def _blame_entries(text: str) -> Iterator[tuple[str, int, int, dict[str, str]]]:
    header: list[str] = []
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        if not header:
            header = line.split(" ")
        elif name == "filename":
            yield header[0], int(header[2]), int(header[3]), fields
            header, fields = [], {}
        else:
            fields[name] = value


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")
