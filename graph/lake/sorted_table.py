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
            self._metadata: Any = self._file.metadata
            # A table without rows has one group, without statistics.
            self._groups = range(self._metadata.num_row_groups if self._metadata.num_rows else 0)
            self._bounds: dict[int, tuple[str, str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def rows(self, names: Collection[str]) -> Any:
        """The rows whose first column is one of these names, as an Arrow table."""
        wanted = sorted(names)
        groups = self._groups_with([(name, name) for name in wanted])
        pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
        table = self._read(groups)
        return table.filter(pc.is_in(table.column(0), value_set=pa.array(wanted, pa.string())))

    def has(self, column: str) -> bool:
        return column in self._file.schema_arrow.names

    def rows_with_prefix(self, prefixes: Sequence[str], columns: Sequence[str] | None = None) -> Any:
        """The rows whose first column begins with one of these texts."""
        groups = self._groups_with([(prefix, f"{prefix}\U0010ffff") for prefix in sorted(prefixes)])
        pc = importlib.import_module("pyarrow.compute")
        table = self._read(groups, columns)
        found = None
        for prefix in prefixes:
            has = pc.starts_with(table.column(0), prefix)
            found = has if found is None else pc.or_(found, has)
        return table if found is None else table.filter(found)

    def all_rows(self, columns: Sequence[str] | None = None) -> Any:
        return self._read(self._groups, columns)

    def _groups_with(self, ranges: Sequence[tuple[str, str]]) -> list[int]:
        """The groups that may have a value of one of these ranges, whose starts are sorted."""
        found: dict[int, None] = {}
        at = 0
        for first, last in ranges:
            # Few groups of many are asked for their bounds, which takes longer than it seems.
            at = bisect_left(self._groups, first, lo=at, key=lambda one: self._bound(one)[1])
            for group in range(at, len(self._groups)):
                if self._bound(group)[0] > last:
                    break
                found[group] = None
        return sorted(found)

    def _bound(self, group: int) -> tuple[str, str]:
        """The first and the last value of a group."""
        if group not in self._bounds:
            statistics = self._metadata.row_group(group).column(0).statistics
            self._bounds[group] = (statistics.min, statistics.max)
        return self._bounds[group]

    def _read(self, groups: Sequence[int], columns: Sequence[str] | None = None) -> Any:
        """`columns`: those to read, the first of the file among them; None: all."""
        with self._errors():
            return self._file.read_row_groups(list(groups), columns=None if columns is None else list(columns))

    @contextmanager
    def _errors(self) -> Generator[None]:
        pa = importlib.import_module("pyarrow")
        try:
            yield
        except (pa.ArrowException, OSError) as failure:
            raise LakeError(f"{self._key} in the lake {self._lake.name} is damaged or not readable.") from failure
