"""Vectors of texts, in a memory-mapped file beside the graph, by the digest of the text.

Each model and dimension has one file: rows of signed bytes in `vectors-MODEL-DIMENSIONS.rows`, with their keys in
`.keys`. Rows are only ever appended, so that an interrupted run can be resumed, and an old text that comes back has its
vector. A key counts if its row is complete; the search index knows which rows belong to the repository as it is.

These files are the source of truth. The graph has copies, as properties of the nodes that the texts describe, for
queries that join nearness and structure (see `database.vector_columns`); search reads the files, which take a quarter
of the room and need no open database.

The nearest vectors are found in two steps: by the signs of the numbers among all rows, then by the numbers among the
best of those. NumPy is needed only here, and only if there are vectors.
"""

from __future__ import annotations

import math
import mmap
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from golore.graph.search.embedded_texts import KEY_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_NUMBER: Final = 127
_MAX_COMPARED: Final = 2_000
"""Rows that are compared by their numbers: the closest by signs."""
NEAREST: Final = 200
_CHUNK: Final = 10_000
"""Rows that are compared at once when all are, to bound the memory."""


class VectorFile(NamedTuple):
    directory: Path
    model: str
    dimensions: int

    @property
    def rows_path(self) -> Path:
        name = "".join(char if char.isalnum() else "_" for char in self.model)
        return self.directory / f"vectors-{name}-{self.dimensions}.rows"

    @property
    def keys_path(self) -> Path:
        return self.rows_path.with_suffix(".keys")

    @property
    def size(self) -> int:
        """The number of complete rows that have keys."""
        if not self.rows_path.exists() or not self.keys_path.exists():
            return 0
        return min(self.rows_path.stat().st_size // self.dimensions, self.keys_path.stat().st_size // KEY_BYTES)

    def keys(self) -> set[bytes]:
        data = self.keys_path.read_bytes()[: self.size * KEY_BYTES] if self.size else b""
        return {data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)}

    def rows_of_keys(self) -> dict[str, int]:
        """The number of the row of each key, which is in hexadecimal."""
        data = self.keys_path.read_bytes()[: self.size * KEY_BYTES].hex() if self.size else ""
        return {data[at : at + 2 * KEY_BYTES]: at // (2 * KEY_BYTES) for at in range(0, len(data), 2 * KEY_BYTES)}

    def append(self, keys: Sequence[bytes], vectors: Iterable[Sequence[float]]) -> None:
        """Append rows, then their keys. A kill in between leaves rows without keys, which the next call cuts off."""
        known = self.size
        for path, size in ((self.rows_path, self.dimensions), (self.keys_path, KEY_BYTES)):
            with path.open("ab") as file:
                file.truncate(known * size)
        with self.rows_path.open("ab") as file:
            file.write(b"".join(map(quantized, vectors)))
        with self.keys_path.open("ab") as file:
            file.write(b"".join(keys))

    def others(self) -> list[Path]:
        """The files of other models and dimensions."""
        own = (self.rows_path, self.keys_path)
        return [path for path in sorted(self.directory.glob("vectors-*")) if path not in own]


def stored_vectors(directory: Path, model: str) -> VectorFile | None:
    """The vectors of a model, whatever their dimension; None if there are none."""
    for path in sorted(directory.glob("vectors-*.rows")):
        dimensions = path.stem.rpartition("-")[2]
        file = VectorFile(directory, model, int(dimensions)) if dimensions.isdecimal() else None
        if file is not None and file.rows_path == path and file.size:
            return file
    return None


def quantized(vector: Sequence[float]) -> bytes:
    """A vector as signed bytes, scaled so that its largest number, by magnitude, becomes 127 or -127."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return bytes(round(number / most * _MAX_NUMBER) & 0xFF for number in vector)


class StoredVectors:
    """Looks up vectors by the keys of their texts, in hexadecimal. Does not need NumPy."""

    def __init__(self, file: VectorFile) -> None:
        self._rows = file.rows_of_keys()
        self._path = file.rows_path
        self.dimensions = file.dimensions

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def vector(self, key: str) -> list[float] | None:
        """The vector with length 1; None if there is none."""
        row = self._rows.get(key)
        if row is None:
            return None
        numbers = array("b", self._bytes[row * self.dimensions : (row + 1) * self.dimensions])
        length = math.hypot(*numbers) or 1.0
        return [number / length for number in numbers]

    @cached_property
    def _bytes(self) -> mmap.mmap:
        with self._path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Near(NamedTuple):
    """How near the nearest of a file's texts is, from 1 for the nearest of all results to 0 for the last one, and the
    number of that text: 0 is that of the file, 1 that of its first declaration."""

    value: float
    text: int


class VectorSearch:
    """The vectors of the files in the index, ready for questions. Make a new one when index or vectors have changed."""

    def __init__(self, file: VectorFile, meanings: Iterable[tuple[int, bytes]]) -> None:
        import numpy as np

        count = file.size
        shape = (count, file.dimensions)
        self._rows = (
            np.memmap(file.rows_path, dtype=np.int8, mode="r", shape=shape) if count else np.zeros(shape, np.int8)
        )
        known = np.frombuffer(file.keys_path.read_bytes()[: count * KEY_BYTES], dtype=np.uint64)
        order = np.argsort(known, kind="stable")
        listed = list(meanings)
        keys = np.frombuffer(b"".join(data for _, data in listed), dtype=np.uint64)
        sizes = [len(data) // KEY_BYTES for _, data in listed]
        owners = np.repeat([id for id, _ in listed], sizes).astype(np.int64)
        numbers = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.zeros(0, np.int64)
        at = np.searchsorted(known, keys, sorter=order).clip(0, max(0, count - 1))
        found = known[order[at]] == keys if count else np.zeros(len(keys), bool)
        self._at = order[at[found]] if count else np.zeros(0, np.int64)
        self._owners = owners[found]
        self._numbers = numbers[found]
        self.missing = len(keys) - int(found.sum())
        self._signs = _signs(self._rows[self._at])

    def __len__(self) -> int:
        return len(self._owners)

    def nearest(self, vector: Sequence[float], most: int = NEAREST) -> dict[int, Near]:
        """File number → its nearest text, for the files of the `most` nearest texts."""
        import numpy as np

        if not len(self):
            return {}
        wanted = np.frombuffer(quantized(vector), dtype=np.int8)
        distances = np.bitwise_count(self._signs ^ _signs(wanted[np.newaxis])).sum(axis=1, dtype=np.int32)
        # Take all rows that are as close as the last one: their order depends on when they were stored.
        last = (
            np.partition(distances, _MAX_COMPARED)[_MAX_COMPARED] if len(distances) > _MAX_COMPARED else distances.max()
        )
        close = np.flatnonzero(distances <= last)
        rows = self._rows[self._at[close]].astype(np.float32)
        lengths = np.sqrt((rows * rows).sum(axis=1)) + 1e-9
        similarity = rows @ wanted.astype(np.float32) / lengths
        best = np.lexsort((self._numbers[close], self._owners[close], -similarity))[:most]
        top, low = float(similarity[best[0]]), float(similarity[best[-1]])
        found: dict[int, Near] = {}
        for index in best.tolist():
            owner = int(self._owners[close[index]])
            value = (float(similarity[index]) - low) / (top - low) if top > low else 1.0
            if owner not in found:
                found[owner] = Near(value, int(self._numbers[close[index]]))
        return found

    def similar(self, owner: int, number: int, most: int) -> list[tuple[int, int, float]]:
        """The declarations nearest to text `number` of a file: file number, number of the text, and the cosine of the
        angle between the vectors. Empty if the text has no vector."""
        import numpy as np

        own = np.flatnonzero((self._owners == owner) & (self._numbers == number))
        if not len(own):
            return []
        wanted = self._rows[self._at[own[0]]].astype(np.float32)
        wanted /= np.sqrt((wanted * wanted).sum()) + 1e-9
        declarations = np.flatnonzero((self._numbers > 0) & (self._at != self._at[own[0]]))
        cosines = np.zeros(len(declarations), np.float32)
        for start in range(0, len(declarations), _CHUNK):
            rows = self._rows[self._at[declarations[start : start + _CHUNK]]].astype(np.float32)
            lengths = np.sqrt((rows * rows).sum(axis=1)) + 1e-9
            cosines[start : start + _CHUNK] = rows @ wanted / lengths
        best = np.lexsort((self._numbers[declarations], self._owners[declarations], -cosines))[:most]
        return [
            (int(self._owners[declarations[at]]), int(self._numbers[declarations[at]]), float(cosines[at]))
            for at in best.tolist()
        ]


def _signs(rows: NDArray[np.int8]) -> NDArray[np.uint64]:
    """The signs of the numbers as bits, in words of 64 bits, so that differences are counted a word at a time."""
    import numpy as np

    bits = np.packbits(rows > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)
