"""Postings of many documents as columns: collected document by document, then sorted by key all at once.

A column is one array of numbers, and pyarrow sorts columns without making an object of any number. Collecting needs no
pyarrow: worker processes collect, and the process that writes the index sorts. It sorts a range of keys after another,
so that it never holds the postings of a whole large repository.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from golore.graph.database.arrow import import_arrow

_RANGE: Final = 1 << 20
"""About so many postings are sorted at once."""


class PostingColumns(NamedTuple):
    """Postings in any order: positions in `keys`, documents (both unsigned, of 4 bytes) and packed counts (of 2)."""

    keys: list[str]
    positions: bytes | memoryview
    documents: bytes | memoryview
    counts: bytes | memoryview


class SavedColumns(NamedTuple):
    """Columns in a file. `lengths`: bytes of the keys and of each column, in the order of the fields."""

    path: str
    lengths: tuple[int, int, int, int]


class ColumnBuilder:
    """Collects the postings of documents."""

    def __init__(self) -> None:
        # Key → its position, in the order in which keys are asked for first.
        self._positions_of: defaultdict[str, int] = defaultdict(count().__next__)
        self._positions: list[int] = []
        self._documents = array("I")
        self._counts: list[int] = []

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, document: int, keys: Iterable[str], counts: Iterable[int]) -> None:
        """Add the keys of a document, which it does not have yet, with their packed counts."""
        self._positions.extend(map(self._positions_of.__getitem__, keys))
        self._counts.extend(counts)
        self._documents.extend(array("I", (document,)) * (len(self._positions) - len(self._documents)))

    def columns(self) -> PostingColumns:
        return PostingColumns(
            list(self._positions_of),
            struct.pack(f"{len(self._positions)}I", *self._positions),  # twice as fast as through an array
            self._documents.tobytes(),
            struct.pack(f"{len(self._counts)}H", *self._counts),
        )


def save_columns(path: str, columns: PostingColumns) -> SavedColumns:
    keys, rest = msgspec.msgpack.encode(columns.keys), columns[1:]
    with open(path, "wb") as file:  # noqa: PTH123  the path is a text
        file.writelines((*rest, keys))
    return SavedColumns(path, (len(keys), len(rest[0]), len(rest[1]), len(rest[2])))


def open_columns(saved: PostingColumns | SavedColumns) -> PostingColumns:
    """Columns that were saved. They stay in the file until they are used."""
    if isinstance(saved, PostingColumns):
        return saved
    with Path(saved.path).open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    keys, *lengths = saved.lengths
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    found = [data[start:end] for start, end in pairwise(starts)]
    return PostingColumns(msgspec.msgpack.decode(data[starts[-1] :][:keys], type=list[str]), *found)


def sorted_postings(parts: Sequence[PostingColumns]) -> Iterator[tuple[str, bytes]]:
    """The keys of all parts in their order, with their postings as `postings.to_bytes` makes them."""
    keys = sorted(set[str]().union(*(part.keys for part in parts)))
    if not keys:
        return
    arrow = import_arrow("pyarrow.compute")
    ranks = dict(zip(keys, range(len(keys)), strict=True))
    tables = [_arrow_table(arrow, part, ranks) for part in parts]
    for start, end in pairwise(_bounds(len(keys), sum(table.num_rows for table in tables))):
        yield from _sorted_range(arrow, tables, keys, start, end)


def _bounds(keys: int, postings: int) -> list[int]:
    ranges = min(keys, -(-postings // _RANGE))
    return [keys * number // ranges for number in range(ranges + 1)]


def _arrow_table(arrow: Any, part: PostingColumns, ranks: dict[str, int]) -> Any:
    """The columns of a part. `rank` is the number of a posting's key among all keys."""

    def column(type: Any, data: Any) -> Any:
        return arrow.Array.from_buffers(type, len(data) * 8 // type.bit_width, [None, arrow.py_buffer(data)])

    rank_of = column(arrow.uint32(), array("I", list(map(ranks.__getitem__, part.keys))).tobytes())
    columns = {
        "rank": rank_of.take(column(arrow.uint32(), part.positions)),
        "document": column(arrow.uint32(), part.documents),
        "counts": column(arrow.uint16(), part.counts),
    }
    return arrow.table(columns)


def _sorted_range(
    arrow: Any, tables: Sequence[Any], keys: Sequence[str], start: int, end: int
) -> Iterator[tuple[str, bytes]]:
    """Like `sorted_postings`, for the keys from `start` to `end`."""
    compute = arrow.compute
    if end - start < len(keys):
        tables = [_between(compute, table, start, end) for table in tables]
    found = arrow.concat_tables(tables).combine_chunks()
    found = found.take(compute.sort_indices(found, [("rank", "ascending"), ("document", "ascending")]))
    ranks, documents, counts = (column.combine_chunks() for column in found.columns)
    ends = array("i", _bytes_of(compute.run_end_encode(ranks).run_ends))
    documents, counts = _bytes_of(documents), _bytes_of(counts)
    first = 0
    for key, last in zip(keys[start:end], ends, strict=True):
        yield key, documents[4 * first : 4 * last] + counts[2 * first : 2 * last]
        first = last


def _between(compute: Any, table: Any, start: int, end: int) -> Any:
    ranks = table["rank"]
    return table.filter(compute.and_(compute.greater_equal(ranks, start), compute.less(ranks, end)))


def _bytes_of(column: Any) -> bytes:
    """The numbers of a column that a computation has returned, which therefore begins where its memory does."""
    return column.buffers()[1].to_pybytes()
