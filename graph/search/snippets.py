"""Why a file was found: the declarations and the line in it that say most of what was asked.

Only what is shown is looked at so closely; nothing here has a part in the order of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from golore.graph.search.index_entries import IndexedSymbol, terms

_IN_COMMENT: Final = 0.6
"""What a term in a comment counts, beside 1 in a name."""
_OF_FIELD: Final = 0.8
_RAREST: Final = 3
_MOST_LINES: Final = 200
_LONGEST_LINE: Final = 400
_SNIPPET: Final = 160


class SnippetLine(NamedTuple):
    number: int
    text: str
    share: float


class Terms(NamedTuple):
    """The terms of a question with how much each says, and patterns that find places where they may stand: any of
    them, and the rarest."""

    weights: Mapping[str, float]
    pattern: re.Pattern[str] | None
    rarest: re.Pattern[str] | None

    @property
    def total(self) -> float:
        return sum(self.weights.values())


def terms_to_show(weights: Mapping[str, float]) -> Terms:
    ordered = sorted(weights, key=lambda term: (-weights[term], term))
    return Terms(weights, _pattern(ordered), _pattern(ordered[:_RAREST]))


def _pattern(wanted: Iterable[str]) -> re.Pattern[str] | None:
    # A stem may differ from the word in its last letter: policies, policy.
    probes = sorted({term[:-1] if len(term) > 4 else term for term in wanted})
    return re.compile("|".join(map(re.escape, probes)), re.IGNORECASE) if probes else None


def fitting(
    symbols: Iterable[IndexedSymbol], wanted: Terms, is_wanted: Callable[[str], bool]
) -> list[tuple[IndexedSymbol, float]]:
    """Declarations that have words of the question in their names or comments, with the share they have of it. Where
    some have its rarest words, those that have none of these are not looked at."""
    asked = [symbol for symbol in symbols if is_wanted(symbol.kind)]
    return _fitting(asked, wanted, wanted.rarest) or _fitting(asked, wanted, wanted.pattern)


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
        share += _IN_COMMENT * sum(weight for term, weight in wanted.weights.items() if term in only_about)
        if share:
            found.append((symbol, share / total * (_OF_FIELD if symbol.kind == "field" else 1.0)))
    found.sort(key=lambda item: (-item[1], item[0].line, item[0].local))
    best = found[0][1] if found else 0.0
    return [item for item in found if item[1] >= best / 2]


def best_line(text: str, wanted: Terms) -> SnippetLine | None:
    """The line of a file that has most of the question, the first of several."""
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
        held = set(terms(text[start : min(end, start + _LONGEST_LINE)]))
        share = sum(weight for term, weight in wanted.weights.items() if term in held)
        if share > best[0]:
            best = (share, start, end)
        seen += 1
        if seen >= _MOST_LINES:
            break
    share, start, end = best
    if not share:
        return None
    return SnippetLine(text.count("\n", 0, start) + 1, text[start:end].strip()[:_SNIPPET], share / wanted.total)
