"""Parts of a search index: what each worker process makes of its files, and their postings merged.

A part has everything about its files as it is stored, so that the process that writes the index has little to do.
Files are numbered before the parts are made; it does not matter which process makes which part, nor in which order.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from golore.graph.search.embedded_texts import meaning_key, meaning_texts
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, FileText, IndexEntry, entry_of
from golore.graph.search.postings import Postings, to_bytes

_COUNTS, _DOCUMENT = (0, 1) if sys.byteorder == "little" else (1, 0)
"""Where the two halves of a posting are while it is one number: the document is above the counts."""
_HALF: Final = 32


class StoredFile(NamedTuple):
    """A file as the tables of the index have it. `meanings` is None if the file has no texts to embed."""

    row: FileRow
    terms: bytes
    symbols: bytes
    meanings: bytes | None


class IndexPart(NamedTuple):
    """Some files of an index. `terms` and `names` have the postings as arrays of 8-byte numbers."""

    files: list[StoredFile]
    terms: dict[str, bytes]
    names: dict[str, bytes]


def numbered(paths: Sequence[str]) -> dict[str, int]:
    """The number of each file in an index of these files."""
    return {path: number for number, path in enumerate(sorted(paths), 1)}


def stored_file(number: int, file: FileText, entry: IndexEntry) -> StoredFile:
    flags = TEST * file.test | GENERATED * file.generated
    row = FileRow(number, file.path, file.digest, file.package, file.module, flags, *entry.lengths)
    terms = zlib.compress(msgspec.msgpack.encode(entry.terms), 1)
    symbols = zlib.compress(msgspec.msgpack.encode(file.symbols), 1)
    meanings = None if flags else b"".join(map(meaning_key, meaning_texts(file.path, file.symbols)))
    return StoredFile(row, terms, symbols, meanings)


class PartBuilder:
    """Collects the files of a part. `numbers` are those of `numbered`."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._files: list[StoredFile] = []
        self._terms: dict[str, array[int]] = {}
        self._names: dict[str, array[int]] = {}

    def add(self, file: FileText) -> None:
        number, entry = self._numbers[file.path], entry_of(file)
        self._files.append(stored_file(number, file, entry))
        document, found = number << _HALF, self._terms
        for term, counts in entry.terms.items():
            postings = found.get(term)
            if postings is None:
                found[term] = array("Q", (document | counts,))
            else:
                postings.append(document | counts)
        for name in entry.names:
            self._names.setdefault(name, array("Q")).append(document | 1)

    def part(self) -> IndexPart:
        return IndexPart(
            self._files,
            {term: postings.tobytes() for term, postings in self._terms.items()},
            {name: postings.tobytes() for name, postings in self._names.items()},
        )


def merged(parts: Sequence[Mapping[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The keys of all parts in their order, with the postings as they are stored."""
    for key in sorted(set[str]().union(*parts)):
        postings = array("Q", b"".join([part[key] for part in parts if key in part]))
        if len(postings) > 1:
            postings = array("Q", sorted(postings))
        halves = array("I", postings.tobytes())
        yield key, to_bytes(Postings(halves[_DOCUMENT::2], array("H", halves[_COUNTS::2])))
