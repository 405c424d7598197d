"""The adjacency file: the neighbours of each symbol, memory-mapped, for searches of many steps.

A step in the engine takes a tenth of a millisecond; here it is a slice of an array. Symbols and external nodes are
numbered, symbols first, both in the order of their ids, so that neighbours are in the order of ids too. Sites are not
included, and evidence only of conversions. The file can be built again from the graph (see `adjacency_builder`) and
records the generation of that graph; `symbol_steps` checks whether it still matches.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.mapped_sections import MappedSections, open_sections, write_sections
from golore.graph.queries.answers import Ref

FILE_NAME: Final = "adjacency"
_FORMAT: Final = "golore adjacency 6"
NO_TEXT: Final = (1 << 32) - 1
"""The largest number: no text."""
EXTENT: Final = ("end line", "start", "end", "doc")
COLUMNS: Final = ("kind", "name", "qualified", "package", "file", "line", "owner", "source", "place", *EXTENT)
"""One integer per node and column: an index into `texts`, a line number, a position in bytes, or (`place`) the node's
position in the order by location. `qualified`, `line` and `EXTENT` exist for symbols only; `qualified` is `NO_TEXT` if
it equals the id."""
BY_LOCATION: Final = "by location"
"""The section that has the nodes in the order by location: the inverse of `place`."""
MEMBER_SECTIONS: Final = ("owned starts", "owners", "owned")
"""The members of types, grouped by the text that is their name: where the group of each text starts, the types, and
the members."""
CONVERSION_SECTIONS: Final = ("converted", "conversions")
"""The symbols that conversions start at, and the evidence of each (see `interface_flow`), as indexes into `texts`."""
HAS_TWINS: Final = -1
"""Replaces the number of a member that has twins."""


class Extent(NamedTuple):
    """The lines and bytes of a declaration, besides its first line, and its doc comment."""

    end_line: int
    start: int
    end: int
    doc: str


class Parts(NamedTuple):
    """The content of a file. `texts` are sorted; `links` are by relation and direction ("CALLS>", "CALLS<")."""

    ids: Sequence[str]
    symbols: int
    texts: Sequence[str]
    columns: Mapping[str, array[int]]
    links: Mapping[str, tuple[array[int], array[int]]]
    """where each node's neighbours start, and the neighbours"""
    owned: tuple[array[int], array[int], array[int]]
    conversions: tuple[array[int], array[int]]
    by_location: array[int]


class Adjacency:
    """A mapped file. Numbers below `symbols` are symbols of the repository, the others are external nodes."""

    def __init__(self, sections: MappedSections) -> None:
        self.generation: Final[str] = sections.head["generation"]
        self.symbols: Final[int] = sections.head["symbols"]
        self._numbers = sections.numbers
        self._ids = sections.bytes_of("ids")
        self._id_starts = self._numbers("id starts")
        self._texts = sections.bytes_of("texts")
        self._text_starts = self._numbers("text starts")
        self._columns = {name: self._numbers(name) for name in COLUMNS}
        self._links: dict[str, tuple[memoryview, memoryview]] = {}
        self._owned: dict[str, dict[int, int]] = {}
        self._kinds: dict[int, str] = {}
        self._external_names: frozenset[str] | None = None
        self.location_order = self._columns["place"]
        """The position of each node in the order by file, line and id."""
        self.total = len(self._id_starts) - 1

    def neighbours(self, number: int, link: str) -> list[int]:
        """The neighbours by id, external ones last. `link` is a relation with a direction, such as "CALLS<"."""
        known = self._links.get(link)
        if known is None:
            known = self._links[link] = (self._numbers(f"{link} starts"), self._numbers(link))
        starts, ends = known
        return ends[starts[number] : starts[number + 1]].tolist()

    def with_neighbours(self, link: str) -> list[int]:
        """The nodes that have neighbours over a link."""
        starts: list[int] = self._numbers(f"{link} starts").tolist()
        return [number for number in range(self.total) if starts[number] != starts[number + 1]]

    def number(self, id: str, *, external: bool = False) -> int | None:
        """The number of the symbol, or with `external` of the external node, with this id; None if there is none."""
        low, high = (self.symbols, self.total) if external else (0, self.symbols)
        at = _find(self._ids, self._id_starts, id.encode(), low, high)
        return None if at < 0 else at

    def conversions(self) -> list[tuple[str, str, str]]:
        """Id and kind of the symbol, and the evidence, of all conversions that differ."""
        numbers, evidence = (self._numbers(section) for section in CONVERSION_SECTIONS)
        return [
            (self.id(number), self.kind(number), _text(self._texts, self._text_starts, text))
            for number, text in zip(numbers, evidence, strict=True)
        ]

    def id(self, number: int) -> str:
        return _text(self._ids, self._id_starts, number)

    def kind(self, number: int) -> str:
        text = self._columns["kind"][number]
        known = self._kinds.get(text)
        if known is None:
            known = self._kinds[text] = _text(self._texts, self._text_starts, text)
        return known

    def owned(self, name: str) -> dict[int, int]:
        """The types that have a member of this name, each with that member, or `HAS_TWINS` if the member has twins."""
        known = self._owned.get(name)
        if known is None:
            known = self._owned[name] = {}
            at = _find(self._texts, self._text_starts, name.encode(), 0, len(self._text_starts) - 1)
            starts, owners, members = (self._numbers(section) for section in MEMBER_SECTIONS)
            for entry in range(starts[at], starts[at + 1]) if at >= 0 else ():
                owner = owners[entry]
                known[owner] = HAS_TWINS if owner in known else members[entry]
        return known

    def has_interface_method(self, name: str) -> bool:
        """Whether an interface of the repository has a method of this name, or an external node may be one."""
        if self._external_names is None:
            external = range(self.symbols, self.total)
            self._external_names = frozenset(self.id(number).rpartition(".")[2] for number in external)
        if name in self._external_names:
            return True
        return any(one == HAS_TWINS or self.kind(one) == "imethod" for one in self.owned(name).values())

    def ref(self, number: int) -> Ref:
        id = self.id(number)
        columns = self._columns
        kind, name, package = self.kind(number), self._column("name", number), self._column("package", number)
        if number >= self.symbols:
            return Ref(id, kind, name, id, package, source=self._column("source", number))
        qualified = id if columns["qualified"][number] == NO_TEXT else self._column("qualified", number)
        file, owner = self._column("file", number), self._column("owner", number)
        return Ref(id, kind, name, qualified, package, file, columns["line"][number], owner)

    def in_file(self, path: str) -> list[int]:
        """The symbols of a file, by line."""
        file = _find(self._texts, self._text_starts, path.encode(), 0, len(self._text_starts) - 1)
        if file < 0:
            return []
        nodes, files = self._numbers(BY_LOCATION), self._columns["file"]
        low, high = 0, self.total
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if files[nodes[middle]] < file else (low, middle)
        first = low
        while low < self.total and files[nodes[low]] == file:
            low += 1
        return nodes[first:low].tolist()

    def extent(self, number: int) -> Extent:
        end_line, start, end, _ = (self._columns[name][number] for name in EXTENT)
        return Extent(end_line, start, end, self._column("doc", number))

    def _column(self, column: str, number: int) -> str:
        return _text(self._texts, self._text_starts, self._columns[column][number])


def _text(texts: memoryview, starts: memoryview, index: int) -> str:
    return str(texts[starts[index] : starts[index + 1]], "utf-8")


def _find(texts: memoryview, starts: memoryview, wanted: bytes, low: int, high: int) -> int:
    """The index of a text among sorted ones; -1 if it is not there."""
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
    """Map the adjacency file of a store; None if it is missing or unreadable."""
    sections = open_sections(directory / FILE_NAME, _FORMAT)
    try:
        return None if sections is None else Adjacency(sections)
    except (ValueError, KeyError, TypeError):
        return None


def write_adjacency(directory: Path, generation: str, parts: Parts) -> None:
    ids, id_starts = _joined(parts.ids)
    texts, text_starts = _joined(parts.texts)
    contents: dict[str, bytes] = {"id starts": id_starts, "text starts": text_starts}
    contents |= {name: column.tobytes() for name, column in parts.columns.items()}
    contents |= {name: column.tobytes() for name, column in zip(MEMBER_SECTIONS, parts.owned, strict=True)}
    contents |= {name: column.tobytes() for name, column in zip(CONVERSION_SECTIONS, parts.conversions, strict=True)}
    contents[BY_LOCATION] = parts.by_location.tobytes()
    for link, (starts, ends) in parts.links.items():
        contents[f"{link} starts"], contents[link] = starts.tobytes(), ends.tobytes()
    contents |= {"ids": ids, "texts": texts}  # last, because numbers must start at a multiple of four
    head = {"generation": generation, "symbols": parts.symbols}
    write_sections(directory / FILE_NAME, _FORMAT, head, contents)


def _joined(texts: Sequence[str]) -> tuple[bytes, bytes]:
    encoded = [text.encode() for text in texts]
    starts = array("I", [0])
    end = 0
    for text in encoded:
        end += len(text)
        starts.append(end)
    return b"".join(encoded), starts.tobytes()
