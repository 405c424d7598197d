"""Which other files someone who edits a file should know, best first: a blend of what history and structure say.

The weights were measured (see `WEIGHTS`); each source is a plain number for a pair of files. What the numbers are made
from is given: couplings, uses between files and names. Reading them is others' affair.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from math import fsum, inf, log1p, sqrt
from typing import Final, NamedTuple

from golore.graph.history.co_change import Coupled, directory_of

MOST: Final = 30
_DOUBT: Final = 0.5
"""Added to a file's mass: one commit long ago does not make a certainty."""
_FIRST: Final = 12
"""Partners whose own partners are looked at, and how many of those."""
_SECOND: Final = 25
_NAMESAKES: Final = 30
_CAMEL: Final = re.compile(r"([a-z0-9])([A-Z])")
_WORD: Final = re.compile(r"[a-z]+|[0-9]+")
_BUILDS: Final = frozenset(
    "linux windows darwin freebsd openbsd netbsd solaris illumos dragonfly plan9 aix android ios js wasm unix other "
    "amd64 arm64 arm 386 ppc64 ppc64le s390x riscv64 loong64 mips mips64 unsupported notlinux nolinux stub".split()
)


class Weights(NamedTuple):
    together: float
    """log of the share of the file's commits that also changed the other one"""
    often: float
    """root of the same share"""
    through: float
    """root of that share over one file between"""
    directory: float
    """root of the share of the directory's commits that also changed the other one"""
    sibling: float
    """in the same directory, less the larger it is"""
    namesake: float
    """the same name elsewhere, less the more there are"""
    alike: float
    """words that names in one directory share"""
    calls: float
    called: float
    used: float
    """the other one refers to what is declared here"""
    busy: float
    """the other one changed much of late"""
    common: float
    """the other one changes much anyway"""


WEIGHTS: Final = Weights(1.2, -3.1, 3.6, 2.0, 3.7, 1.5, 1.1, 0.5, 0.5, 0.4, 0.35, -0.3)
"""Fitted to the newest 400 commits of five repositories (cobra, syft, hugo, prometheus, etcd) so that the files that
were changed together come first, and checked on six others; see benchmarks/usefulness.py."""


class Surroundings(NamedTuple):
    """What is known around the files of a repository. The mappings may look things up when they are asked."""

    coupled: Callable[[str], Coupled | None]
    siblings: Callable[[str], Collection[str]]
    """the files of a directory ("dir/")"""
    namesakes: Callable[[str], Collection[str]]
    """the files with a stem"""
    standing: Mapping[str, float] | None = None
    """what each file's own history adds to its score, where that was reckoned before"""


def surroundings(coupled: Mapping[str, Coupled], files: Collection[str]) -> Surroundings:
    """Those of files that are all in memory."""
    places, stems = by_directory(files), by_stem(files)

    def siblings(place: str) -> Collection[str]:
        return places.get(place, ())

    def namesakes(stem: str) -> Collection[str]:
        return stems.get(stem, ())

    standing = {path: _standing(history, WEIGHTS) for path, history in coupled.items()}
    return Surroundings(coupled.get, siblings, namesakes, standing)


class UseCounts(NamedTuple):
    """Uses between one file and others, counted: calls from here, calls from there, other uses from there."""

    calls: Mapping[str, int]
    called: Mapping[str, int]
    used: Mapping[str, int]


def scores(path: str, around: Surroundings, uses: UseCounts, weights: Weights = WEIGHTS) -> dict[str, float]:
    """How much each other file matters to someone who edits this one, for all that have any tie to it."""
    found: defaultdict[str, float] = defaultdict(float)
    place = directory_of(path)
    own = around.coupled(path)
    if own is not None:
        _add_history(found, own, around, weights)
    whole = around.coupled(place)
    if whole is not None:
        for other, weight, _ in whole.partners:
            found[other] += weights.directory * sqrt(weight / (whole.mass + _DOUBT))
    _add_names(found, path, place, around, weights)
    for counts, weight in ((uses.calls, weights.calls), (uses.called, weights.called), (uses.used, weights.used)):
        total = sqrt(fsum(map(log1p, counts.values())))
        for other, number in counts.items():
            found[other] += weight * log1p(number) / total
    found.pop(path, None)
    standing = around.standing if weights is WEIGHTS else None
    for other in found:
        if standing is not None:
            found[other] += standing.get(other, 0.0)
        elif (history := around.coupled(other)) is not None:
            found[other] += _standing(history, weights)
    return found


def _standing(history: Coupled, weights: Weights) -> float:
    """What a file's own history adds, whatever it is to another."""
    return weights.busy * history.busy + weights.common * log1p(history.mass)


def best_files(found: Mapping[str, float], most: int = MOST) -> list[str]:
    least = sorted(found.values(), reverse=True)[most - 1] if len(found) > most else -inf
    # Numbers alone are sorted quickly; of pairs there are few left then.
    return [path for _, path in sorted([(-score, path) for path, score in found.items() if score >= least])[:most]]


def _add_history(found: defaultdict[str, float], own: Coupled, around: Surroundings, weights: Weights) -> None:
    through: defaultdict[str, float] = defaultdict(float)
    whole, coupled = own.mass + _DOUBT, around.coupled
    for at, (path, weight, _) in enumerate(own.partners):
        share = weight / whole
        found[path] += weights.together * log1p(100 * share) + weights.often * sqrt(share)
        between = coupled(path) if at < _FIRST else None
        if between is not None:
            share /= between.mass + _DOUBT
            for other, second, _ in between.partners[:_SECOND]:
                through[other] += share * second
    for other, share in through.items():
        found[other] += weights.through * sqrt(share)


def _add_names(found: defaultdict[str, float], path: str, place: str, around: Surroundings, weights: Weights) -> None:
    siblings = around.siblings(place)
    near, own = weights.sibling / sqrt(max(1, len(siblings))), words_of(path)
    for other in siblings:
        theirs = words_of(other)
        shared = len(own & theirs)
        found[other] += near + (weights.alike * shared / (len(own) + len(theirs) - shared) if shared else 0.0)
    namesakes = around.namesakes(stem_of(path))
    if len(namesakes) < _NAMESAKES:
        for other in namesakes:
            if directory_of(other) != place:
                found[other] += weights.namesake / sqrt(len(namesakes))


@lru_cache(maxsize=1 << 16)
def stem_of(path: str) -> str:
    """A file's name without what tells tests and builds apart: `sync` of a/sync_linux_test.go."""
    name = path.rpartition("/")[2].removesuffix(".go").removesuffix("_test")
    parts = name.split("_")
    while len(parts) > 1 and parts[-1] in _BUILDS:
        parts.pop()
    return "_".join(parts)


@lru_cache(maxsize=1 << 16)
def words_of(path: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_CAMEL.sub(r"\1_\2", stem_of(path)).lower()))


def by_stem(files: Iterable[str]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(files):
        found[stem_of(path)].append(path)
    return found


def by_directory(files: Iterable[str]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(files):
        found[directory_of(path)].append(path)
    return found
