"""Scores of an audit: golore's edges by the verdict of the judge, and where declarations are."""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

_Pair = TypeVar("_Pair", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    wrong: int
    missed: int
    unjudged: int

    @property
    def precision(self) -> float:
        """The share of golore's edges that are right; 1 if it has none."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """The share of the judge's edges that golore has; 1 if there are none."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


DeclarationLocation = tuple[str, int]
"""File and line of a declaration; outside the repository, its qualified name and 0."""


def location(name: str, file: str, line: int) -> DeclarationLocation:
    """The location of a declaration. Vendored code counts as external, as it does for the judge."""
    if not file or file.startswith("vendor/") or "/vendor/" in file:
        return (name, 0)
    return (file, line)


def simple_name(qualified: str) -> str:
    return qualified.rpartition(".")[2]


class Tally(Generic[_Pair]):
    """golore's distinct pairs, by the verdict of the judge."""

    def __init__(self) -> None:
        self.right: set[_Pair] = set()
        self.wrong: set[_Pair] = set()
        self.unjudged: set[_Pair] = set()

    def add(self, pair: _Pair, truth: Container[_Pair], unknown: bool) -> Literal["right", "wrong", "unjudged"]:
        if pair in truth:
            self.right.add(pair)
            return "right"
        if unknown:
            self.unjudged.add(pair)
            return "unjudged"
        self.wrong.add(pair)
        return "wrong"

    def score(self, truth_count: int) -> Score:
        return Score(len(self.right), len(self.wrong), truth_count - len(self.right), len(self.unjudged))
