"""The layout of a card: titles with lines below them, fitted into a number of characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from golore.graph.safety.visible_text import visible_line

DROPPED: Final = "Sections left out:"
"""Begins the line that says how many sections did not fit."""


class CardSection(NamedTuple):
    """A title, lines below it, or both. `rest` is the number of further lines that were not passed."""

    title: str
    lines: tuple[str, ...] = ()
    rest: int = 0


def fit_sections(sections: Sequence[CardSection], longest: int) -> str:
    """The sections as text of at most `longest` characters. While it is too long, the section with the most lines loses
    its last line; once none has more than one, whole sections are dropped from the end. Each title and line stays on
    its line, whatever it contains."""
    titles = [visible_line(section.title) for section in sections]
    kept = [[visible_line(line) for line in section.lines] for section in sections]
    dropped = 0
    while True:
        lines = [
            line
            for section, title, section_lines in zip(sections, titles, kept, strict=False)
            for line in _section_lines(section, title, section_lines)
        ]
        if dropped:
            lines.append(f"{DROPPED} {dropped:,}")
        text = "\n".join(lines)
        if len(text) <= longest or not kept:
            return text[:longest]
        widest = max(range(len(kept)), key=lambda index: (len(kept[index]), -index))
        if len(kept[widest]) > 1:
            kept[widest].pop()
        else:
            kept.pop()
            dropped += 1


def _section_lines(section: CardSection, title: str, lines: Sequence[str]) -> Iterable[str]:
    if title:
        yield title
    yield from (f"- {line}" for line in lines)
    rest = section.rest + len(section.lines) - len(lines)
    if rest:
        yield f"- {rest:,} more left out"
