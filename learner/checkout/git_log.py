"""git's history → which files each commit changed, by the names they have now.

Runs git's own command, once for a HEAD, and reads no file's content: renames are found by equal content or equal names
of what a commit removes and adds, which any clone can tell, even one without old contents. Without git, without a
repository or without a single commit there is no history, and that is no failure. What follows from the history is
`golore.graph.history.co_change`'s affair.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.history.co_change import Commit, History, Origin
from golore.learner.checkout.git_directory import common_directory, git_directory

COMMITS: Final = 5_000
"""Commits with Go files that are read. With 1,000 recall was 0.05 to 0.09 lower, with 10,000 the same; at Kubernetes'
size git takes 2 s for 5,000."""
_PATIENCE: Final = 60
"""Seconds; a directory of a giant repository may have few commits, far apart."""
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_LOG: Final = (
    "log --no-merges --raw --no-abbrev --no-renames --relative -z --no-color --no-notes --no-show-signature "
    "--no-ext-diff --format=%x01%ct%x02%H%x02%aN%x02%s"
).split()
_BEGIN: Final = re.compile(r"\x01(?=\d+\x02[0-9a-f]{40,64}\x02)")
_PATHS: Final = ("--", "*.go", ":(exclude,glob)**/vendor/**")


class Touch(NamedTuple):
    """One file in a commit: `A`dded, `D`eleted or otherwise changed, with the digests before and after."""

    status: str
    before: str
    after: str
    path: str


def head_commit(root: Path) -> str:
    """What HEAD names, from git's files; empty where there is no commit or no git."""
    top = next((place for place in (root, *root.parents) if (place / ".git").exists()), None)
    own = git_directory(top) if top is not None else None
    if top is None or own is None:
        return ""
    head = _text(own / "HEAD")
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    common = common_directory(top) or own
    for place in (own, common):
        if found := _text(place / name):
            return found
    for line in _text(common / "packed-refs").splitlines():
        if line.endswith(f" {name}"):
            return line.split(" ")[0]
    # Other kinds of reference storage are git's to read.
    return run_git(root, "rev-parse", "--verify", "--quiet", "HEAD").decode("ascii", "replace").strip()


def read_history(root: Path, head: str = "HEAD", most: int = COMMITS) -> History | None:
    """The newest commits with Go files below a directory; None where there are none."""
    return _read(root, head, most) if head == "HEAD" else _remembered(root, head, most)


def _read(root: Path, head: str, most: int) -> History | None:
    said = run_git(root, *_LOG, f"--max-count={most}", head, *_PATHS).decode("utf-8", "surrogateescape")
    commits = tuple(present_names(_commits(said)))
    origins = _origins(said)
    subjects = tuple(origin.subject for origin in origins)
    return History(head, commits, _files(root, head), subjects, origins) if commits else None


_remembered = lru_cache(maxsize=1)(_read)
"""Cards and search both ask for it, one after the other."""


def _files(root: Path, head: str) -> frozenset[str]:
    """The Go files of a commit below a directory; those in testdata change along with the code like any other."""
    listed = run_git(root, "ls-tree", "-r", "-z", "--name-only", head).decode("utf-8", "surrogateescape").split("\0")
    return frozenset(path for path in listed if path.endswith(".go") and "vendor" not in path.split("/")[:-1])


def present_names(commits: Iterable[tuple[int, list[Touch]]]) -> Iterator[Commit]:
    """Commits, newest first, with every file under the name that it came to have."""
    present: dict[str, str] = {}
    for time, touched in commits:
        kept = [touch.path for touch in touched if touch.status != "D"]
        yield Commit(time, tuple(sorted({present.get(path, path) for path in kept})))
        moved = {old: present.get(new, new) for old, new in renames(touched)}
        present.update(moved)


def renames(touched: Iterable[Touch]) -> list[tuple[str, str]]:
    """Old and new names: of files with equal content, then equal names, then of the only pair left in a directory."""
    gone = {touch.path: touch.before for touch in touched if touch.status == "D"}
    new = {touch.path: touch.after for touch in touched if touch.status == "A"}
    found: list[tuple[str, str]] = []
    if not gone or not new:
        return found
    by_content: defaultdict[str, list[str]] = defaultdict(list)
    for path, content in sorted(gone.items()):
        by_content[content].append(path)
    for path, content in sorted(new.items()):
        alike = [old for old in by_content.get(content, ()) if old in gone]
        if alike:
            old = next((old for old in alike if _name(old) == _name(path)), alike[0])
            found.append((old, path))
            del gone[old], new[path]
    for old, path in _only_pairs(gone, new, _name):
        found.append((old, path))
        del gone[old], new[path]
    found += _only_pairs(gone, new, _directory_and_sort)
    return found


def _only_pairs(gone: Iterable[str], new: Iterable[str], trait: Callable[[str], object]) -> list[tuple[str, str]]:
    """Pairs of paths that alone have a trait, on both sides."""
    old_by: defaultdict[object, list[str]] = defaultdict(list)
    new_by: defaultdict[object, list[str]] = defaultdict(list)
    for path in sorted(gone):
        old_by[trait(path)].append(path)
    for path in sorted(new):
        new_by[trait(path)].append(path)
    return [
        (old_by[key][0], paths[0]) for key, paths in new_by.items() if len(paths) == 1 and len(old_by.get(key, ())) == 1
    ]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _directory_and_sort(path: str) -> tuple[str, bool]:
    return path.rpartition("/")[0], path.endswith("_test.go")


def _commits(text: str) -> Iterator[tuple[int, list[Touch]]]:
    """Read `git log -z --raw`: a commit begins with \\x01 and what is said of it, then metadata and path in turn."""
    for part in _BEGIN.split(text)[1:]:
        about, *fields = part.split("\0")
        touched: list[Touch] = []
        pending: list[str] | None = None
        for field in fields:
            if pending is not None:
                touched.append(Touch(pending[4][:1], pending[2], pending[3], field))
                pending = None
            elif (meta := field.lstrip("\n")).startswith(":"):
                pending = meta.split(" ")
        yield int(about.partition("\x02")[0]), touched


def _origins(text: str) -> tuple[Origin, ...]:
    """Who made the commits and the first lines of their messages, without half characters, in the commits' order."""
    abouts = (part.partition("\0")[0] for part in _BEGIN.split(text)[1:])
    return tuple(Origin(*map(_whole, about.split("\x02", 3)[1:])) for about in abouts)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def run_git(root: Path, *arguments: str) -> bytes:
    """What git prints, as far as it got; nothing where it cannot run or has no repository here."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **_QUIET},
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
