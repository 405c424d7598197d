"""How well the best declaration of a file fits a question: by the words of its name, then of its comment.

A file is long, and has many words by chance; one function whose name has most of the question is what was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.terms import word_terms, words

_COMMENT_FACTOR: Final = 0.5
_KIND_FACTORS: Final = {"field": 0.6, "var": 0.8, "const": 0.8, "imethod": 0.85}
_DOING: Final = frozenset(("func", "method"))
_NOT_DOING_FACTOR: Final = 0.7
_ACTION_BONUS: Final = 1.0
"""How much more a word in a name counts if it is the action, and the name has another word of the question."""
_UNCHANGED: Final = 3
"""A stem differs from its word in at most so many last letters, and keeps so many first ones (see `terms.stem`). Most
declarations have no beginning of a stem, or too few to be the best, which is found out faster than their terms."""
_NAME_BONUS: Final = 0.35
"""How much it counts that a name has no other words than those of the question."""


def best_fit(
    symbols: Iterable[IndexedSymbol], weights: Mapping[str, float], total: float, actions: Collection[str] = ()
) -> float:
    """The share of the question, by weight, that the best declaration has; names count more than comments. `actions`
    are what the question asks for the place of: then functions count more than types, and more if they are called like
    the action."""
    best = 0.0
    beginnings = [(term[: max(_UNCHANGED, len(term) - _UNCHANGED)], weight / total) for term, weight in weights.items()]
    most = 1 + _ACTION_BONUS if actions else 1.0
    for symbol in symbols:
        factor = _KIND_FACTORS.get(symbol.kind, 1.0)
        if actions and symbol.kind not in _DOING:
            factor *= _NOT_DOING_FACTOR
        if factor <= best:
            continue
        text = f"{symbol.local} {symbol.about}".lower()
        bound = sum([share for beginning, share in beginnings if beginning in text])
        if bound and factor * most * bound > best:
            best = max(best, factor * _fit(symbol, weights, total, actions))
    return best


def _fit(symbol: IndexedSymbol, weights: Mapping[str, float], total: float, actions: Collection[str]) -> float:
    in_name = _terms(symbol.local)
    named = [weights[term] for term in in_name if term in weights]
    share = sum(named)
    if len(named) > 1:
        share += _ACTION_BONUS * sum(weights.get(term, 0.0) for term in actions if term in in_name)
    for term in _terms(symbol.about):
        if term in weights and term not in in_name:
            share += _COMMENT_FACTOR * weights[term]
    if not share:
        return 0.0
    own = _terms(symbol.name)
    precision = sum(1 for term in own if term in weights) / len(own) if own else 0.0
    return min(1.0, share / total) * (1 - _NAME_BONUS + _NAME_BONUS * precision)


_cache: dict[str, frozenset[str]] = {}
_MAX_CACHED: Final = 1 << 15


def _terms(text: str) -> frozenset[str]:
    found = _cache.get(text)
    if found is None:
        if len(_cache) >= _MAX_CACHED:
            _cache.clear()
        found = _cache[text] = frozenset(term for word in words(text) for term in word_terms(word))
    return found
