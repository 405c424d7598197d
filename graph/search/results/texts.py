"""Packages, notes, documents and summaries that contain most of a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from golore.graph.search.close_reading.intents import without_document_words
from golore.graph.search.index import TEXTS, SearchIndex
from golore.graph.search.index_sources import about
from golore.graph.search.note_answers import LASTING, answers
from golore.graph.search.results.hits import TEXT_KINDS, Hit, SearchRequest, is_allowed_text
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import question_of, rarity

_MAX_TEXTS: Final = 3
_MAX_ANSWERS: Final = 5
_MIN_COVER: Final = {"package": 0.75, "note": 0.5, "doc": 0.7, "summary": 0.7}
"""The share of a question, weighted by rarity, that a text of each kind must have to be shown among files."""
_BONUS: Final = {"package": 0.0, "note": 0.35, "doc": 0.1, "summary": 0.1}
"""What the share of a text of each kind is raised by: a note exists because somebody found it worth writing."""
_FACTOR: Final = 0.54
"""Factor for the share of a question that a text has, so that it compares with the score of a file."""
_ANSWER: Final = 0.84
"""Score of a note about the very question."""


def text_hits(sources: SearchContext, request: SearchRequest) -> list[Hit]:
    """Packages, notes, documents and summaries that contain most of the question."""
    if request.kind and request.kind not in TEXT_KINDS:
        return []
    question = question_of(without_document_words(request.text))
    rows = sources.view.texts
    total, share = 0.0, dict[int, float]()
    for term in question.terms:
        documents, _ = sources.index.postings(TEXTS, term)
        weight = rarity(len(documents), max(len(rows), 1))
        total += weight
        for id in documents:
            share[id] = share.get(id, 0.0) + weight
    answering = answers(sources.index, request.text, question, {id for id, row in rows.items() if row.flags & LASTING})
    found: list[tuple[Hit, int]] = []
    for id, value in share.items():
        row = rows[id]
        part = value / total if total else 0.0
        least = 0.0 if id in answering else 0.3 if request.kind else _MIN_COVER[row.kind]
        if part < least or (request.kind and row.kind != request.kind) or not is_allowed_text(request, row):
            continue
        score = _FACTOR * min(1.0, part * (0.9 + 1 / (10 + row.length)) + _BONUS[row.kind] - 0.1)
        if id in answering:  # a note about this very question, whatever words the code uses
            score = _ANSWER + 0.009 * answering[id]
        signals = {"cover": round(part, 3)} if request.explain else {}
        found.append((Hit(row.kind, row.name, row.file, 0, round(score, 6), "", (), signals), id))
    found.sort(key=lambda item: (-item[0].score, item[0].kind, item[0].name))
    best = found if request.kind else found[: max(_MAX_TEXTS, min(len(answering), _MAX_ANSWERS))]
    return [_with_text(hit, sources.index, id) for hit, id in best]


def _with_text(hit: Hit, index: SearchIndex, id: int) -> Hit:
    text = index.text(id)
    return hit if text is None else replace(hit, line=text.line, snippet=about(text.title, text.text))
