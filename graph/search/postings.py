"""Postings: the documents that contain a term, and its counts in each of their parts, packed into bytes.

A posting is six bytes: four for the document, two for the counts. Each count is capped, as more of the same word says
hardly more. The bytes are in this machine's order, as the cache that they are in never leaves it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

PATH_SHIFT: Final = 10
NAME_SHIFT: Final = 12
"""Where the counts of a term in the path and in names begin, in bits."""
MAX_TEXT: Final = (1 << PATH_SHIFT) - 1
MAX_PATH: Final = (1 << (NAME_SHIFT - PATH_SHIFT)) - 1
MAX_NAME: Final = (1 << (16 - NAME_SHIFT)) - 1
_SIZE: Final = 6
_COUNTS_BITS: Final = 16


class Postings(NamedTuple):
    """Documents in ascending order, and the counts of each as `packed_counts` packs them."""

    documents: array[int]
    counts: array[int]


def empty() -> Postings:
    return Postings(array("I"), array("H"))


def packed_counts(text: int, path: int = 0, name: int = 0) -> int:
    """The occurrences of a term in a document's text, in its path, and in the names it declares, as one number."""
    return min(text, MAX_TEXT) | min(path, MAX_PATH) << PATH_SHIFT | min(name, MAX_NAME) << NAME_SHIFT


def to_bytes(postings: Postings) -> bytes:
    return postings.documents.tobytes() + postings.counts.tobytes()


def from_bytes(data: bytes) -> Postings:
    documents, counts = empty()
    end = len(data) // _SIZE * 4
    documents.frombytes(data[:end])
    counts.frombytes(data[end:])
    return Postings(documents, counts)


class PostingLists:
    """Collects postings of short texts: subjects of commits, packages, notes. Documents are added in their order."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, document: int, counts: Mapping[str, int]) -> None:
        """Add a document by the number of occurrences of each term in its text."""
        above = document << _COUNTS_BITS
        for term, times in counts.items():
            self._found[term].append(above | (times if times < MAX_TEXT else MAX_TEXT))

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """The terms in their order, with their postings as `to_bytes` makes them."""
        for term, found in sorted(self._found.items()):
            documents, counts = [one >> _COUNTS_BITS for one in found], [one & MAX_TEXT for one in found]
            yield term, array("I", documents).tobytes() + array("H", counts).tobytes()


def changed(data: bytes | None, changes: Mapping[int, int]) -> bytes:
    """The postings after the counts of some documents changed; a count of 0 removes a document."""
    before = from_bytes(data or b"")
    counts_of = dict(zip(before.documents, before.counts, strict=True))
    counts_of.update(changes)
    rows = sorted((document, counts) for document, counts in counts_of.items() if counts)
    return to_bytes(Postings(array("I", [row[0] for row in rows]), array("H", [row[1] for row in rows])))
