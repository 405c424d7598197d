"""Reads the rows of a few names from a Parquet file of a lake that is sorted by its first column.

Only the groups of rows that may contain the names are read, and their pages are checked by their checksums. The rest of
the file is not read, so its digest is not checked; its size is.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from golore.graph.errors import LakeError
from golore.graph.lake.bucket import KeyDigest, Lake


class SortedTable:
    """An open file. Use it as a context manager."""

    def __init__(self, lake: Lake, key: str, expected: KeyDigest) -> None:
        self._lake = lake
        self._key = key
        with self._errors():
            self._stream = lake.open_file(key)
            if self._stream.size() != expected.size:
                raise LakeError(f"{key} in the lake {lake.name} is damaged: it is not what its publisher wrote.")
            self._file: Any = importlib.import_module("pyarrow.parquet").ParquetFile(
                self._stream, page_checksum_verification=True, pre_buffer=True
            )
            metadata = self._file.metadata
            # A table without rows has one group, without statistics.
            groups = [metadata.row_group(at) for at in range(metadata.num_row_groups if metadata.num_rows else 0)]
            self._first: list[str] = [group.column(0).statistics.min for group in groups]
            self._last: list[str] = [group.column(0).statistics.max for group in groups]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def rows(self, names: Collection[str]) -> Any:
        """The rows whose first column is one of these names, as an Arrow table."""
        wanted = sorted(names)
        groups = [at for at in range(len(self._first)) if _has_any(wanted, self._first[at], self._last[at])]
        pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
        table = self._read(groups)
        return table.filter(pc.is_in(table.column(0), value_set=pa.array(wanted, pa.string())))

    def rows_with_prefix(self, prefixes: Sequence[str]) -> Any:
        """The rows whose first column begins with one of these texts."""
        groups = [
            at
            for at in range(len(self._first))
            if any(self._first[at] <= f"{prefix}\U0010ffff" and self._last[at] >= prefix for prefix in prefixes)
        ]
        pc = importlib.import_module("pyarrow.compute")
        table = self._read(groups)
        found = None
        for prefix in prefixes:
            has = pc.starts_with(table.column(0), prefix)
            found = has if found is None else pc.or_(found, has)
        return table if found is None else table.filter(found)

    def all_rows(self) -> Any:
        return self._read(range(len(self._first)))

    def _read(self, groups: Sequence[int]) -> Any:
        with self._errors():
            return self._file.read_row_groups(list(groups))

    @contextmanager
    def _errors(self) -> Generator[None]:
        pa = importlib.import_module("pyarrow")
        try:
            yield
        except (pa.ArrowException, OSError) as failure:
            raise LakeError(f"{self._key} in the lake {self._lake.name} is damaged or not readable.") from failure


def _has_any(wanted: Sequence[str], first: str, last: str) -> bool:
    at = bisect_left(wanted, first)
    return at < len(wanted) and wanted[at] <= last
