"""Which symbols are one step apart, in a file that is mapped into memory: what a search of many steps reads.

A step in the engine takes a tenth of a millisecond; here it takes a slice. Symbols and what lies outside are numbered,
symbols first, both in the order of their ids, so that neighbours come in the order of ids too. Lines of uses and
evidence are not in it. The file can be made again from the graph (see `mapping`), and says which graph it was made
from; whether that is still the one that is asked is `steps`' affair.
"""

from __future__ import annotations

import json
import mmap
import sys
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.atomic_write import replacing
from golore.graph.queries.answers import Ref

FILE_NAME: Final = "adjacency"
_MAGIC: Final = f"golore adjacency 1 {sys.byteorder} {array('I').itemsize}\n".encode()
NOWHERE: Final = (1 << 32) - 1
COLUMNS: Final = ("kind", "name", "qualified", "package", "file", "line", "owner", "source", "place")
"""Of each node, a number: of a text, or the line, or the how manieth it is by its place. The qualified name is
`NOWHERE` where it is the id itself."""


OWNED: Final = ("owned starts", "owners", "owned")
"""The members of types by the texts of their names: where those of each text begin, their types, and they."""
SEVERAL: Final = -1


class Parts(NamedTuple):
    """What a file is made of. `texts` are sorted; `links` are by relation and direction ("CALLS>", "CALLS<")."""

    ids: Sequence[str]
    symbols: int
    texts: Sequence[str]
    columns: Mapping[str, array[int]]
    links: Mapping[str, tuple[array[int], array[int]]]
    """where each node's neighbours begin, and the neighbours"""
    owned: tuple[array[int], array[int], array[int]]


class Adjacency:
    """A mapped file. Numbers below `symbols` are symbols of the repository, the others lie outside."""

    def __init__(
        self, view: memoryview, sections: Mapping[str, tuple[int, int]], generation: str, symbols: int
    ) -> None:
        self.generation = generation
        self.symbols = symbols
        self._sections = sections
        self._view = view
        self._ids = self._bytes("ids")
        self._id_starts = self._numbers("id starts")
        self._texts = self._bytes("texts")
        self._text_starts = self._numbers("text starts")
        self._columns = {name: self._numbers(name) for name in COLUMNS}
        self._links: dict[str, tuple[memoryview, memoryview]] = {}
        self._owned: dict[str, dict[int, int]] = {}
        self._kinds: dict[int, str] = {}
        self.places = self._columns["place"]
        """The order by file, line and id, as a number for each node."""
        self.total = len(self._id_starts) - 1

    def neighbours(self, number: int, link: str) -> list[int]:
        """In the order of their ids, those outside last; `link` is a relation with its direction, such as "CALLS<"."""
        known = self._links.get(link)
        if known is None:
            known = self._links[link] = (self._numbers(f"{link} starts"), self._numbers(link))
        starts, ends = known
        return ends[starts[number] : starts[number + 1]].tolist()

    def number(self, id: str, *, external: bool = False) -> int | None:
        low, high = (self.symbols, self.total) if external else (0, self.symbols)
        at = _find(self._ids, self._id_starts, id.encode(), low, high)
        return None if at < 0 else at

    def id(self, number: int) -> str:
        return _text(self._ids, self._id_starts, number)

    def kind(self, number: int) -> str:
        text = self._columns["kind"][number]
        known = self._kinds.get(text)
        if known is None:
            known = self._kinds[text] = _text(self._texts, self._text_starts, text)
        return known

    def owned(self, name: str) -> dict[int, int]:
        """The types that have a member of this name, each with that member; `SEVERAL` where it has twins."""
        known = self._owned.get(name)
        if known is None:
            known = self._owned[name] = {}
            at = _find(self._texts, self._text_starts, name.encode(), 0, len(self._text_starts) - 1)
            starts, owners, members = (self._numbers(section) for section in OWNED)
            for place in range(starts[at], starts[at + 1]) if at >= 0 else ():
                owner = owners[place]
                known[owner] = SEVERAL if owner in known else members[place]
        return known

    def ref(self, number: int) -> Ref:
        id = self.id(number)
        columns = self._columns
        kind, name, package = self.kind(number), self._column("name", number), self._column("package", number)
        if number >= self.symbols:
            return Ref(id, kind, name, id, package, source=self._column("source", number))
        qualified = id if columns["qualified"][number] == NOWHERE else self._column("qualified", number)
        file, owner = self._column("file", number), self._column("owner", number)
        return Ref(id, kind, name, qualified, package, file, columns["line"][number], owner)

    def _column(self, column: str, number: int) -> str:
        return _text(self._texts, self._text_starts, self._columns[column][number])

    def _bytes(self, section: str) -> memoryview:
        start, length = self._sections[section]
        return self._view[start : start + length]

    def _numbers(self, section: str) -> memoryview:
        return self._bytes(section).cast("I")


def _text(texts: memoryview, starts: memoryview, at: int) -> str:
    return str(texts[starts[at] : starts[at + 1]], "utf-8")


def _find(texts: memoryview, starts: memoryview, wanted: bytes, low: int, high: int) -> int:
    """Where a text is among sorted ones; -1 where it is not."""
    while low < high:
        middle = (low + high) // 2
        found = bytes(texts[starts[middle] : starts[middle + 1]])
        if found == wanted:
            return middle
        if found < wanted:
            low = middle + 1
        else:
            high = middle
    return -1


def open_adjacency(directory: Path) -> Adjacency | None:
    """The file of a store as it is now; None where there is none that can be read. It stays valid when it is replaced,
    and its memory is the system's to take back."""
    try:
        with (directory / FILE_NAME).open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    start = len(_MAGIC) + 8
    if bytes(view[: len(_MAGIC)]) != _MAGIC or len(view) < start:
        return None
    length = int.from_bytes(view[len(_MAGIC) : start], "little")
    try:
        head = json.loads(bytes(view[start : start + length]))
        sections = {name: (at + start + length, size) for name, (at, size) in head["sections"].items()}
        if any(at + size > len(view) for at, size in sections.values()):
            return None
        return Adjacency(view, sections, head["generation"], head["symbols"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write_adjacency(directory: Path, generation: str, parts: Parts) -> None:
    """Replace the file whole: who has mapped the old one keeps it."""
    ids, id_starts = _joined(parts.ids)
    texts, text_starts = _joined(parts.texts)
    named: dict[str, bytes] = {"id starts": id_starts, "text starts": text_starts}
    named |= {name: column.tobytes() for name, column in parts.columns.items()}
    named |= {name: column.tobytes() for name, column in zip(OWNED, parts.owned, strict=True)}
    for link, (starts, ends) in parts.links.items():
        named[f"{link} starts"], named[link] = starts.tobytes(), ends.tobytes()
    named |= {"ids": ids, "texts": texts}  # last, for numbers have to begin at a multiple of four
    sections: dict[str, tuple[int, int]] = {}
    at = 0
    for name, content in named.items():
        sections[name] = (at, len(content))
        at += len(content)
    head = json.dumps({"generation": generation, "symbols": parts.symbols, "sections": sections}).encode()
    head += b" " * (-(len(_MAGIC) + 8 + len(head)) % 8)
    with replacing(directory / FILE_NAME) as file:
        file.write(_MAGIC + len(head).to_bytes(8, "little") + head)
        file.writelines(named.values())


def _joined(texts: Sequence[str]) -> tuple[bytes, bytes]:
    encoded = [text.encode() for text in texts]
    starts = array("I", [0])
    at = 0
    for text in encoded:
        at += len(text)
        starts.append(at)
    return b"".join(encoded), starts.tobytes()
