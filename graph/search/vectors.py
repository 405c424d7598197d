"""Vectors of texts, in a file of their own beside the graph: kept by the text's digest, read by mapping it.

One file for each model and dimension: rows of signed bytes in `vectors-MODEL-DIMENSIONS.rows`, their keys in `.keys`.
Rows are only ever added, so that a run that is broken off goes on where it stopped, and an old text that comes back
has its vector. A key counts when its row is whole; which rows are of the repository as it is, the search index knows.

They are no properties of the graph's nodes, because that was measured (100,000 vectors of 384 numbers, Ladybug, a busy
machine): loading took 108 s and 157 MB instead of 1 s and 38 MB, and reading all of them for a search 16 s.

The nearest are found in two steps: by the signs of the numbers among all, then by the numbers among the best of those.
NumPy is needed only here, and only where vectors are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from golore.graph.search.embedded_texts import KEY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FULL: Final = 127
_CLOSER: Final = 2_000
"""Rows that are compared by their numbers, the closest by signs."""
NEAREST: Final = 200


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
        """Rows that are there with their keys."""
        if not self.rows_path.exists() or not self.keys_path.exists():
            return 0
        return min(self.rows_path.stat().st_size // self.dimensions, self.keys_path.stat().st_size // KEY)

    def keys(self) -> set[bytes]:
        data = self.keys_path.read_bytes()[: self.size * KEY] if self.size else b""
        return {data[at : at + KEY] for at in range(0, len(data), KEY)}

    def append(self, keys: Sequence[bytes], vectors: Iterable[Sequence[float]]) -> None:
        """Rows first, then keys: who is killed between them leaves rows that nothing names, and the next one cuts."""
        known = self.size
        for path, size in ((self.rows_path, self.dimensions), (self.keys_path, KEY)):
            with path.open("ab") as file:
                file.truncate(known * size)
        with self.rows_path.open("ab") as file:
            file.write(b"".join(map(quantized, vectors)))
        with self.keys_path.open("ab") as file:
            file.write(b"".join(keys))

    def others(self) -> list[Path]:
        """Files of other models."""
        own = (self.rows_path, self.keys_path)
        return [path for path in sorted(self.directory.glob("vectors-*")) if path not in own]


def stored_vectors(directory: Path, model: str) -> VectorFile | None:
    """The vectors that a model has made, whatever their dimension; None where there are none."""
    for path in sorted(directory.glob("vectors-*.rows")):
        dimensions = path.stem.rpartition("-")[2]
        file = VectorFile(directory, model, int(dimensions)) if dimensions.isdecimal() else None
        if file is not None and file.rows_path == path and file.size:
            return file
    return None


def quantized(vector: Sequence[float]) -> bytes:
    """A vector as signed bytes, its largest number being the largest of those."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return bytes(round(number / most * _FULL) & 0xFF for number in vector)


class Near(NamedTuple):
    """How near the nearest of a file's texts is, 1 being the nearest of all, 0 the last; and which one, from 0."""

    value: float
    text: int


class Space:
    """The vectors of the files as they are, ready for questions. Make a new one when index or vectors have changed."""

    def __init__(self, file: VectorFile, meanings: Iterable[tuple[int, bytes]]) -> None:
        import numpy as np

        count = file.size
        shape = (count, file.dimensions)
        self._rows = (
            np.memmap(file.rows_path, dtype=np.int8, mode="r", shape=shape) if count else np.zeros(shape, np.int8)
        )
        known = np.frombuffer(file.keys_path.read_bytes()[: count * KEY], dtype=np.uint64)
        order = np.argsort(known, kind="stable")
        listed = list(meanings)
        keys = np.frombuffer(b"".join(data for _, data in listed), dtype=np.uint64)
        sizes = [len(data) // KEY for _, data in listed]
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
        """The files of the nearest texts."""
        import numpy as np

        if not len(self):
            return {}
        wanted = np.frombuffer(quantized(vector), dtype=np.int8)
        apart = np.bitwise_count(self._signs ^ _signs(wanted[np.newaxis])).sum(axis=1, dtype=np.int32)
        # All that are as close as the last one: which of them come first depends on when they were made.
        last = np.partition(apart, _CLOSER)[_CLOSER] if len(apart) > _CLOSER else apart.max()
        close = np.flatnonzero(apart <= last)
        rows = self._rows[self._at[close]].astype(np.float32)
        lengths = np.sqrt((rows * rows).sum(axis=1)) + 1e-9
        near = rows @ wanted.astype(np.float32) / lengths
        best = np.lexsort((self._numbers[close], self._owners[close], -near))[:most]
        top, low = float(near[best[0]]), float(near[best[-1]])
        found: dict[int, Near] = {}
        for place in best.tolist():
            owner = int(self._owners[close[place]])
            value = (float(near[place]) - low) / (top - low) if top > low else 1.0
            if owner not in found:
                found[owner] = Near(value, int(self._numbers[close[place]]))
        return found


def _signs(rows: NDArray[np.int8]) -> NDArray[np.uint64]:
    """The signs of the numbers as bits, a row as few words: they are counted a word at a time."""
    import numpy as np

    bits = np.packbits(rows > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)
