"""The names and places of one file's code: the table of names, and which line an offset is on.

What refers to them is written by the classes built on this one: `TypeCode`, `Expressions`, `Emitter`.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from golore.learner import code as c
from golore.learner import kinds as g
from golore.learner.simple import LONGEST, PLACE, WORD, program_of
from golore.learner.syntax import Node


class Names:
    """The code, names and lines of one file, as far as they are written."""

    def __init__(self, source: bytes) -> None:
        self.source: Final = source
        self.code: list[int] = []
        self.names: list[str] = [""]
        self.lines: list[int] = []
        self.in_shape = False
        self._index: dict[bytes, int] = {b"": 0}
        self.line_starts = line_starts(source)
        self._line = 1
        self._low = 0
        self._high = self.line_starts[1] if len(self.line_starts) > 1 else len(source) + 1

    def line_of(self, offset: int) -> int:
        """The line of an offset, near the one asked for before in most cases."""
        if offset < self._low or offset >= self._high:
            starts = self.line_starts
            line = self._line + 1
            if offset < self._high or line >= len(starts) or offset >= starts[line]:
                line = bisect_right(starts, offset)
            self._line = line
            self._low = starts[line - 1]
            self._high = starts[line] if line < len(starts) else len(self.source) + 1
        return self._line

    def text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def intern(self, text: bytes) -> int:
        found = self._index.get(text)
        if found is None:
            found = len(self.names)
            self._index[text] = found
            self.names.append(text.decode("utf-8", "replace"))
        return found

    def name_of(self, node: Node, k: int) -> int:
        """The number of a name; what stands in a name's place and is none counts as blank."""
        if k not in g.NAMES:
            return self.intern(b"_")
        return self.intern(self.source[node.start_byte : node.end_byte])

    def place(self, line: int) -> None:
        if self.in_shape:
            self.code.append(len(self.lines))
            self.lines.append(line)
        else:
            self.code.append(line)

    def name(self, node: Node) -> None:
        start = node.start_byte
        self.code.append(c.NAME)
        self.code.append(self.intern(self.source[start : node.end_byte]))
        self.place(self.line_of(start))

    def simple(self, start: int, end: int) -> bool:
        """Write what stands there if its text alone tells the code; most short expressions do, and need no nodes."""
        if end - start > LONGEST:
            return False
        program = program_of(self.source[start:end])
        if program is None:
            return False
        line = self.line_of(start)
        words = program.words
        code = self.code
        used = 0
        for op in program.ops:
            if op == WORD:
                code.append(self.intern(words[used]))
                used += 1
            elif op == PLACE:
                self.place(line)
            else:
                code.append(op)
        return True


def line_starts(source: bytes) -> list[int]:
    starts = [0]
    at = 0
    for line in source.split(b"\n"):
        at += len(line) + 1
        starts.append(at)
    starts.pop()
    return starts
