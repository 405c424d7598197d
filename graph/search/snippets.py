"""Shows why a file was found: the declarations and the line in it that contain most of the question.

Only the best files are examined this closely; nothing here affects the order of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from golore.graph.search.index_entries import IndexedSymbol, terms

_COMMENT_FACTOR: Final = 0.6
"""Weight of a term in a comment; in a name it is 1."""
_FIELD_FACTOR: Final = 0.8
_RAREST_TERMS: Final = 3
_MAX_LINES: Final = 200
_MAX_LINE: Final = 400
_MAX_SNIPPET: Final = 160


class SnippetLine(NamedTuple):
    number: int
    text: str
    share: float


class Terms(NamedTuple):
    """The terms of a question with their weights, and patterns that match where a term may occur: any term, and one of
    the rarest."""

    weights: Mapping[str, float]
    pattern: re.Pattern[str] | None
    rarest: re.Pattern[str] | None

    @property
    def total(self) -> float:
        return sum(self.weights.values())


def terms_to_show(weights: Mapping[str, float]) -> Terms:
    ordered = sorted(weights, key=lambda term: (-weights[term], term))
    return Terms(weights, _pattern(ordered), _pattern(ordered[:_RAREST_TERMS]))


def _pattern(wanted: Iterable[str]) -> re.Pattern[str] | None:
    # A stem may differ from the word in its last letter: policies, policy.
    probes = sorted({term[:-1] if len(term) > 4 else term for term in wanted})
    return re.compile("|".join(map(re.escape, probes)), re.IGNORECASE) if probes else None


def matching_symbols(
    symbols: Iterable[IndexedSymbol], wanted: Terms, is_wanted: Callable[[str], bool]
) -> list[tuple[IndexedSymbol, float]]:
    """Declarations that have terms of the question in their names or comments, best first, with the share of it that
    they have. If some may have one of the rarest terms, only those are examined. Declarations with less than half of
    the best share are left out."""
    candidates = [symbol for symbol in symbols if is_wanted(symbol.kind)]
    return _fitting(candidates, wanted, wanted.rarest) or _fitting(candidates, wanted, wanted.pattern)


def _fitting(
    symbols: Iterable[IndexedSymbol], wanted: Terms, pattern: re.Pattern[str] | None
) -> list[tuple[IndexedSymbol, float]]:
    found: list[tuple[IndexedSymbol, float]] = []
    if pattern is None:
        return found
    may_fit, total = pattern.search, wanted.total
    for symbol in symbols:
        if not (may_fit(symbol.local) or may_fit(symbol.about)):
            continue
        in_name, in_about = set(terms(symbol.local)), set(terms(symbol.about))
        share = sum(weight for term, weight in wanted.weights.items() if term in in_name)
        only_about = in_about - in_name
        share += _COMMENT_FACTOR * sum(weight for term, weight in wanted.weights.items() if term in only_about)
        if share:
            found.append((symbol, share / total * (_FIELD_FACTOR if symbol.kind == "field" else 1.0)))
    found.sort(key=lambda item: (-item[1], item[0].line, item[0].local))
    best = found[0][1] if found else 0.0
    return [item for item in found if item[1] >= best / 2]


def best_line(text: str, wanted: Terms) -> SnippetLine | None:
    """The line of a file that has the largest share of the question, the first of several; None if no line has one of
    the rarest terms."""
    if wanted.rarest is None:
        return None
    best: tuple[float, int, int] = (0.0, 0, 0)
    seen, end = 0, -1
    for match in wanted.rarest.finditer(text):
        if match.start() < end:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        line_terms = set(terms(text[start : min(end, start + _MAX_LINE)]))
        share = sum(weight for term, weight in wanted.weights.items() if term in line_terms)
        if share > best[0]:
            best = (share, start, end)
        seen += 1
        if seen >= _MAX_LINES:
            break
    share, start, end = best
    if not share:
        return None
    return SnippetLine(text.count("\n", 0, start) + 1, text[start:end].strip()[:_MAX_SNIPPET], share / wanted.total)
