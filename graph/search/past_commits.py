"""Past commits as a way to files: what was said when a file was changed, from `History` to a few arrays and back.

A commit is a document whose terms are those of its subject; it leads to the files it changed, by their present names.
Commits of very many files lead nowhere in particular and are left out. Their weights are counted from the newest
commit and not from the clock, so that the same history gives the same answers.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping
from math import log1p
from typing import Final, NamedTuple

import msgspec
from golore.graph.history.co_change import HALF_LIFE, LARGEST, RECENT, History
from golore.graph.search import postings
from golore.graph.search.postings import Counts, Postings, packed_counts
from golore.graph.search.terms import terms


class PastWork(msgspec.Struct, frozen=True, array_like=True):
    """`files` are positions in `paths`; those of commit n stand from `starts[n]` to `starts[n + 1]`. `ages` are in
    seconds, `lengths` the numbers of terms in the subjects."""

    paths: list[str]
    ages: list[int]
    lengths: list[int]
    starts: list[int]
    files: list[int]


class CommitTerms(NamedTuple):
    """What is stored of a history: the commits, and in which of them a term occurs."""

    work: PastWork
    postings: Mapping[str, Postings]


NOTHING: Final = PastWork([], [], [], [0], [])


def commit_terms(history: History | None) -> CommitTerms:
    if history is None or not history.commits:
        return CommitTerms(NOTHING, {})
    newest = max(commit.time for commit in history.commits)
    at: dict[str, int] = {}
    work = PastWork([], [], [], [0], [])
    held: defaultdict[str, Postings] = defaultdict(postings.empty)
    for commit, subject in zip(history.commits, history.subjects, strict=True):
        if not commit.paths or len(commit.paths) > LARGEST:
            continue
        number = len(work.ages)
        found = terms(without_numbers(subject))
        counts: dict[str, int] = {}
        for term in found:
            counts[term] = counts.get(term, 0) + 1
        for term, times in counts.items():
            documents, numbers = held[term]
            documents.append(number)
            numbers.append(packed_counts(Counts(times)))
        work.ages.append(newest - commit.time)
        work.lengths.append(len(found))
        work.files.extend(at.setdefault(path, len(at)) for path in commit.paths)
        work.starts.append(len(work.files))
    work.paths.extend(at)
    return CommitTerms(work, held)


def packed(work: PastWork) -> bytes:
    return msgspec.msgpack.encode(work)


def unpacked(data: bytes) -> PastWork:
    return msgspec.msgpack.decode(data, type=PastWork) if data else NOTHING


def without_numbers(text: str) -> str:
    """A text without the numbers of issues in it: `(#123)`."""
    before, *parts = text.split("#")
    return before + "".join(part.lstrip("0123456789") for part in parts)


class Chronicle(NamedTuple):
    """A history as it concerns the files of an index, ready for questions. Lists are by the file's number there."""

    weights: array[float]
    """of each commit: how much it counts for its age"""
    files: list[list[int]]
    """of each commit, those that exist"""
    lengths: list[int]
    subjects: list[int]
    """terms in all subjects of a file's commits"""
    busy: list[float]
    """how often a file changed of late, 1 for the busiest"""
    told: int
    """files that some commit changed"""


def chronicle(work: PastWork, numbers: Mapping[str, int], size: int) -> Chronicle:
    """`numbers` are the files' numbers by path, all below `size`."""
    known = [numbers.get(path, -1) for path in work.paths]
    subjects, recent = [0] * size, [0.0] * size
    weights = array("d", (0.5 ** (age / HALF_LIFE) for age in work.ages))
    files: list[list[int]] = []
    for number, age in enumerate(work.ages):
        changed = [known[at] for at in work.files[work.starts[number] : work.starts[number + 1]] if known[at] >= 0]
        files.append(changed)
        late = 0.5 ** (age / RECENT)
        for file in changed:
            subjects[file] += work.lengths[number]
            recent[file] += late
    busy = [log1p(value) for value in recent]
    most = max(busy, default=0.0) or 1.0
    told = sum(1 for length in subjects if length)
    return Chronicle(weights, files, work.lengths, subjects, [value / most for value in busy], told)
