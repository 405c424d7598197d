"""Ranks the best files of a search by words again, after a closer look at each: its declarations and its text.

Only files that the index ranks high, or that have most words of the question, are looked at, so that the cost does not
grow with the repository. The rest keep their totals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import nsmallest
from typing import Final, NamedTuple

from golore.graph.search.close_reading.declaration_fit import best_fit
from golore.graph.search.close_reading.exact_phrases import Phrase, PhraseHit
from golore.graph.search.index import SearchIndex
from golore.graph.search.index_entries import TEST, FileRow
from golore.graph.search.terms import folded

_BEST: Final = 40
_COVERING: Final = 30
"""Files that are looked at: the best by their totals, and those that have most of the question's words."""
_FIT_WEIGHT: Final = 0.35
_PHRASE_WEIGHT: Final = 0.8
_SURE_PHRASE: Final = 0.7
_TEST_DIRECTORIES: Final = frozenset(
    ("_examples", "benchmark", "examples", "mock", "mocks", "test", "testdata", "tests")
)
_TEST_FACTOR: Final = 0.75
_FIRST: Final = 10
"""Tests are put after code among so many first files; what is among them does not change."""


class Candidates(NamedTuple):
    """The files of a search by words. `plain` are the totals without other forms of its words, `cover` the share of the
    question that a file has; `read` returns the text of a file."""

    files: Mapping[int, FileRow]
    totals: Mapping[int, float]
    plain: Mapping[int, float]
    cover: Mapping[int, float]
    is_allowed: Callable[[int], bool]
    read: Callable[[str], str] | None


class Wording(NamedTuple):
    """A question as it was written, its terms, the weights of these and of their other forms, its words, joined, and
    the actions that it asks for the place of."""

    text: str
    terms: tuple[str, ...]
    weights: Mapping[str, float]
    joined: frozenset[str]
    actions: frozenset[str] = frozenset()


class CloseLook(NamedTuple):
    """The totals after the closer look, and its parts: how well the best declaration fits, and where a file has words
    of the question in a row."""

    totals: dict[int, float]
    fits: dict[int, float]
    phrases: dict[int, PhraseHit]

    def parts(self, file: int) -> dict[str, float]:
        """What the closer look adds to the total of a file."""
        phrase = self.phrases[file].value if file in self.phrases else 0.0
        return {"declaration": _FIT_WEIGHT * self.fits.get(file, 0.0), "phrase": _PHRASE_WEIGHT * phrase}


def look_closely(index: SearchIndex, found: Candidates, asked: Wording, *, tests_last: bool) -> CloseLook:
    chosen = _chosen(found)
    total = sum(asked.weights.get(term, 0.0) for term in asked.terms) or 1.0
    fits = {file: best_fit(index.symbols(file), asked.weights, total, asked.actions) for file in chosen}
    phrases = _phrases(found, chosen, Phrase(asked.text, asked.weights))
    totals = dict(found.totals)
    look = CloseLook(totals, fits, phrases)
    for file in chosen:
        totals[file] = totals.get(file, 0.0) + sum(look.parts(file).values())
    sure = {file for file, hit in phrases.items() if hit.value >= _SURE_PHRASE}
    sure |= {file for file in chosen if _is_called(found.files[file].path, asked.joined)}
    _keep_first(totals, chosen, found.plain, sure)
    if tests_last:
        _put_tests_after_code(totals, chosen, found.files)
    return look


def _phrases(found: Candidates, chosen: Iterable[int], phrase: Phrase) -> dict[int, PhraseHit]:
    if found.read is None:
        return {}
    hits = {file: phrase.hit_in(found.read(found.files[file].path)) for file in chosen}
    return {file: hit for file, hit in hits.items() if hit is not None}


def _chosen(found: Candidates) -> list[int]:
    allowed = [file for file in found.totals if found.is_allowed(file)]
    best = nsmallest(_BEST, allowed, lambda file: (-found.totals[file], file))
    covering = nsmallest(_COVERING, allowed, lambda file: (-found.cover.get(file, 0.0), -found.totals[file], file))
    return list(dict.fromkeys((*best, *covering)))


def _is_called(path: str, joined: Collection[str]) -> bool:
    """Whether a file or its directory is called like words of the question, joined."""
    return bool(joined) and not {folded(part.removesuffix(".go")) for part in path.split("/")[-2:]}.isdisjoint(joined)


def _keep_first(
    totals: dict[int, float], chosen: Collection[int], plain: Mapping[int, float], sure: Collection[int]
) -> None:
    """Keep the files that the index ranks first among the first, whatever their order. Only files that have the words
    of the question in a row, or in their name, may join them: what one declaration says about which files are
    concerned is less than what all signals say together."""
    first = nsmallest(_FIRST, chosen, lambda file: (-plain.get(file, 0.0), file))
    least = min((totals[file] for file in first), default=0.0)
    for file in set(chosen).difference(first, sure):
        if totals[file] > least:
            totals[file] = least * (0.99 + 0.01 * totals[file] / (1 + totals[file]))


def _is_test(row: FileRow) -> bool:
    return bool(row.flags & TEST) or not _TEST_DIRECTORIES.isdisjoint(row.path.split("/")[:-1])


def _put_tests_after_code(totals: dict[int, float], chosen: list[int], files: Mapping[int, FileRow]) -> None:
    """Lower the totals of tests among the first files, but not below the files that come after these."""
    first = sorted(chosen, key=lambda file: (-totals[file], files[file].path))
    least = totals[first[_FIRST]] if len(first) > _FIRST else 0.0
    code = {files[file].path: totals[file] for file in first if not _is_test(files[file])}
    for file in first[:_FIRST]:
        if _is_test(files[file]):
            tested = code.get(f"{files[file].path.removesuffix('_test.go')}.go", totals[file])
            totals[file] = max(min(totals[file] * _TEST_FACTOR, tested * 0.999), least * (1 + 0.001 * totals[file]))
