"""Parts of a search index: what each worker process makes of its files, and their postings merged.

A part has everything about its files as it is stored, so that the process that writes the index has little to do.
Files are numbered before the parts are made; it does not matter which process makes which part, nor in which order.
A worker saves a part whenever it has a quarter of a million postings: neither it nor the process that writes the index
ever holds the words of a whole large repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
from golore.graph.compression import compress
from golore.graph.search.embedded_texts import meaning_key, meaning_texts
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, FileText, IndexEntry, entry_of
from golore.graph.search.posting_columns import (
    ColumnBuilder,
    PostingColumns,
    SavedColumns,
    open_columns,
    save_columns,
    sorted_postings,
)

_MOST_POSTINGS: Final = 1 << 18
_PACKET: Final = 200
_LENGTH: Final = 8
_Row = TypeVar("_Row")


class StoredFile(NamedTuple):
    """A file as the tables of the index have it. `meanings` is None if the file has no texts to embed."""

    row: FileRow
    terms: bytes
    symbols: bytes
    meanings: bytes | None


class IndexPart(NamedTuple):
    """Some files of an index in the order of their numbers, and their postings by term and by name."""

    file_count: int
    files: Iterable[StoredFile]
    terms: PostingColumns | SavedColumns
    names: PostingColumns | SavedColumns


def numbered(paths: Sequence[str]) -> dict[str, int]:
    """The number of each file in an index of these files."""
    return {path: number for number, path in enumerate(sorted(paths), 1)}


def stored_file(number: int, file: FileText, entry: IndexEntry) -> StoredFile:
    flags = TEST * file.test | GENERATED * file.generated
    row = FileRow(number, file.path, file.digest, file.package, file.module, flags, *entry.lengths)
    terms = compress(msgspec.msgpack.encode(entry.terms))
    symbols = compress(msgspec.msgpack.encode(file.symbols))
    meanings = None if flags else b"".join(map(meaning_key, meaning_texts(file.path, file.symbols)))
    return StoredFile(row, terms, symbols, meanings)


class PartBuilder:
    """Makes parts of files. `numbers` are those of `numbered`. With a directory, parts are saved there."""

    def __init__(self, numbers: Mapping[str, int], directory: Path | None = None) -> None:
        self._numbers = numbers
        self._directory = directory
        self._parts: list[IndexPart] = []
        self._begin_part()

    def add(self, file: FileText) -> None:
        number, entry = self._numbers[file.path], entry_of(file)
        self._files.append(stored_file(number, file, entry))
        self._terms.add(number, entry.terms, entry.terms.values())
        self._names.add(number, entry.names, repeat(1, len(entry.names)))
        if self._directory is not None and len(self._terms) + len(self._names) >= _MOST_POSTINGS:
            self._complete_part()

    def parts(self) -> list[IndexPart]:
        """The parts of all files that were added."""
        if self._files:
            self._complete_part()
        return self._parts

    def _begin_part(self) -> None:
        self._files: list[StoredFile] = []
        self._terms, self._names = ColumnBuilder(), ColumnBuilder()

    def _complete_part(self) -> None:
        files, terms, names = sorted(self._files), self._terms.columns(), self._names.columns()
        if self._directory is not None:
            start = f"{self._directory}/words-{os.getpid()}-{len(self._parts)}"
            part = IndexPart(
                len(files),
                _saved(f"{start}.files", list[StoredFile], files),
                save_columns(f"{start}.terms", terms),
                save_columns(f"{start}.names", names),
            )
        else:
            part = IndexPart(len(files), files, terms, names)
        self._parts.append(part)
        self._begin_part()


class _Saved(Generic[_Row]):
    """Rows in a file: packets of some rows, each after its length."""

    def __init__(self, path: str, packet: type[list[_Row]]) -> None:
        self._path = path
        self._packet = packet

    def __iter__(self) -> Iterator[_Row]:
        with open(self._path, "rb") as file:  # noqa: PTH123
            while length := file.read(_LENGTH):
                yield from msgspec.msgpack.decode(file.read(int.from_bytes(length)), type=self._packet)


def _saved(path: str, packet: type[list[_Row]], rows: Iterable[_Row]) -> _Saved[_Row]:
    remaining = iter(rows)
    with open(path, "wb") as file:  # noqa: PTH123  the path is a text
        while some := list(islice(remaining, _PACKET)):
            data = msgspec.msgpack.encode(some)
            file.write(len(data).to_bytes(_LENGTH))
            file.write(data)
    return _Saved(path, packet)


def merged(parts: Iterable[PostingColumns | SavedColumns]) -> Iterator[tuple[str, bytes]]:
    """The keys of all parts in their order, with the postings as they are stored."""
    return sorted_postings([open_columns(part) for part in parts])
