"""Edges of one kind as columns, in the form in which the tables of the graph have them.

A load has millions of edges, whose ids, lines and evidence recur: each distinct text is kept once, and no row is an
object. This module is compiled. `Edge` is the form for few edges, and `EdgeColumns.rows` converts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from golore.graph.model.edge_kinds import EDGE_PROPERTIES, EdgeKind
from golore.graph.model.entities import Edge

_text_of_line: Final[dict[int, str]] = {}
"""The lines that were asked for, as texts: a few thousand numbers recur."""
_lines_of_text: Final[dict[str, tuple[int, ...]]] = {}
"""Single lines only, for the same reason."""


def text_of_lines(lines: tuple[int, ...]) -> str:
    """Line numbers as a table has them, such as "12 40": loading 2.5 million edges with a list column took 8 s longer
    than with a text column."""
    return text_of_line(lines[0]) if len(lines) == 1 else " ".join([str(line) for line in lines])


def text_of_line(line: int) -> str:
    text = _text_of_line.get(line)
    if text is None:
        text = _text_of_line[line] = str(line)
    return text


def lines_of_text(text: str | None) -> tuple[int, ...]:
    """The inverse of `text_of_lines`; empty for None, the value for a label without that column."""
    if text is None:
        return ()
    lines = _lines_of_text.get(text)
    if lines is None:
        lines = tuple([int(line) for line in text.split()])
        if len(lines) == 1:
            _lines_of_text[text] = lines
    return lines


def accesses_of_text(text: str | None) -> tuple[str, ...]:
    """The accesses of a value such as "read write"; empty for None, the value for a label without that column."""
    return tuple(text.split()) if text else ()


@final
class TextColumn:
    """A column of texts that recur: the distinct texts, and for each row the position of its text among them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        # Objects, because a native integer would be converted to one twice for each row.
        self.positions: list[object] = []
        self._position_of: dict[str, object] = {}
        # Of the last row: the next one often has the same text.
        self._text = ""
        self._position: object = None

    def add(self, text: str) -> None:
        if text is not self._text or self._position is None:
            position = self._position_of.get(text)
            if position is None:
                position = self._position_of[text] = len(self.texts)
                self.texts.append(text)
            self._text = text
            self._position = position
        self.positions.append(self._position)

    def values(self) -> list[str]:
        texts: list[str] = self.texts
        return [texts[position] for position in self.positions if isinstance(position, int)]

    def clear(self) -> None:
        self.texts = []
        self.positions = []
        self._position_of = {}
        self._text = ""
        self._position = None


@final
class EdgeColumns:
    """Edges of one kind. Properties that the label does not have are dropped."""

    def __init__(self, kind: EdgeKind) -> None:
        properties = EDGE_PROPERTIES[kind.label]
        self.kind: Final = kind
        self.sources: Final = TextColumn()
        self.targets: Final = TextColumn()
        self.sites: Final = TextColumn()
        self.evidence: Final = TextColumn()
        self.access: Final = TextColumn()
        self.pointers: list[bool] = []
        self._has_sites: Final = "sites" in properties
        self._has_evidence: Final = "evidence" in properties
        self._has_access: Final = "access" in properties
        self._has_pointer: Final = "pointer" in properties

    def __len__(self) -> int:
        return len(self.sources.positions)

    def add(
        self, source: str, target: str, sites: str = "", evidence: str = "", pointer: bool = False, access: str = ""
    ) -> None:
        """Add an edge; `sites` and `access` are texts, as in the tables."""
        self.sources.add(source)
        self.targets.add(target)
        if self._has_sites:
            self.sites.add(sites)
        if self._has_evidence:
            self.evidence.add(evidence)
        if self._has_access:
            self.access.add(access)
        if self._has_pointer:
            self.pointers.append(pointer)

    def add_row(self, row: Edge) -> None:
        self.add(row.source, row.target, text_of_lines(row.sites), row.evidence, row.pointer, " ".join(row.access))

    def columns(self) -> list[TextColumn | list[bool]]:
        """Sources, targets, then the columns of the label in their order."""
        return [self.sources, self.targets, *(self._column(name) for name in EDGE_PROPERTIES[self.kind.label])]

    def rows(self) -> Iterator[Edge]:
        count = len(self)
        nothing = [""] * count
        sites = self.sites.values() if self._has_sites else nothing
        evidence = self.evidence.values() if self._has_evidence else nothing
        access = self.access.values() if self._has_access else nothing
        pointers = self.pointers if self._has_pointer else [False] * count
        sources, targets = self.sources.values(), self.targets.values()
        for at in range(count):
            yield Edge(
                sources[at],
                targets[at],
                lines_of_text(sites[at]),
                evidence[at],
                pointers[at],
                accesses_of_text(access[at]),
            )

    def clear(self) -> None:
        for column in (self.sources, self.targets, self.sites, self.evidence, self.access):
            column.clear()
        self.pointers = []

    def _column(self, name: str) -> TextColumn | list[bool]:
        if name == "sites":
            return self.sites
        if name == "evidence":
            return self.evidence
        if name == "access":
            return self.access
        return self.pointers


@final
class EdgeTables:
    """The columns of all kinds that have edges."""

    def __init__(self) -> None:
        self.by_kind: Final[dict[EdgeKind, EdgeColumns]] = {}

    def of(self, kind: EdgeKind) -> EdgeColumns:
        columns = self.by_kind.get(kind)
        if columns is None:
            columns = self.by_kind[kind] = EdgeColumns(kind)
        return columns
