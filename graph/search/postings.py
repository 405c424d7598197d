"""In which documents a term occurs, and how often in each of their parts, packed into a few bytes.

A posting is six bytes: four for the document, two for the counts, each of which is cut off where more says no more.
The bytes are in this machine's order, as the cache they stand in never leaves it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

_TEXT_BITS: Final = 10
_PATH_BITS: Final = 2
_TEXT: Final = (1 << _TEXT_BITS) - 1
_PATH: Final = (1 << _PATH_BITS) - 1
_NAME: Final = (1 << (16 - _TEXT_BITS - _PATH_BITS)) - 1
_SIZE: Final = 6


class Counts(NamedTuple):
    """How often a term occurs in a document's text, in its path, and in the names it declares."""

    text: int
    path: int = 0
    name: int = 0


class Postings(NamedTuple):
    """Documents in rising order, and the counts of each as `unpacked` reads them."""

    documents: array[int]
    counts: array[int]


def empty() -> Postings:
    return Postings(array("I"), array("H"))


def packed_counts(counts: Counts) -> int:
    text, path, name = counts
    return min(text, _TEXT) | min(path, _PATH) << _TEXT_BITS | min(name, _NAME) << (_TEXT_BITS + _PATH_BITS)


def to_bytes(postings: Postings) -> bytes:
    return postings.documents.tobytes() + postings.counts.tobytes()


def from_bytes(data: bytes) -> Postings:
    documents, counts = empty()
    end = len(data) // _SIZE * 4
    documents.frombytes(data[:end])
    counts.frombytes(data[end:])
    return Postings(documents, counts)


def changed(data: bytes | None, changes: Mapping[int, int]) -> bytes:
    """The postings after some documents got other counts; 0 takes a document out."""
    before = from_bytes(data or b"")
    held = dict(zip(before.documents, before.counts, strict=True))
    held.update(changes)
    kept = sorted((document, counts) for document, counts in held.items() if counts)
    return to_bytes(Postings(array("I", [row[0] for row in kept]), array("H", [row[1] for row in kept])))
