"""The files that each commit changed, from `git log`, under their current names.

Runs git and reads no file contents: renames are found by equal blob ids or equal names among the files that a commit
removes and adds, which works in any clone, even one without old contents. Without git, without a repository or without
a commit there is no history; that is not an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.history.co_change import Commit, History, Origin
from golore.graph.safety.visible_text import is_plain_path
from golore.learner.checkout.git_command import StartedGit, is_commit_id, run_git, start_git
from golore.learner.checkout.git_directory import common_directory, git_directory, read_text, top_of

MAX_COMMITS: Final = 5_000
"""The number of commits with Go files to read. With 1,000 recall was 0.05 to 0.09 lower, with 10,000 the same; at
Kubernetes' size git takes 2 s for 5,000."""
_LOG: Final = (
    "log --no-merges --raw --no-abbrev --no-renames --relative -z --no-color --no-notes --no-show-signature "
    "--no-ext-diff --no-textconv --format=%x01%ct%x02%H%x02%aN%x02%s"
).split()
_COMMIT_START: Final = re.compile(r"\x01(?<![^\0]\x01)(?=\d+\x02[0-9a-f]{40,64}\x02)")
"""After NUL, which neither a subject nor a path can contain. It begins with a character, which is quick to find."""
_PATHS: Final = ("--", "*.go", ":(exclude,glob)**/vendor/**")
_started: Final[dict[tuple[Path, tuple[str, ...]], StartedGit]] = {}
"""The logs that git reads ahead, by directory and command (see `history_read_ahead`)."""


class Touch(NamedTuple):
    """One file in a commit. `status` is `A` (added), `D` (deleted) or another letter of `git log --raw`; `before` and
    `after` are blob ids."""

    status: str
    before: str
    after: str
    path: str


def head_commit(root: Path) -> str:
    """The commit id of HEAD, from git's files if possible; empty if there is no commit or no repository."""
    top = top_of(root)
    git_dir = git_directory(top) if top is not None else None
    if top is None or git_dir is None:
        return ""
    head = read_text(git_dir / "HEAD")
    if not head.startswith("ref:"):
        return head if is_commit_id(head) else ""
    name = head.removeprefix("ref:").strip()
    common = common_directory(top) or git_dir
    for directory in (git_dir, common):
        if is_commit_id(commit := read_text(directory / name)):
            return commit
    for line in read_text(common / "packed-refs").splitlines():
        if line.endswith(f" {name}") and is_commit_id(commit := line.split(" ")[0]):
            return commit
    # References to references, and other formats of their storage, can be read only by git.
    found = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD").decode("ascii", "replace").strip()
    return found if is_commit_id(found) else ""


def read_history(root: Path, head: str = "HEAD", most: int = MAX_COMMITS) -> History | None:
    """The newest commits, at most `most`, with Go files below a directory; None if there are none."""
    return _read(root, head, most) if head == "HEAD" else _read_cached(root, head, most)


@contextmanager
def history_read_ahead(root: Path) -> Generator[None]:
    """Let git read the history of HEAD from now on, while this process does something else. `read_history` then waits
    for that git instead of starting one."""
    head = head_commit(root)
    key = (root.resolve(), _log_command(head, MAX_COMMITS))
    started = start_git(root, *key[1]) if head else None
    if started is not None:
        _started[key] = started
    try:
        yield
    finally:
        if _started.pop(key, None) is not None and started is not None:
            started.stop()


def _log_command(head: str, most: int) -> tuple[str, ...]:
    return (*_LOG, f"--max-count={most}", "--end-of-options", head, *_PATHS)


def _read(root: Path, head: str, most: int) -> History | None:
    if head != "HEAD" and not is_commit_id(head):
        return None
    command = _log_command(head, most)
    started = _started.pop((root.resolve(), command), None)
    output = (run_git(root, *command) if started is None else started.output()).decode("utf-8", "surrogateescape")
    parts = _COMMIT_START.split(output)[1:]
    commits = tuple(with_current_names(_commits(parts)))
    origins = _origins(parts)
    subjects = tuple(origin.subject for origin in origins)
    return History(head, commits, _files(root, head), subjects, origins) if commits else None


_read_cached = lru_cache(maxsize=1)(_read)
"""Cards and search both need the history, one after the other."""


def _files(root: Path, head: str) -> frozenset[str]:
    """The Go files of a commit below a directory, without `vendor`. Files in `testdata` are included: they change along
    with the code."""
    output = run_git(root, "ls-tree", "-r", "-z", "--name-only", "--end-of-options", head)
    listed = output.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(
        path for path in listed if path.endswith(".go") and "vendor" not in path.split("/")[:-1] and is_plain_path(path)
    )


def with_current_names(commits: Iterable[tuple[int, list[Touch]]]) -> Iterator[Commit]:
    """Convert commits, newest first, replacing each path by the name that the file has now."""
    present: dict[str, str] = {}
    for time, touched in commits:
        changed = [touch.path for touch in touched if touch.status != "D"]
        yield Commit(time, tuple(sorted({present.get(path, path) for path in changed})))
        moved = {old: present.get(new, new) for old, new in renames(touched)}
        present.update(moved)


def renames(touched: Iterable[Touch]) -> list[tuple[str, str]]:
    """Pairs of old and new path: first by equal content, then by equal file name if it is unique, then the only pair
    left in a directory, tests and other files apart."""
    gone = {touch.path: touch.before for touch in touched if touch.status == "D"}
    new = {touch.path: touch.after for touch in touched if touch.status == "A"}
    found: list[tuple[str, str]] = []
    if not gone or not new:
        return found
    by_content: defaultdict[str, list[str]] = defaultdict(list)
    for path, content in sorted(gone.items()):
        by_content[content].append(path)
    for path, content in sorted(new.items()):
        same_content = [old for old in by_content.get(content, ()) if old in gone]
        if same_content:
            old = next((old for old in same_content if _base_name(old) == _base_name(path)), same_content[0])
            found.append((old, path))
            del gone[old], new[path]
    for old, path in _only_pairs(gone, new, _base_name):
        found.append((old, path))
        del gone[old], new[path]
    found += _only_pairs(gone, new, _directory_and_is_test)
    return found


def _only_pairs(gone: Iterable[str], new: Iterable[str], key_of: Callable[[str], object]) -> list[tuple[str, str]]:
    """Pairs of an old and a new path with the same key, if no other path on either side has that key."""
    old_by: defaultdict[object, list[str]] = defaultdict(list)
    new_by: defaultdict[object, list[str]] = defaultdict(list)
    for path in sorted(gone):
        old_by[key_of(path)].append(path)
    for path in sorted(new):
        new_by[key_of(path)].append(path)
    return [
        (old_by[key][0], paths[0]) for key, paths in new_by.items() if len(paths) == 1 and len(old_by.get(key, ())) == 1
    ]


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _directory_and_is_test(path: str) -> tuple[str, bool]:
    return path.rpartition("/")[0], path.endswith("_test.go")


def _commits(parts: Iterable[str]) -> Iterator[tuple[int, list[Touch]]]:
    """Parse the commits of `git log -z --raw`: after a header, metadata and path alternate."""
    for part in parts:
        header, *fields = part.split("\0")
        touched: list[Touch] = []
        pending: list[str] | None = None
        for field in fields:
            if pending is not None:
                if is_plain_path(field):  # others are not learned
                    touched.append(Touch(pending[4][:1], pending[2], pending[3], field))
                pending = None
            elif (meta := field.lstrip("\n")).startswith(":"):
                pending = meta.split(" ")
        yield int(header.partition("\x02")[0]), touched


def _origins(parts: Iterable[str]) -> tuple[Origin, ...]:
    """Id, author and subject of each commit, in the order of the commits; invalid UTF-8 is replaced."""
    headers = (part.partition("\0")[0] for part in parts)
    return tuple(Origin(*map(_valid_unicode, header.split("\x02", 3)[1:])) for header in headers)


def _valid_unicode(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
