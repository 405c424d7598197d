"""Which lines of a changed file are lines that were learned, and where they were.

The store has no source, so the learned text is looked for in git: in HEAD and in the index. Where it is not found, or
where too much differs to be compared in a moment, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, Self

from golore.graph.safety.regular_file import SOURCE_LIMIT
from golore.learner.checkout.content_digest import digest as digest_of
from golore.learner.checkout.git_objects import committed_contents

_MOST: Final = 3_000
"""Lines between the first and the last difference, on each side."""


@dataclass(frozen=True, slots=True)
class LearnedLines:
    """Pairs ranges of equal lines: first learned line, first current line, number of lines. `removed` counts learned
    lines that are gone, by the current line that follows them. Without `ranges`, every line is where it was learned."""

    ranges: tuple[tuple[int, int, int], ...] | None = None
    removed: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def between(cls, before: str, after: str) -> Self | None:
        """None if too much differs."""
        old, new = before.split("\n"), after.split("\n")
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        inner = old[start : len(old) - end], new[start : len(new) - end]
        if max(map(len, inner)) > _MOST:
            return None
        ranges = [(1, 1, start)] if start else []
        removed: dict[int, int] = {}
        for kind, one, one_end, other, other_end in SequenceMatcher(None, *inner, autojunk=False).get_opcodes():
            if kind == "equal":
                ranges.append((start + one + 1, start + other + 1, one_end - one))
            elif one_end - one > other_end - other:
                removed[start + other_end + 1] = one_end - one - (other_end - other)
        if end:
            ranges.append((len(old) - end + 1, len(new) - end + 1, end))
        return cls(tuple(ranges), removed)

    def current(self, line: int) -> int:
        """Where a learned line is now; 0 if it was changed or removed."""
        if self.ranges is None:
            return line
        return next((new + line - old for old, new, count in self.ranges if old <= line < old + count), 0)

    def learned(self, first: int, last: int) -> tuple[int, int]:
        """The learned lines that contain all those that are in a range of current lines."""
        if self.ranges is None:
            return first, last
        found = [
            (old + max(first, new) - new, old + min(last, new + count - 1) - new)
            for old, new, count in self.ranges
            if new <= last and first < new + count
        ]
        return (found[0][0], found[-1][1]) if found else (1, 0)

    def changed(self, first: int, last: int) -> list[int]:
        """The current lines of a range that were not learned."""
        if self.ranges is None:
            return []
        known = {line for _, new, count in self.ranges for line in range(new, new + count)}
        return [line for line in range(first, last + 1) if line not in known]


def learned_lines(root: Path, path: str, digest: str, text: str) -> LearnedLines | None:
    """Compares the text of a file with the learned one, which has this digest. None if that is not known."""
    for data in committed_contents(root, path, SOURCE_LIMIT):
        if digest_of(data) == digest:
            return LearnedLines.between(data.decode("utf-8", "replace"), text)
    return None


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are equal from the start on."""
    number = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        number += 1
    return number
