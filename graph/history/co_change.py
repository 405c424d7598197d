"""Counts which files change together: `History` → `FileHistory` for each file and directory.

A commit weighs less the older it is, measured from the newest commit and not from the clock, and less the more files it
changes; a commit that changes more than `MAX_FILES_PER_COMMIT` files is ignored, and so is housekeeping (see
`housekeeping`). Only files that exist are counted.
`golore.learner.checkout.git_log` reads the history from git.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from math import log1p
from typing import Final, NamedTuple, final

from golore.graph.history.housekeeping import is_housekeeping

MAX_FILES_PER_COMMIT: Final = 50
"""A commit that changes more files than this is ignored: it says nothing about any two of them."""
MAX_FOCUSED: Final = 20
"""A commit that changes more files than this is a mass edit: cards neither show it nor take it as evidence that files
belong together."""
HALF_LIFE: Final = 1000 * 86_400
"""Seconds after which a commit weighs half. Between half a year and no decay at all, recall differed by 0.02 to 0.10,
depending on the repository; this value was the best or second best in most."""
RECENT: Final = 180 * 86_400
"""Like `HALF_LIFE`, for `Coupled.busy`."""
KEPT: Final = 60
"""Most partners of a file."""


class Commit(NamedTuple):
    """The time of a commit, and the files that it changed or added, by their present names."""

    time: int
    paths: tuple[str, ...]


class Origin(NamedTuple):
    """The id and author of a commit, and the first line of its message."""

    commit: str
    author: str
    subject: str


class History(NamedTuple):
    """The newest commits up to `head`, newest first, and all Go files at `head`, including those that no build uses."""

    head: str
    commits: tuple[Commit, ...]
    files: frozenset[str] = frozenset()
    subjects: tuple[str, ...] = ()
    """the first line of each commit's message, in the order of `commits`"""
    origins: tuple[Origin, ...] = ()
    """like `subjects`, with the ids and authors"""


class Partner(NamedTuple):
    """A file that changed together with another: the weight and the number of the commits that changed both, and how
    many of these were mass edits, of more than `MAX_FOCUSED` files."""

    path: str
    weight: float
    commits: int
    mass_edits: int = 0

    @property
    def focused(self) -> int:
        """The number of commits without mass edits."""
        return self.commits - self.mass_edits


class FileHistory(NamedTuple):
    """The history of one file, or of one directory as a whole.

    `mass` is the weight of all its commits, `commits` their number; `busy` grows with how often it changed recently.
    """

    path: str
    mass: float
    commits: int
    busy: float
    partners: tuple[Partner, ...]


@lru_cache(maxsize=1 << 16)
def directory_of(path: str) -> str:
    """The directory of a file, with a slash at the end: "./" at the root."""
    return path[: path.rfind("/") + 1] or "./"


def telling_commits(history: History | None) -> list[Commit]:
    """The commits that say something about the files which they change."""
    if history is None:
        return []
    subjects = history.subjects or ("",) * len(history.commits)
    return [
        commit
        for commit, subject in zip(history.commits, subjects, strict=True)
        if len(commit.paths) <= MAX_FILES_PER_COMMIT and not is_housekeeping(subject)
    ]


def file_histories(history: History | None, files: Collection[str]) -> dict[str, FileHistory]:
    """One entry for every existing file that a counted commit changed, and one for its directory ("dir/")."""
    if history is None or not history.commits:
        return {}
    now = max(commit.time for commit in history.commits)
    existing = files if isinstance(files, (set, frozenset)) else set(files)
    partners: dict[str, dict[str, _Together]] = {}
    masses: dict[str, float] = {}
    totals: dict[str, int] = {}
    busy: dict[str, float] = {}
    for time, changed in telling_commits(history):
        paths = sorted({path for path in changed if path in existing})
        if not paths:
            continue
        age = now - time
        weight, recent = 0.5 ** (age / HALF_LIFE), 0.5 ** (age / RECENT)
        directories = sorted({directory_of(path) for path in paths})
        for path in (*paths, *directories):
            masses[path] = masses.get(path, 0.0) + weight
            totals[path] = totals.get(path, 0) + 1
            busy[path] = busy.get(path, 0.0) + recent
        if len(paths) > 1:
            share = weight / (len(paths) - 1)
            mass_edits = 1 if len(changed) > MAX_FOCUSED else 0
            for path in (*paths, *directories):
                row = partners.setdefault(path, {})
                for other in paths:
                    if other != path:
                        together = row.get(other)
                        if together is None:
                            together = row[other] = _Together()
                        together.weight += share
                        together.commits += 1
                        together.mass_edits += mass_edits
    return {
        path: FileHistory(path, mass, totals[path], log1p(3 * busy[path]), _strongest(partners.get(path)))
        for path, mass in sorted(masses.items())
    }


@final
class _Together:
    """The commits that changed two files (see `Partner`)."""

    __slots__ = ("commits", "mass_edits", "weight")

    def __init__(self) -> None:
        self.weight = 0.0
        self.commits = 0
        self.mass_edits = 0


def _strongest(row: dict[str, _Together] | None) -> tuple[Partner, ...]:
    if row is None:
        return ()
    ordered = sorted([(-together.weight, path) for path, together in row.items()])
    found: list[Partner] = []
    for _, path in ordered[:KEPT]:
        together = row[path]
        found.append(Partner(path, round(together.weight, 4), together.commits, together.mass_edits))
    return tuple(found)
