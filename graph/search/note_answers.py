"""Which notes answer a question that somebody asks in words: "Why do tokens expire?" finds the decision about it.

Only what was meant to last counts: decisions, conventions, invariants, corrections, incidents. They are compared with
each other, by how much of the question they say, so that a thousand passing remarks with the same words make no
difference. What is asked for by a name or by mere words is not a question, and nothing is raised for it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from golore.graph.search.index import TEXTS, SearchIndex
from golore.graph.search.signals import Question, rarity

LASTING: Final = 4
"""The flag of such a note in the index."""
_LEAST: Final = 0.3
"""The share of a question, by rarity among the notes, that an answer must have."""
_NOWHERE: Final = 0.5
"""How much a word counts that none of them has: it tells nothing of which one is meant, only that none may be."""
_FEWEST: Final = 3
_ASKING: Final = frozenset(
    "are can could did do does how in is may must should was were what when where which who why".split()
)


def answers(index: SearchIndex, asked: str, question: Question, lasting: Collection[int]) -> dict[int, float]:
    """By the numbers of notes, how much of the question they say: from 0 to 1, none where nothing was asked."""
    if not lasting or not is_question(asked):
        return {}
    total, share = 0.0, dict[int, float]()
    for term in question.terms:
        holding = [id for id in index.postings(TEXTS, term).documents if id in lasting]
        weight = rarity(max(len(holding), 1), max(len(lasting), 2)) * (1.0 if holding else _NOWHERE)
        total += weight
        for id in holding:
            share[id] = share.get(id, 0.0) + weight
    return {id: value / total for id, value in share.items() if value >= _LEAST * total}


def is_question(text: str) -> bool:
    words = text.lower().split()
    return len(words) >= _FEWEST and (words[-1].endswith("?") or words[0] in _ASKING)
