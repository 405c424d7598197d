"""The terms of a question in words, and how well pieces of code match them.

A piece is a part of a name or a word of a comment. It matches a term if both have the same stem, less if one begins
with the other (`config`, configuration) or if the words are related (see `related_words`). Consecutive words also make
a term of their initials if the code uses it: "write ahead log" is `WAL`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Final, NamedTuple

from golore.graph.explore.related_words import RELATED
from golore.graph.search.index import FILES, SearchIndex
from golore.graph.search.signals import IndexView, rarity
from golore.graph.search.terms import STOP_WORDS, parts, stem, words

_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""Only ASCII letters are compared."""
_PREFIX, _BEGINNING, _RELATION = 4, 0.7, 0.5
_SHORTEST: Final = 2
"""A word and its stem have at least as many first letters in common, and so have two words that match."""
_MIN_FILES, _COMMON = 3, 0.25
"""Initials that are in fewer files are a coincidence, and in more than this share of all files they say nothing."""
_QUESTION_WORDS: Final = frozenset(
    "after again already another because before being between both come comes different does done during each either "
    "every example first given go goes happen happened happens kind long many moment much often other others over same "
    "second several since still take taken takes thing things through under way ways whether within without work works "
    "yet".split()
)
"""Words of questions that do not say what a question is about, besides the stop words of search."""

Matches = tuple[tuple[int, float], ...]
"""The numbers of the terms that a piece matches, and how well."""
Hits = Mapping[int, float]
"""Number of a term → how often it is matched, weighted by how well."""


class Term(NamedTuple):
    """`is_initials`: only a piece that is written so matches it."""

    stem: str
    weight: float
    is_initials: bool = False


class QuestionTerms:
    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self.total = sum(term.weight for term in self.terms)
        self._seen: dict[str, Matches] = {}
        stems = {term.stem for term in self.terms}
        self._beginnings = frozenset(one[:_SHORTEST] for stem in stems for one in (stem, *RELATED.get(stem, ())))

    def weighted_by(self, documents: Sequence[Hits]) -> QuestionTerms:
        """The same terms, with weights that also say how rare each is among these documents: what all of them have
        does not distinguish them."""
        counts = Counter(number for hits in documents for number in hits)
        total = len(documents)
        return QuestionTerms(
            term._replace(weight=sqrt(term.weight * rarity(counts[number], total)) if counts[number] else 0.0)
            for number, term in enumerate(self.terms)
        )

    def hits(self, text: str) -> dict[int, float]:
        """What a short text has."""
        found: dict[int, float] = {}
        for piece in _PIECE.findall(text):
            for number, strength in self._matches(piece.lower()):
                found[number] = found.get(number, 0.0) + strength
        return found

    def in_word(self, word: bytes) -> Matches:
        """The matches of all pieces of a word of ASCII letters and digits."""
        if word[1:].islower() and word.isalpha():  # most words are one piece
            return self._matches(word.lower().decode("ascii"))
        found: list[tuple[int, float]] = []
        for piece in _PIECE.findall(word.decode("ascii", "replace")):
            found += self._matches(piece.lower())
        return tuple(found)

    def share(self, hits: Hits) -> float:
        """The share of the question, by weight, that is matched at least once."""
        total = 0.0
        for number, value in hits.items():
            total += self.terms[number].weight * min(1.0, value)
        return total / self.total if self.total else 0.0

    def density(self, hits: Hits, pieces: int) -> float:
        """Like `share`, but repeated matches count more, and long texts less (BM25)."""
        norm = 0.72 + 0.0048 * pieces
        total = 0.0
        for number, value in hits.items():
            total += self.terms[number].weight * (value / (value + norm))
        return total / self.total if self.total else 0.0

    def _matches(self, piece: str) -> Matches:
        known = self._seen.get(piece)
        if known is None:
            is_compared = piece[:_SHORTEST] in self._beginnings
            known = self._seen[piece] = tuple(self._compared(piece)) if is_compared else ()
        return known

    def _compared(self, word: str) -> Iterator[tuple[int, float]]:
        piece = stem(word)
        related = RELATED.get(piece, frozenset())
        beginning = piece[:_PREFIX]
        for number, (wanted, _, is_initials) in enumerate(self.terms):
            if is_initials:
                if word == wanted:
                    yield number, 1.0
            elif piece == wanted:
                yield number, 1.0
            elif (
                len(piece) >= _PREFIX
                and wanted.startswith(beginning)
                and (piece.startswith(wanted) or wanted.startswith(piece))
                and len(wanted) >= _PREFIX
            ):
                yield number, _BEGINNING
            elif wanted in related:
                yield number, _RELATION


def question_terms(text: str, index: SearchIndex, view: IndexView) -> QuestionTerms:
    """The terms of a text, weighted by their rarity in the files of the repository."""
    total = len(view.files)
    stems = dict.fromkeys(stem(word) for word in _content_words(text))
    counts = {one: len(index.postings(FILES, one).documents) for one in stems}
    # A word that no file has may still begin one that some have: it is taken as neither rare nor common.
    terms = [Term(one, rarity(number or total // 10, total)) for one, number in counts.items()]
    for one in dict.fromkeys(_initials(text)):
        number = len(index.postings(FILES, one).documents)
        if one not in counts and _MIN_FILES <= number < _COMMON * total:
            terms.append(Term(one, rarity(number, total), is_initials=True))
    return QuestionTerms(terms)


def _content_words(text: str) -> Iterator[str]:
    for word in words(text):
        for part in [word] if word.islower() else parts(word):
            lowered = part.lower()
            if len(lowered) > 1 and lowered not in STOP_WORDS and lowered not in _QUESTION_WORDS:
                yield lowered


def _initials(text: str) -> Iterator[str]:
    """The initials of three and four consecutive words."""
    lowered = [word.lower() for word in words(text)]
    empty = STOP_WORDS | _QUESTION_WORDS
    for size in (3, 4):
        for start in range(len(lowered) - size + 1):
            group = lowered[start : start + size]
            inner = group[1:-1]
            if all((len(word) > 2 and word not in empty) or (word in ("of", "to") and word in inner) for word in group):
                yield "".join(word[0] for word in group)
