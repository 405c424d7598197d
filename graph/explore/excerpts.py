"""Excerpts: the text of a declaration within a limit of lines. What is left out is marked with its line numbers.

The signature is always shown. Of a long body, the statements with the highest values are shown, each inside the
statements that contain it, so that brackets stay balanced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from golore.graph.explore.statements import Statement, statements_of

_LONGEST: Final = 160
"""Characters of a line that are shown."""
_SHORT_GAP: Final = 1
"""Lines between shown ones that are shown as well: a mark would not be shorter."""
_SLACK: Final = 3
"""Lines above the limit that a whole declaration may have: it needs no marks."""


class Excerpt(NamedTuple):
    """`text` has the marks of what was left out. `shown` are ranges of lines in the file."""

    text: str
    shown: tuple[tuple[int, int], ...]


class Excerpts:
    """The text of one declaration, from which excerpts of different lengths are made."""

    def __init__(self, text: str, first_line: int, values: Sequence[float]) -> None:
        """`values` has the value of each line."""
        self._text = text
        self._lines = text.split("\n")
        self._first_line = first_line
        self._values = values
        self._flat: list[tuple[Statement, int]] = []
        self._by_value: list[int] = []
        """The statements of `_flat`, those with the highest values first."""

    def of(self, limit: int) -> Excerpt:
        """An excerpt of about `limit` lines, besides those of the signature and the closing bracket."""
        lines = self._lines
        runs = list(_runs(self._chosen(limit), len(lines)))
        parts: list[str] = []
        after = 0
        for first, last in (*runs, (len(lines), len(lines))):
            if first > after:
                parts.append(self._mark(after, first - 1))
            parts += [_cut(line) for line in lines[first : last + 1]]
            after = last + 1
        numbers = tuple((self._first_line + first, self._first_line + last) for first, last in runs)
        return Excerpt("\n".join(parts), numbers)

    def _mark(self, first: int, last: int) -> str:
        """What stands for lines that are left out: their numbers, indented like the first of them."""
        line = next((line for line in self._lines[first : last + 1] if line.strip()), "")
        numbers = f"{self._first_line + first}-{self._first_line + last}" if last > first else self._first_line + first
        return f"{line[: len(line) - len(line.lstrip())]}… {numbers}"

    def _chosen(self, limit: int) -> set[int]:
        """The lines to show: those of the first statement, which is the declaration itself, and then those of the
        statements with the highest values, with the statements around them."""
        if len(self._lines) <= limit + _SLACK:
            return set(range(len(self._lines)))
        if not self._flat:
            self._flat = _flattened(statements_of(self._text), -1, [])
            worth = [max([self._values[line] for line in one.own]) for one, _ in self._flat]
            self._by_value = sorted(range(len(worth)), key=lambda at: (-worth[at], at))
        flat = self._flat
        chosen = set(flat[0][0].own)
        room = limit + len(chosen)
        for at in self._by_value:
            if len(chosen) >= room:
                break
            added: set[int] = set()
            around = at
            while around >= 0:
                added.update(flat[around][0].own)
                around = flat[around][1]
            added -= chosen
            if len(chosen) + len(added) <= room:
                chosen |= added
        return chosen


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _flattened(
    statements: Sequence[Statement], outer: int, flat: list[tuple[Statement, int]]
) -> list[tuple[Statement, int]]:
    """All statements in order, each with the number of the one around it, -1 if there is none."""
    for one in statements:
        flat.append((one, outer))
        _flattened(one.inner, len(flat) - 1, flat)
    return flat


def _runs(chosen: set[int], total: int) -> Iterator[tuple[int, int]]:
    """First and last line of each run of shown lines; a short gap between two runs is shown, too."""
    ordered = sorted(chosen)
    first = last = ordered[0]
    for line in ordered[1:]:
        if line - last - 1 > _SHORT_GAP:
            yield first, last
            first = line
        last = line
    yield first, last if total - 1 - last > _SHORT_GAP else total - 1
