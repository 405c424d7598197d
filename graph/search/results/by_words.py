"""Results by words: files, and declarations in them, by all signals and a closer look at the best (see `weights` and
`close_reading`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from golore.graph.search.call_proximity import with_neighbours
from golore.graph.search.close_reading.closer_ranking import Candidates, CloseLook, Wording, look_closely
from golore.graph.search.close_reading.exact_phrases import PhraseHit
from golore.graph.search.close_reading.intents import asked_actions, asks_for_tests
from golore.graph.search.close_reading.word_forms import joined_words, question_with_forms
from golore.graph.search.embedded_texts import embedded_symbols
from golore.graph.search.index import FILES
from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.results.hits import (
    MAX_INNER,
    TEXT_KINDS,
    Hit,
    SearchRequest,
    file_snippet,
    inner_hit,
    is_allowed,
    is_for_symbols,
    kind_filter,
    symbol_hit,
)
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import Question, Signal, rarity, signals_of, word_signals
from golore.graph.search.snippets import best_line, matching_symbols, terms_to_show
from golore.graph.search.vectors import Near
from golore.graph.search.weights import TOTAL, WEIGHTS, best_of, doubt, raised, weighted_sums

_MAX_EXAMINED: Final = 60
"""Files whose declarations are examined, if declarations are asked for; otherwise, files that are ranked beyond the
limit."""
_WORDS_FACTOR: Final = 0.4
"""Factor for what is found by words alone: it ranks below what has the text as its name. A total is 2 at most."""
_MIN_SHARE: Final = 0.5
"""The share of a question that a declaration must have, or the file is searched for a better line."""
_MAX_READ: Final = 6
"""Results whose files are searched for such a line."""


class WordHits(NamedTuple):
    """Hits, and what explains them: the files that are near by vectors, the places that have the words of the question
    in a row, and the weights of its terms."""

    hits: list[Hit]
    near: Mapping[int, Near]
    phrases: Mapping[int, PhraseHit]
    weights: Mapping[str, float]


def by_words(sources: SearchContext, request: SearchRequest) -> WordHits:
    """Files, or declarations in them, by their words and the subjects of their commits and, if these leave doubt, by
    vectors."""
    if request.kind in TEXT_KINDS:
        return WordHits([], {}, {}, {})
    view, question = sources.view, question_with_forms(sources.index, request.text)
    signals, totals, plain = _totals(sources, question)
    uncertain = doubt(plain)
    near = sources.meaning(request.text) if sources.meaning is not None and uncertain else dict[int, Near]()
    signals["meaning"] = {file: uncertain * one.value for file, one in near.items() if file in view.files}
    totals, plain = (raised(one, "meaning", signals["meaning"]) for one in (totals, plain))

    def allows(file: int) -> bool:
        return file in view.files and is_allowed(request, view.files[file])

    weights = _rarities(sources, question)
    look = look_closely(
        sources.index,
        Candidates(view.files, totals, plain, signals["cover"], allows, sources.read),
        Wording(request.text, question.terms, weights, joined_words(request.text), asked_actions(request.text)),
        tests_last=request.tests is not True and not asks_for_tests(request.text),
    )
    most = _MAX_EXAMINED if is_for_symbols(request) else request.limit + _MAX_EXAMINED
    ranked = best_of(look.totals, most, lambda file: view.files[file].path, allows)
    found = WordHits([], near, look.phrases, weights)
    for file in ranked:
        parts = _score_parts(signals, look, file) if request.explain else {}
        found.hits.extend(_hits_in(sources, request, found, file, _WORDS_FACTOR * look.totals[file], parts))
    return found


def _totals(sources: SearchContext, question: Question) -> tuple[dict[str, Signal], dict[int, float], dict[int, float]]:
    """The signals, the totals of files, and those without other forms of the question's words."""
    view = sources.view
    signals = signals_of(sources.index, view, question._replace(others=()))
    plain = _known(weighted_sums(signals), sources)
    plain = with_neighbours(plain, signals, view, sources.store)
    if not question.others:
        return signals, plain, plain
    signals |= word_signals(sources.index, view, question)
    return signals, _known(weighted_sums(signals), sources), plain


def _known(totals: dict[int, float], sources: SearchContext) -> dict[int, float]:
    """The totals without files that differ from the graph, which the view leaves out."""
    files = sources.view.files
    if len(files) == len(sources.view.numbers):
        return totals
    return {file: value for file, value in totals.items() if file in files}


def _hits_in(
    sources: SearchContext,
    request: SearchRequest,
    found: WordHits,
    file: int,
    score: float,
    parts: Mapping[str, float],
) -> Iterator[Hit]:
    """The file, or if declarations are asked for, those in it that fit."""
    row = sources.view.files[file]
    if not is_for_symbols(request):
        yield Hit("file", row.path, row.path, 1, round(score, 6), "", (), parts)
        return
    symbols = sources.index.symbols(file)
    for symbol, share in _fitting(symbols, request, found, file):
        symbol_parts = {**parts, "fits": round(share, 3)}
        yield symbol_hit(row, symbol, score * (0.5 + 0.5 * share), symbol_parts, request)


def _fitting(
    symbols: Sequence[IndexedSymbol], request: SearchRequest, found: WordHits, file: int
) -> list[tuple[IndexedSymbol, float]]:
    """The declarations of a file that fit, best first: the one that has the words of the question in a row, those whose
    names or comments have words of it, and the one that is nearest by vectors."""
    is_wanted, near, phrase = kind_filter(request), found.near.get(file), found.phrases.get(file)
    fits = matching_symbols(symbols, terms_to_show(found.weights), is_wanted)
    if near is not None and near.text:
        symbol = embedded_symbols(symbols)[near.text - 1]
        fits += [(symbol, near.value)] if is_wanted(symbol.kind) else []
    if phrase is not None and phrase.is_literal:
        around = [one for one in symbols if one.line <= phrase.line and is_wanted(one.kind)]
        fits += [(around[-1], max(phrase.value, _MIN_SHARE))] if around else []
    return sorted(fits, key=lambda item: -item[1])


def with_snippets(sources: SearchContext, request: SearchRequest, hits: list[Hit], found: WordHits) -> tuple[Hit, ...]:
    """The hits; files that were found by words or vectors get a snippet and the declarations that fit."""
    wanted = terms_to_show(found.weights)
    shown: list[Hit] = []
    for position, hit in enumerate(hits):
        if hit.kind != "file" or hit.snippet:
            shown.append(hit)
            continue
        row = sources.view.files[sources.view.numbers[hit.file]]
        fits = _fitting(sources.index.symbols(row.id), request, found, row.id)
        inside = tuple(dict.fromkeys(inner_hit(row, symbol) for symbol, _ in fits))[:MAX_INNER]
        share = fits[0][1] if fits else 0.0
        line, snippet = (inside[0].line, inside[0].snippet) if inside else (1, file_snippet(row))
        phrase = found.phrases.get(row.id)
        if phrase is not None and phrase.is_literal and phrase.value >= share:
            line, snippet = phrase.line, phrase.text
        elif share < _MIN_SHARE and position < _MAX_READ and sources.read is not None:
            best = best_line(sources.read(hit.file), wanted)
            if best is not None and best.share > share:
                line, snippet = best.number, best.text
        known = {(one.name, one.line) for one in inside}
        more = (*inside, *(one for one in hit.symbols if (one.name, one.line) not in known))
        shown.append(replace(hit, line=line, snippet=snippet, symbols=more[:MAX_INNER]))
    return tuple(shown)


def _rarities(sources: SearchContext, question: Question) -> dict[str, float]:
    """Term → weight, for the terms of a question that occur in files."""
    total = len(sources.view.files)
    numbers = {term: len(sources.index.postings(FILES, term).documents) for term in question.terms}
    weights = {term: rarity(number, total) for term, number in numbers.items() if number}
    for term, part in question.others:
        weights[term] = part * rarity(len(sources.index.postings(FILES, term).documents), total)
    return weights


def _score_parts(signals: Mapping[str, Mapping[int, float]], look: CloseLook, file: int) -> dict[str, float]:
    """The parts of a file's score, in the order of the weights; then those of the closer look. `order` is what keeps
    the first files first, and tests after code."""
    parts = {
        name: weight / TOTAL * signals[name][file]
        for name, weight in WEIGHTS.items()
        if signals.get(name, {}).get(file)
    }
    parts |= look.parts(file)
    parts["order"] = look.totals[file] - sum(parts.values())
    return {name: rounded for name, value in parts.items() if (rounded := round(_WORDS_FACTOR * value, 4))}
