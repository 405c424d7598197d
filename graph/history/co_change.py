"""Which files change together, counted from a repository's history: `History` → how strongly each file is coupled.

A commit counts less the older it is, measured from the newest one and not from the clock, and less the more files it
changes; one that changes very many says nothing and is left out. Only files that exist are counted. Where the history
comes from is not known here (`golore.learner.checkout.git_log` reads it from git).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache
from math import log1p
from typing import Final, NamedTuple

LARGEST: Final = 50
"""Files in a commit beyond which it says nothing of any two of them."""
HALF_LIFE: Final = 1000 * 86_400
"""Seconds after which a commit counts half. From half a year to no decay at all, recall differed by 0.02 to 0.10
between repositories, and this came out best or next to it in most."""
RECENT: Final = 180 * 86_400
"""The same for how busy a file is of late."""
KEPT: Final = 60
"""Partners kept of a file."""


class Commit(NamedTuple):
    """When it was made, and the files that it left changed or new, by their present names."""

    time: int
    paths: tuple[str, ...]


class Origin(NamedTuple):
    """Which commit it is, who wrote it, and the first line of what was said."""

    commit: str
    author: str
    subject: str


class History(NamedTuple):
    """The newest commits before `head`, newest first, and all Go files there, also those that no build would take."""

    head: str
    commits: tuple[Commit, ...]
    files: frozenset[str] = frozenset()
    subjects: tuple[str, ...] = ()
    """the first lines of the commits' messages, in their order"""
    origins: tuple[Origin, ...] = ()
    """the same with their names and authors"""


class Partner(NamedTuple):
    """A file that changed together with another, in so many commits."""

    path: str
    weight: float
    commits: int


class Coupled(NamedTuple):
    """What the history says of one file, or of one directory taken as a whole.

    `mass` is the weight of all its commits, `commits` their number; `busy` grows with how often it changed of late.
    """

    path: str
    mass: float
    commits: int
    busy: float
    partners: tuple[Partner, ...]


@lru_cache(maxsize=1 << 16)
def directory_of(path: str) -> str:
    """Of a file, with a slash at the end: "./" at the root."""
    return path[: path.rfind("/") + 1] or "./"


def couplings(history: History | None, files: Collection[str]) -> dict[str, Coupled]:
    """Of every file that some commit changed, and of its directory ("dir/")."""
    if history is None or not history.commits:
        return {}
    now = max(commit.time for commit in history.commits)
    existing = files if isinstance(files, (set, frozenset)) else set(files)
    weights: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    masses: defaultdict[str, float] = defaultdict(float)
    totals: defaultdict[str, int] = defaultdict(int)
    busy: defaultdict[str, float] = defaultdict(float)
    for time, changed in history.commits:
        paths = sorted({path for path in changed if path in existing})
        if not paths or len(changed) > LARGEST:
            continue
        age = now - time
        weight, recent = 0.5 ** (age / HALF_LIFE), 0.5 ** (age / RECENT)
        places = sorted({directory_of(path) for path in paths})
        for path in (*paths, *places):
            masses[path] += weight
            totals[path] += 1
            busy[path] += recent
        if len(paths) > 1:
            share = weight / (len(paths) - 1)
            for path in (*paths, *places):
                row, seen = weights[path], counts[path]
                for other in paths:
                    if other != path:
                        row[other] += share
                        seen[other] += 1
    return {
        path: Coupled(path, mass, totals[path], log1p(3 * busy[path]), _strongest(weights.get(path), counts.get(path)))
        for path, mass in sorted(masses.items())
    }


def _strongest(weights: dict[str, float] | None, counts: dict[str, int] | None) -> tuple[Partner, ...]:
    if weights is None or counts is None:
        return ()
    ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Partner(path, round(weight, 4), counts[path]) for path, weight in ordered[:KEPT])
