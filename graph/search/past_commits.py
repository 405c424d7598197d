"""Finds files by the subjects of the commits that changed them: `History` → a few arrays, and back.

A commit is a document whose terms are those of its subject; it leads to the files it changed, by their present names.
Commits that changed very many files are left out, as they say little about any of them. Ages are counted from the
newest commit and not from the clock, so that the same history gives the same answers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from golore.graph.history.co_change import MAX_FILES_PER_COMMIT, History
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
