"""Finds files by the subjects of the commits that changed them: `History` → a few arrays, and back.

A commit is a document whose terms are those of its subject; it leads to the files it changed, by their present names.
Commits that changed very many files are left out, as they say little about any of them. Ages are counted from the
newest commit and not from the clock, so that the same history gives the same answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import log1p
from typing import Final, NamedTuple

import msgspec
from golore.graph.history.co_change import HALF_LIFE, MAX_FILES_PER_COMMIT, RECENT, History
from golore.graph.search.postings import PostingLists
from golore.graph.search.term_counts import term_counts


class CommitArrays(msgspec.Struct, frozen=True, array_like=True):
    """The commits of a history. `files` are positions in `paths`; those of commit n are from `starts[n]` to
    `starts[n + 1]`. `ages` are in seconds, `lengths` are the numbers of terms in the subjects."""

    paths: list[str]
    ages: list[int]
    lengths: list[int]
    starts: list[int]
    files: list[int]


class CommitTerms(NamedTuple):
    """What is stored of a history: the commits, and for each term the commits whose subjects contain it."""

    work: CommitArrays
    postings: PostingLists


NOTHING: Final = CommitArrays([], [], [], [0], [])


def commit_terms(history: History | None) -> CommitTerms:
    if history is None or not history.commits:
        return CommitTerms(NOTHING, PostingLists())
    newest = max(commit.time for commit in history.commits)
    positions: dict[str, int] = {}
    work = CommitArrays([], [], [], [0], [])
    postings = PostingLists()
    for commit, subject in zip(history.commits, history.subjects, strict=True):
        if not commit.paths or len(commit.paths) > MAX_FILES_PER_COMMIT:
            continue
        number = len(work.ages)
        counts = term_counts(without_numbers(subject).encode("utf-8", "replace"))
        postings.add(number, counts)
        work.ages.append(newest - commit.time)
        work.lengths.append(sum(counts.values()))
        work.files.extend(positions.setdefault(path, len(positions)) for path in commit.paths)
        work.starts.append(len(work.files))
    work.paths.extend(positions)
    return CommitTerms(work, postings)


def packed(work: CommitArrays) -> bytes:
    return msgspec.msgpack.encode(work)


def unpacked(data: bytes) -> CommitArrays:
    return msgspec.msgpack.decode(data, type=CommitArrays) if data else NOTHING


def without_numbers(text: str) -> str:
    """A text without numbers of issues, as in `(#123)`."""
    before, *parts = text.split("#")
    return before + "".join(part.lstrip("0123456789") for part in parts)


class CommitView(NamedTuple):
    """A history, prepared for questions: its files are numbers of files in an index. `subjects` and `busy` are indexed
    by these, the other lists by commit."""

    weights: array[float]
    """of each commit, lower with its age"""
    files: list[list[int]]
    """of each commit, those that exist"""
    lengths: list[int]
    subjects: list[int]
    """terms in all subjects of a file's commits"""
    busy: list[float]
    """how often a file changed recently, 1 for the busiest"""
    changed_files: int
    """number of files that some commit changed"""


def commit_view(work: CommitArrays, numbers: Mapping[str, int], size: int) -> CommitView:
    """Prepare a history for an index. `numbers` are the files' numbers by path, all below `size`."""
    file_numbers = [numbers.get(path, -1) for path in work.paths]
    subjects, recent = [0] * size, [0.0] * size
    weights = array("d", (0.5 ** (age / HALF_LIFE) for age in work.ages))
    files: list[list[int]] = []
    touched = [file_numbers[position] for position in work.files]
    for number, age in enumerate(work.ages):
        changed = touched[work.starts[number] : work.starts[number + 1]]
        if -1 in changed:
            changed = [file for file in changed if file >= 0]
        files.append(changed)
        recency = 0.5 ** (age / RECENT)
        for file in changed:
            subjects[file] += work.lengths[number]
            recent[file] += recency
    busy = [log1p(value) for value in recent]
    largest = max(busy, default=0.0) or 1.0
    changed_files = sum(1 for length in subjects if length)
    return CommitView(weights, files, work.lengths, subjects, [value / largest for value in busy], changed_files)
