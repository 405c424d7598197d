"""Finds the notes that answer a question in words: "Why do tokens expire?" finds the decision about it.

Only lasting notes count: decisions, conventions, invariants, corrections, incidents. They are compared with each other,
by how much of the question they contain, so that a thousand tasks and plain notes with the same words make no
difference. A name or mere keywords are not a question, and no note answers them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from golore.graph.search.index import TEXTS, SearchIndex
from golore.graph.search.signals import Question, rarity

LASTING: Final = 4
"""Flag of a lasting note in the index."""
_MIN_SHARE: Final = 0.3
"""The share of a question, weighted by rarity among the lasting notes, that an answer must contain."""
_MISSING_FACTOR: Final = 0.5
"""Factor for the weight of a term that no lasting note contains: it does not tell which note is meant, only that
possibly none is."""
_MIN_WORDS: Final = 3
_QUESTION_WORDS: Final = frozenset(
    "are can could did do does how in is may must should was were what when where which who why".split()
)


def answers(index: SearchIndex, asked: str, question: Question, lasting: Collection[int]) -> dict[int, float]:
    """Note number → the share of the question that the note contains, from 0 to 1; empty if it is not a question."""
    if not lasting or not is_question(asked):
        return {}
    total, found = 0.0, dict[int, float]()
    for term in question.terms:
        containing = [id for id in index.postings(TEXTS, term).documents if id in lasting]
        weight = rarity(max(len(containing), 1), max(len(lasting), 2)) * (1.0 if containing else _MISSING_FACTOR)
        total += weight
        for id in containing:
            found[id] = found.get(id, 0.0) + weight
    return {id: value / total for id, value in found.items() if value >= _MIN_SHARE * total}


def is_question(text: str) -> bool:
    words = text.lower().split()
    return len(words) >= _MIN_WORDS and (words[-1].endswith("?") or words[0] in _QUESTION_WORDS)
