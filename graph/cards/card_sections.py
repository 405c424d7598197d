"""The layout of a card: titles with lines below them, fitted into a number of characters."""

from __future__ import annotations

from collections.abc import Sequence
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
    titles = [_visible(section.title) for section in sections]
    kept = [[_visible(line) for line in section.lines] for section in sections]
    lengths = [_length(*of_section) for of_section in zip(sections, titles, kept, strict=True)]
    dropped = 0
    while kept and sum(lengths) - 1 + _dropped_length(dropped) > longest:
        widest = max(range(len(kept)), key=lambda index: (len(kept[index]), -index))
        if len(kept[widest]) > 1:
            kept[widest].pop()
            lengths[widest] = _length(sections[widest], titles[widest], kept[widest])
        else:
            kept.pop()
            lengths.pop()
            dropped += 1
    lines = [
        line
        for section, title, section_lines in zip(sections, titles, kept, strict=False)
        for line in _section_lines(section, title, section_lines)
    ]
    if dropped:
        lines.append(f"{DROPPED} {dropped:,}")
    return "\n".join(lines)[:longest]


def _visible(text: str) -> str:
    # Almost all texts are plain; this is quicker than a call of a function that is not compiled.
    return text if text.isascii() and text.isprintable() else visible_line(text)


def _length(section: CardSection, title: str, lines: list[str]) -> int:
    """The number of characters of a section, with a line break after each line."""
    length = len(title) + 1 if title else 0
    for line in lines:
        length += len(line) + 3
    rest = section.rest + len(section.lines) - len(lines)
    return length + len(_rest_line(rest)) + 1 if rest else length


def _dropped_length(dropped: int) -> int:
    return len(f"\n{DROPPED} {dropped:,}") if dropped else 0


def _section_lines(section: CardSection, title: str, lines: list[str]) -> list[str]:
    found = [title] if title else []
    found += [f"- {line}" for line in lines]
    rest = section.rest + len(section.lines) - len(lines)
    if rest:
        found.append(_rest_line(rest))
    return found


def _rest_line(rest: int) -> str:
    return f"- {rest:,} more left out"
