"""Search: the results for a text, best first. A name finds what has that name; other words find files.

A file is one result, with its best declarations inside, unless declarations are asked for. `signals` says how well a
file fits, `weights` how much each signal counts; `name_match` handles names and typos. Packages, notes, documents and
summaries are results if they contain most of the question. The index must be that of the graph (see `index`); the graph
itself is queried only for calls and uses, and only if the store is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from golore.graph.errors import UsageError
from golore.graph.search.close_reading.intents import asks_for_documents
from golore.graph.search.name_match import NAMED
from golore.graph.search.results.by_words import by_words, with_snippets
from golore.graph.search.results.hits import (
    KINDS,
    MAX_INNER,
    TEXT_KINDS,
    Hit,
    Hits,
    InnerHit,
    SearchRequest,
    is_for_symbols,
)
from golore.graph.search.results.named import by_name
from golore.graph.search.results.texts import text_hits
from golore.graph.search.search_context import SearchContext

_PROSE: Final = ("doc", "package", "summary")
_CODE_BEFORE_TEXTS: Final = 3
"""Results in code that come before documents, packages and summaries, unless a question asks for documents."""


def search(sources: SearchContext, request: SearchRequest) -> Hits:
    """The results for a text, best first. Raises `UsageError` for an unknown kind or an empty text."""
    if request.kind and request.kind not in KINDS:
        raise UsageError(f"There is no kind {request.kind!r}. Use one of {', '.join(KINDS)}.")
    if not request.text.strip():
        raise UsageError("The search text is empty. Give a name, a part of one, or words.")
    named, worded = by_name(sources, request), by_words(sources, request)
    found = [*named, *text_hits(sources, request), *worded.hits]
    found = _without_duplicates(found) if is_for_symbols(request) else _one_per_file(found)
    found = [_with_rating(hit, sources.favour) for hit in found]
    if not request.kind:
        found = _documents_first(found) if asks_for_documents(request.text) else _code_first(found)
    found.sort(key=lambda hit: (-hit.score, len(hit.name), hit.name, hit.file, hit.line))
    similar = [hit.name for hit in named if hit.score < NAMED] if named and named[0].score < NAMED else []
    hits = with_snippets(sources, request, found[: request.limit], worded)
    return Hits(hits, max(0, len(found) - request.limit), tuple(dict.fromkeys(similar))[:MAX_INNER])


def _one_per_file(found: Iterable[Hit]) -> list[Hit]:
    """The best hit of each file, with the other hits in that file inside it; and of each text, the best hit."""
    by_file: dict[str, Hit] = {}
    texts: dict[tuple[str, str], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        if hit.kind in TEXT_KINDS:
            texts.setdefault((hit.kind, hit.name), hit)
            continue
        first = by_file.get(hit.file)
        if first is None:
            by_file[hit.file] = hit
            continue
        added = (
            hit.symbols if hit.kind == "file" else (InnerHit(hit.kind, hit.name, hit.line, hit.snippet), *hit.symbols)
        )
        known = {(one.name, one.line) for one in first.symbols} | {(first.name, first.line)}
        more = tuple(one for one in added if (one.name, one.line) not in known)
        signals = {**hit.signals, **first.signals} if first.signals else first.signals
        by_file[hit.file] = replace(first, symbols=(*first.symbols, *more)[:MAX_INNER], signals=signals)
    return [*by_file.values(), *texts.values()]


def _without_duplicates(found: Iterable[Hit]) -> list[Hit]:
    best: dict[tuple[str, str, int], Hit] = {}
    for hit in sorted(found, key=lambda hit: -hit.score):
        best.setdefault((hit.name, hit.file, hit.line), hit)
    return list(best.values())


def _documents_first(found: list[Hit]) -> list[Hit]:
    """Raise documents above what else was found."""
    best = max((hit.score for hit in found), default=0.0)
    return [replace(hit, score=round(best + hit.score, 6)) if hit.kind == "doc" else hit for hit in found]


def _code_first(found: list[Hit]) -> list[Hit]:
    """Lower documents, summaries and packages below the first code that was found."""
    code = sorted((hit.score for hit in found if hit.kind not in TEXT_KINDS), reverse=True)
    most = code[min(_CODE_BEFORE_TEXTS, len(code)) - 1] if code else 1.0
    return [
        replace(hit, score=round(most * 0.999 * hit.score, 6)) if hit.kind in _PROSE and hit.score < NAMED else hit
        for hit in found
    ]


def _with_rating(hit: Hit, favour: Mapping[str, float]) -> Hit:
    """The hit with its score raised or lowered by ratings."""
    worth = favour.get(hit.name, 0.0) or favour.get(hit.file, 0.0)
    if not worth:
        return hit
    signals = {**hit.signals, "rated": round(worth, 3)} if hit.signals else hit.signals
    return replace(hit, score=round(hit.score * (1 + worth), 6), signals=signals)
