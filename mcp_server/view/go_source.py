"""Turns lines of Go source into HTML: comments, strings and keywords are marked, and names of known uses are links.

The graph knows the lines of uses, not their columns, so a name on a line is linked only if one symbol is used there
under that name, and if it is written as such a symbol is: a member after a dot, a name of another package after the
name of that package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from golore.graph.safety.visible_text import visible_line
from markupsafe import Markup, escape

_LEXER: Final = re.compile(
    r"(?P<c>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<s>\"(?:\\.|[^\"\\\n])*\"?|`[^`]*(?:`|\Z)|'(?:\\.|[^'\\\n])*'?)"
    r"|(?P<n>[^\W\d]\w*)",
    re.S,
)
_OPENERS: Final = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?|`[^`]*(?:`|\Z)|'(?:\\.|[^'\\\n])*'?", re.S
)
"""What may span or hide line ends: the lexer must not begin inside one."""
_KEYWORDS: Final = frozenset(
    "break case chan const continue default defer else fallthrough for func go goto if import interface map package "
    "range return select struct switch type var".split()
)
_MEMBER: Final = "member"
_OWN: Final = "own"
_OTHER: Final = "other"
DECLARED: Final = "declared"


class Use(NamedTuple):
    """A name on a line that means a symbol. `form`: `declared`, `member`, `own` (of the package) or `other` (of another
    one)."""

    form: str
    address: str
    title: str


Uses = Mapping[tuple[int, str], Use]
"""(line, name) → the only symbol that is used under that name on that line."""


def use_form(kind: str, is_own_package: bool) -> str:
    """How a use of a symbol of this kind is written."""
    if kind in ("field", "method", "imethod"):
        return _MEMBER
    return _OWN if is_own_package else _OTHER


def source_lines(source: str, first: int, count: int, uses: Uses) -> list[Markup]:
    """The lines from `first` on, at most `count`."""
    starts = [0, *(found.end() for found in re.finditer("\n", source))]
    begin = starts[first - 1] if first <= len(starts) else len(source)
    end = starts[first - 1 + count] if first - 1 + count < len(starts) else len(source)
    position = _token_start(source, begin)
    lines: list[list[str]] = [[]]
    skip = source.count("\n", position, begin)
    for kind, text, use in _tokens(source, position, end, first - skip, uses):
        for at, part in enumerate(text.split("\n")):
            if at:
                lines.append([])
            if part:
                lines[-1].append(_marked(kind, part, use))
    return [Markup("".join(line)) for line in lines[skip : skip + count]][: max(0, len(starts) - first + 1)]


def _token_start(source: str, begin: int) -> int:
    """The start of the token that contains the position, or the position itself."""
    position = 0
    while position < begin:
        found = _OPENERS.search(source, position)
        if found is None or found.start() >= begin:
            return begin
        if found.end() > begin:
            return found.start()
        position = found.end()
    return begin


class _Token(NamedTuple):
    kind: str
    text: str
    use: Use | None


def _tokens(source: str, position: int, end: int, line: int, uses: Uses) -> Iterator[_Token]:
    while position < end:
        found = _LEXER.search(source, position, end)
        if found is None:
            break
        if found.start() > position:
            between = source[position : found.start()]
            line += between.count("\n")
            yield _Token("", between, None)
        text = found[0]
        if found.lastgroup == "n":
            is_keyword = text in _KEYWORDS
            use = None if is_keyword else _fitting(uses.get((line, text)), source, found)
            yield _Token("k" if is_keyword else "", text, use)
        else:
            yield _Token(found.lastgroup or "", text, None)
            line += text.count("\n")
        position = found.end()
    if position < end:
        yield _Token("", source[position:end], None)


def _fitting(use: Use | None, source: str, found: re.Match[str]) -> Use | None:
    """The use, if the name is written as such a use is."""
    if use is None or use.form == DECLARED:
        return use
    after_dot = source[found.start() - 1 : found.start()] == "."
    before_colon = source[found.end() : found.end() + 1] == ":" and source[found.end() + 1 : found.end() + 2] != "="
    if use.form == _MEMBER:
        return use if after_dot or before_colon else None
    return use if after_dot == (use.form == _OTHER) else None


def _marked(kind: str, part: str, use: Use | None) -> str:
    text = str(escape(visible_line(part, "\t")))
    if use is not None:
        return f'<a href="{escape(use.address)}" title="{escape(visible_line(use.title))}">{text}</a>'
    return f'<i class="{kind}">{text}</i>' if kind else text
