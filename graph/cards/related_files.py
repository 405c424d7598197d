"""Scores which other files someone who edits a file should know, from history and structure.

A score is a weighted sum of numbers about a pair of files, which come from couplings, uses between files and file
names. The weights were fitted to real histories (see `WEIGHTS`). The module reads no store: callers pass the data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from math import fsum, inf, log1p, sqrt
from typing import Final, NamedTuple

from golore.graph.history.co_change import FileHistory, directory_of

MAX_RELATED: Final = 30
"""Most related files of a file."""
_DOUBT: Final = 0.5
"""Added to a file's mass, so that a single old commit does not count as a certainty."""
_FIRST: Final = 12
"""Number of partners whose own partners are considered."""
_SECOND: Final = 25
"""Number of partners that are considered of each of those."""
_NAMESAKES: Final = 30
"""With this many files of one stem or more, the stem is ignored."""
CONVENTIONAL: Final = frozenset(("doc", "main"))
"""Stems that every package may have: two such files have nothing to do with each other."""
_CAMEL: Final = re.compile(r"([a-z0-9])([A-Z])")
_WORD: Final = re.compile(r"[a-z]+|[0-9]+")
_BUILDS: Final = frozenset(
    "linux windows darwin freebsd openbsd netbsd solaris illumos dragonfly plan9 aix android ios js wasm unix other "
    "amd64 arm64 arm 386 ppc64 ppc64le s390x riscv64 loong64 mips mips64 unsupported notlinux nolinux stub".split()
)


class Weights(NamedTuple):
    together: float
    """logarithm of the share of the file's commits that also changed the other file"""
    often: float
    """square root of that share"""
    through: float
    """square root of that share by way of a third file"""
    directory: float
    """square root of the share of the directory's commits that also changed the other file"""
    sibling: float
    """the other file is in the same directory; less in a larger directory"""
    namesake: float
    """the other file has the same stem in another directory; less if many files have it"""
    alike: float
    """words that the names of two files in one directory share"""
    calls: float
    """the file calls the other one"""
    called: float
    """the other file calls this one"""
    used: float
    """the other file uses declarations of this one without calling them"""
    busy: float
    """the other file changed often recently"""
    common: float
    """the other file changes often anyway"""


WEIGHTS: Final = Weights(1.2, -3.1, 3.6, 2.0, 3.7, 1.5, 1.1, 0.5, 0.5, 0.4, 0.35, -0.3)
"""Fitted to the newest 400 commits of five repositories (cobra, syft, hugo, prometheus, etcd), so that files that were
changed together come first, and checked on six others; see benchmarks/usefulness.py."""


class Surroundings(NamedTuple):
    """Data about the files of a repository. The functions may query a database when they are called."""

    coupled: Callable[[str], FileHistory | None]
    siblings: Callable[[str], Collection[str]]
    """the files of a directory ("dir/")"""
    namesakes: Callable[[str], Collection[str]]
    """the files with a stem (see `stem_of`)"""
    history_scores: dict[str, float] | None = None
    """what each file's own history adds to its score under `WEIGHTS`, if it was computed in advance"""


def surroundings(
    coupled: Mapping[str, FileHistory], files: Collection[str], history_scores: dict[str, float] | None = None
) -> Surroundings:
    """The `Surroundings` of files that are all in memory."""
    directories, stems = by_directory(files), by_stem(files)

    def siblings(directory: str) -> Collection[str]:
        return directories.get(directory, ())

    def namesakes(stem: str) -> Collection[str]:
        return stems.get(stem, ())

    if history_scores is None:
        history_scores = {path: history_score(history.mass, history.busy) for path, history in coupled.items()}
    return Surroundings(coupled.get, siblings, namesakes, history_scores)


class UseCounts(NamedTuple):
    """Counts of uses between one file and others, by the other file: calls to it, calls from it, other uses from it."""

    calls: Mapping[str, int]
    called: Mapping[str, int]
    used: Mapping[str, int]


def scores(path: str, around: Surroundings, uses: UseCounts, weights: Weights = WEIGHTS) -> dict[str, float]:
    """The score of each file that has any relation to this one: how much it matters to someone who edits this one."""
    scored: dict[str, float] = {}
    directory = directory_of(path)
    own = around.coupled(path)
    if own is not None:
        _add_history(scored, own, around, weights)
    directory_history = around.coupled(directory)
    if directory_history is not None:
        of_directory, mass = weights.directory, directory_history.mass + _DOUBT
        for other, weight, _, _ in directory_history.partners:
            scored[other] = scored.get(other, 0.0) + of_directory * sqrt(weight / mass)
    _add_names(scored, path, directory, around, weights)
    for counts, weight in ((uses.calls, weights.calls), (uses.called, weights.called), (uses.used, weights.used)):
        total = sqrt(fsum([log1p(count) for count in counts.values()]))
        for other, count in counts.items():
            scored[other] = scored.get(other, 0.0) + weight * log1p(count) / total
    scored.pop(path, None)
    history_scores = around.history_scores if weights is WEIGHTS else None
    if history_scores is not None:
        return {other: score + history_scores.get(other, 0.0) for other, score in scored.items()}
    for other in scored:
        if (history := around.coupled(other)) is not None:
            scored[other] += history_score(history.mass, history.busy, weights)
    return scored


def history_score(mass: float, busy: float, weights: Weights = WEIGHTS) -> float:
    """What a file's own history adds to its score, regardless of the other file (see `FileHistory`)."""
    return weights.busy * busy + weights.common * log1p(mass)


def best_files(scored: Mapping[str, float], most: int = MAX_RELATED) -> list[str]:
    least = sorted(scored.values(), reverse=True)[most - 1] if len(scored) > most else -inf
    # Sorting numbers alone is fast; it leaves few pairs to sort.
    return [path for _, path in sorted([(-score, path) for path, score in scored.items() if score >= least])[:most]]


def _add_history(scored: dict[str, float], own: FileHistory, around: Surroundings, weights: Weights) -> None:
    through: dict[str, float] = {}
    mass, coupled = own.mass + _DOUBT, around.coupled
    together, often = weights.together, weights.often
    for index, (path, weight, _, _) in enumerate(own.partners):
        share = weight / mass
        scored[path] = scored.get(path, 0.0) + (together * log1p(100 * share) + often * sqrt(share))
        middle = coupled(path) if index < _FIRST else None
        if middle is not None:
            share /= middle.mass + _DOUBT
            for other, second, _, _ in middle.partners[:_SECOND]:
                through[other] = through.get(other, 0.0) + share * second
    of_through = weights.through
    for other, share in through.items():
        scored[other] = scored.get(other, 0.0) + of_through * sqrt(share)


def _add_names(scored: dict[str, float], path: str, directory: str, around: Surroundings, weights: Weights) -> None:
    siblings = around.siblings(directory)
    sibling_score, words, alike = weights.sibling / sqrt(max(1, len(siblings))), words_of(path), weights.alike
    for other in siblings:
        other_words = words_of(other)
        shared = len(words & other_words)
        score = sibling_score + (alike * shared / (len(words) + len(other_words) - shared) if shared else 0.0)
        scored[other] = scored.get(other, 0.0) + score
    stem = stem_of(path)
    namesakes = around.namesakes(stem)
    if len(namesakes) < _NAMESAKES and stem not in CONVENTIONAL:
        for other in namesakes:
            if directory_of(other) != directory:
                scored[other] = scored.get(other, 0.0) + weights.namesake / sqrt(len(namesakes))


@lru_cache(maxsize=1 << 16)
def stem_of(path: str) -> str:
    """A file's name without the suffixes for tests and builds: `sync` for a/sync_linux_test.go."""
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
