"""Finds the words of a question as they were written, one after the other, in the text of a few files.

Error texts, log messages, flags and keys are defined in string literals. A literal that defines something counts most,
then other literals, then code and comments. What a program prints has values where the literal has verbs such as `%q`,
so a part of the words is enough; the longest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from golore.graph.search.terms import STOP_WORDS, word_terms

_WORD: Final = re.compile(r"\w+")
_MAX_WORDS: Final = 24
_MAX_PLACES: Final = 12
"""Places of the same words in a file that are compared."""
_DEFINITION, _WHOLE_LITERAL, _LITERAL, _CODE, _COMMENT = 1.1, 1.0, 0.85, 0.4, 0.4
_DEFINES: Final = re.compile(r"(?:(?:Var|VarP|Flag|New|Errorf?)\([^\"]*|=\s*|\w:)[\"`]-{0,2}$")
"""What stands before a literal that defines a flag, an error, a constant or the key of a field."""
_EXPONENT: Final = 3
"""Two words in a row happen by chance; what counts is that all are."""
_MAX_SNIPPET: Final = 160
_QUOTES: Final = '"`'
_MIN_WORDS: Final = 2


class PhraseHit(NamedTuple):
    """`value`: the share of the question that the words have, lower outside of literals. `line` and
    `text` are the line where they are."""

    value: float
    line: int
    text: str
    is_literal: bool


class Phrase:
    """The words of a question. `weights` are those of their terms."""

    def __init__(self, text: str, weights: Mapping[str, float]) -> None:
        self._text = text.strip().strip("'\"`").lstrip("-").lower()
        self._spans = [match.span() for match in _WORD.finditer(self._text)][:_MAX_WORDS]
        self._weights = [self._weight(self._text[start:end], weights) for start, end in self._spans]
        self._total = sum(self._weights) or 1.0

    def _weight(self, word: str, weights: Mapping[str, float]) -> float:
        if word in STOP_WORDS:
            return 0.0
        return max((weights.get(term, 0.0) for term in word_terms(word)), default=0.0)

    def hit_in(self, text: str) -> PhraseHit | None:
        """The best place in a text; None if it has no two words of the question in a row."""
        lower = text.lower()
        best: tuple[float, int, bool] | None = None
        for start, end in self._runs(lower):
            share = (sum(self._weights[start:end]) / self._total) ** _EXPONENT
            words = self._text[self._spans[start][0] : self._spans[end - 1][1]]
            for at in _places(lower, words):
                kind = _kind_at(text, at, at + len(words))
                found = (share * kind, at, kind >= _LITERAL)
                if best is None or found[0] > best[0]:
                    best = found
        if best is None:
            return None
        value, at, is_literal = best
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start : end if end >= 0 else None].strip()[:_MAX_SNIPPET]
        return PhraseHit(value, text.count("\n", 0, at) + 1, line, is_literal)

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Ranges of words that the text has as they are written in the question. At least two of them have weight,
        or all words are in the range."""
        start, number = 0, len(self._spans)
        while start < number:
            end = start
            while end < number and self._text[self._spans[start][0] : self._spans[end][1]] in text:
                end += 1
            with_weight = sum(1 for weight in self._weights[start:end] if weight)
            if with_weight >= _MIN_WORDS or (end - start == number and with_weight):
                yield start, end
            start = max(start + 1, end - 1)


def _places(text: str, words: str) -> Iterator[int]:
    at = text.find(words)
    for _ in range(_MAX_PLACES):
        if at < 0:
            return
        yield at
        at = text.find(words, at + 1)


def _kind_at(text: str, start: int, end: int) -> float:
    """How much a place counts: a literal of these words, another literal, code, or a comment."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    quotes = before.count('"') - before.count('\\"')
    is_comment = "//" in before and quotes % 2 == 0
    if is_comment:
        return _COMMENT
    if _DEFINES.search(before):
        return _DEFINITION
    if text[start - 1 : start] in tuple(_QUOTES) or text[end : end + 1] in tuple(_QUOTES):
        return _WHOLE_LITERAL
    return _LITERAL if quotes % 2 or before.count("`") % 2 else _CODE
