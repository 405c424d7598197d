"""The Go files outside a change that its author should look at, best first.

Each reason adds to the score of a file: its code uses what changed, its tests reach it, git's history has it changed
together with a changed file, it has the name of a changed file, or it is in the same directory. The judge are the
fix-ups of real commits (`benchmarks/affected.py`): what had to be mended later, and was not in the commit. Weights that
were fitted to some repositories were no better on another one than these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Final

from golore.graph.changes.described import companion_pairs
from golore.graph.changes.test_selection import ChosenTest
from golore.graph.database.store import Store
from golore.graph.phrases import counted
from golore.graph.queries.answers import Reached

MOST: Final = 30
_CERTAIN: Final = 1.0
_CANDIDATE: Final = 0.4
_TESTED: Final = 0.6
_TOGETHER: Final = 2.0
_SAME_STEM: Final = 1.5
_SAME_DIRECTORY: Final = 0.5
_MANY: Final = 0.15
"""How much each doubling of the number of uses adds."""
_FARTHER: Final = 0.15
_DOUBT: Final = 2
"""Commits added to those of a file: two of two are less than nine of ten."""


@dataclass(frozen=True, slots=True)
class NearbyFile:
    """A file that is not in the change. `why`: the reasons, the strongest first."""

    path: str
    score: float
    why: tuple[str, ...]


def nearby_files(
    store: Store, changed: Collection[str], users: Collection[Reached], tests: Iterable[ChosenTest]
) -> tuple[NearbyFile, ...]:
    """The files near the changed ones. `users` and `tests` are those of the change."""
    reasons: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for reached, weight, verb in (
        ([one for one in users if one.certain], _CERTAIN, "uses it"),
        ([one for one in users if not one.certain], _CANDIDATE, "may use it"),
    ):
        for file, (distance, number) in _nearest((one.symbol.file, one.depth) for one in reached).items():
            how = f"{verb} in {counted(number, 'declaration')}" if distance == 1 else f"{verb} over {distance} steps"
            reasons[file].append((weight / distance * _amount(number + 1), how))
    distances: defaultdict[str, list[int]] = defaultdict(list)
    for one in tests:
        distances[one.symbol.file].append(one.distance)
    for file, those in distances.items():
        score = _TESTED / (1 + _FARTHER * min(those)) * _amount(len(those))
        reasons[file].append((score, f"{counted(len(those), 'test')} to run"))
    for file, pairs in _together(store, changed).items():
        apart = 1.0
        for shared, commits in pairs:
            apart *= 1 - shared / (commits + _DOUBT)
        shared, commits = max(pairs, key=lambda pair: pair[0] / (pair[1] + _DOUBT))
        reasons[file].append((_TOGETHER * (1 - apart), f"changed together in {shared} of {commits} commits"))
    stems = {_stem(path) for path in changed}
    for file in _in_directories(store, {_directory(path) for path in changed if path.endswith(".go")}):
        reasons[file].append((_SAME_DIRECTORY, "same directory"))
        if _stem(file) in stems:
            reasons[file].append((_SAME_STEM, "same name"))
    return _ranked({file: those for file, those in reasons.items() if file not in changed})


def _ranked(reasons: Mapping[str, list[tuple[float, str]]]) -> tuple[NearbyFile, ...]:
    found = [
        NearbyFile(
            path, round(sum(score for score, _ in those), 3), tuple(why for _, why in sorted(those, reverse=True))
        )
        for path, those in reasons.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.score, one.path))[:MOST])


def _nearest(places: Iterable[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    """For each file, the smallest distance and how often it occurs."""
    found: dict[str, tuple[int, int]] = {}
    for file, distance in places:
        known, number = found.get(file, (distance, 0))
        if distance < known:
            known, number = distance, 0
        found[file] = (known, number + (distance == known))
    return found


def _amount(number: int) -> float:
    return 1 + _MANY * log(number)


def _together(store: Store, changed: Collection[str]) -> dict[str, list[tuple[int, int]]]:
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for file in sorted(changed):
        for other, shared, commits in companion_pairs(store, file):
            found[other].append((shared, commits))
    return found


def _in_directories(store: Store, directories: Collection[str]) -> list[str]:
    statement = "MATCH (p:Package)-[:CONTAINS]->(f:File) WHERE p.dir IN $directories RETURN f.path"
    return sorted({path for (path,) in store.rows(statement, {"directories": sorted(directories)})})


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _stem(path: str) -> str:
    """The path without its ending, and without that of a test."""
    return path.removesuffix(".go").removesuffix("_test")
