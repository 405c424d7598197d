"""Other forms of a question's words that the index has: joined words, related endings, and words without a typo.

"table of contents" is also `tableofcontents`, "compaction" also `compactor`. A word that no file has is replaced by the
most frequent one that differs by one typo.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from golore.graph.search.index import FILES, SearchIndex
from golore.graph.search.name_match import is_one_typo
from golore.graph.search.past_commits import without_numbers
from golore.graph.search.signals import Question, question_of
from golore.graph.search.terms import STOP_WORDS, stem, word_terms, words

_MAX_JOINED: Final = 4
_MIN_JOINED: Final = 6
_MAX_WORDS: Final = 16
"""Words of a question that are examined: a longer text has enough words of its own."""
_JOINED_WEIGHT: Final = 0.7
_RELATED_WEIGHT: Final = 0.4
_ENDINGS: Final = ("", "er", "or", "ion", "ment", "at", "ator", "abl", "anc", "y")
"""What stems of related words end with: compact, compactor, compaction; render, rend (see `terms.stem`)."""
_MIN_ROOT: Final = 4
_MIN_TYPO: Final = 5
_MAX_CORRECTED: Final = 4
"""Terms of a question whose typos are corrected. A longer one has enough other words, and often new names."""
_MAX_CANDIDATES: Final = 400


def question_with_forms(index: SearchIndex, text: str) -> Question:
    """The question that a text asks, in the words of this index."""
    question = question_of(text)
    corrected = _corrections(index, question)
    terms = tuple(dict.fromkeys(corrected.get(term, term) for term in question.terms))
    others: dict[str, float] = {}
    for joined in sorted(joined_words(text)):
        for form in dict.fromkeys((joined, stem(joined))):
            if form not in terms and index.has_term(FILES, form):
                others[form] = _JOINED_WEIGHT
    for term in terms:
        for related in _related(term):
            if related not in terms and related not in others and index.has_term(FILES, related):
                others[related] = _RELATED_WEIGHT
    return question._replace(terms=terms, others=tuple(others.items()))


def joined_words(text: str) -> frozenset[str]:
    """Consecutive words as one, with and without the stop words between them."""
    return frozenset(_joined(text))


def _joined(text: str) -> Iterator[str]:
    every = [word.lower() for word in words(without_numbers(text))][:_MAX_WORDS]
    for sequence in (every, [word for word in every if word not in STOP_WORDS]):
        for size in range(2, _MAX_JOINED + 1):
            for start in range(len(sequence) - size + 1):
                part = sequence[start : start + size]
                joined = "".join(part)
                if len(joined) >= _MIN_JOINED and part[0] not in STOP_WORDS and part[-1] not in STOP_WORDS:
                    yield joined


def _related(term: str) -> Iterator[str]:
    for root in _roots(term) if term.isalpha() else ():
        yield from (root + end for end in _ENDINGS if root + end != term)


def _roots(term: str) -> list[str]:
    """The term, and what is left without an ending, the longest first."""
    roots = {term[: len(term) - len(end)] for end in _ENDINGS if term.endswith(end)}
    return sorted((root for root in roots if len(root) >= _MIN_ROOT), key=lambda root: (-len(root), root))


def _corrections(index: SearchIndex, question: Question) -> dict[str, str]:
    """Term that no file has → the most frequent term that differs from it, or from it without its ending, by a typo."""
    found: dict[str, str] = {}
    for term in question.terms if len(question.terms) <= _MAX_CORRECTED else ():
        if len(term) < _MIN_TYPO or not term.isalpha() or index.has_term(FILES, term):
            continue
        for root in _roots(term):
            close = {other for other in _similar(index, root) if is_one_typo(root, other)}
            if close:
                found[term] = max(sorted(close), key=lambda other: len(index.postings(FILES, other).documents))
                break
    return found


def _similar(index: SearchIndex, term: str) -> Iterator[str]:
    """Terms with the same beginning, and terms of names with the same end."""
    half = (len(term) - 1) // 2
    lengths = (len(term) - 1, len(term) + 1)
    yield from index.terms_from(FILES, term[:half], _MAX_CANDIDATES, lengths)
    ending = term[len(term) - half :]
    for name in index.names_ending_with(ending, _MAX_CANDIDATES, (len(term) - 1, len(term) + 4)):
        for other in word_terms(name):
            if index.has_term(FILES, other):
                yield other
