"""Postings: the documents that contain a term, and its counts in each of their parts, packed into bytes.

A posting is six bytes: four for the document, two for the counts. Each count is capped, as more of the same word says
hardly more. The bytes are in this machine's order, as the cache that they are in never leaves it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

_TEXT_BITS: Final = 10
_PATH_BITS: Final = 2
MAX_TEXT: Final = (1 << _TEXT_BITS) - 1
_MAX_PATH: Final = (1 << _PATH_BITS) - 1
_MAX_NAME: Final = (1 << (16 - _TEXT_BITS - _PATH_BITS)) - 1
_SIZE: Final = 6


class Counts(NamedTuple):
    """The occurrences of a term in a document's text, in its path, and in the names it declares."""

    text: int
    path: int = 0
    name: int = 0


class Postings(NamedTuple):
    """Documents in ascending order, and the counts of each as `packed_counts` packs them."""

    documents: array[int]
    counts: array[int]


def empty() -> Postings:
    return Postings(array("I"), array("H"))


def packed_counts(counts: Counts) -> int:
    text, path, name = counts
    return min(text, MAX_TEXT) | min(path, _MAX_PATH) << _TEXT_BITS | min(name, _MAX_NAME) << (_TEXT_BITS + _PATH_BITS)


def to_bytes(postings: Postings) -> bytes:
    return postings.documents.tobytes() + postings.counts.tobytes()


def from_bytes(data: bytes) -> Postings:
    documents, counts = empty()
    end = len(data) // _SIZE * 4
    documents.frombytes(data[:end])
    counts.frombytes(data[end:])
    return Postings(documents, counts)


def changed(data: bytes | None, changes: Mapping[int, int]) -> bytes:
    """The postings after the counts of some documents changed; a count of 0 removes a document."""
    before = from_bytes(data or b"")
    counts_of = dict(zip(before.documents, before.counts, strict=True))
    counts_of.update(changes)
    rows = sorted((document, counts) for document, counts in counts_of.items() if counts)
    return to_bytes(Postings(array("I", [row[0] for row in rows]), array("H", [row[1] for row in rows])))
