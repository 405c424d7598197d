"""How well declarations fit a question in words, by their own text: the first half of the choice (see `proximity`).

Files are ranked as by search. In the best ones, each declaration is judged by its name, its doc comment, that of its
type, and its body: how much of the question is in it, how densely, and how much within a few lines. Tests and generated
code are left out; code that supports tests counts less unless the question is about tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.explore.declarations import Declaration, declarations_in
from golore.graph.explore.question_terms import Hits, QuestionTerms, question_terms
from golore.graph.explore.term_hits import FileHits, TermHits
from golore.graph.queries.symbol_steps import Steps
from golore.graph.search.close_reading.word_forms import question_with_forms
from golore.graph.search.index_entries import GENERATED, TEST, FileRow
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import signals_of
from golore.graph.search.weights import best_of, weighted_sums

_MAX_FILES: Final = 40
_MAX_RANKED: Final = 3 * _MAX_FILES
"""Files among which those are chosen that do not only support tests."""
_FIRST, _MAX_TERMS = 8, 200_000
"""Files that are examined however long they are, and terms of all files together. Long files are mostly tables and
types; without this limit, ten of them took as much time as a hundred others."""
_WINDOW: Final = 6
"""Lines that count as one place."""
_DENSITY, _SHARE, _PLACE, _DOC, _OWNER_DOC, _NAME = 1.0, 0.6, 1.0, 0.3, 0.3, 0.3
_FILE_EXPONENT, _WORDS_EXPONENT, _SIZE_EXPONENT = 0.6, 0.4, 0.5
_EXPORTED: Final = 0.85
"""Exported functions are often thin: what they do is in the functions that they call."""
_TYPE, _VALUE = 0.3, 0.2
"""Factors for types and for variables and constants: a question asks how something works more often than what it is."""
_TEST_SUPPORT: Final = 0.3
_TEST_DIRECTORY: Final = re.compile(r"(?:^|/)(?:tests?|testing|testutils?|testdata|mocks?|fakes?|examples?|e2e)/")
_ABOUT_TESTS: Final = re.compile(r"\b(?:tests?|tested|testing|mocks?|fakes?|examples?|e2e)\b", re.IGNORECASE)
_MIN_WORDS: Final = 0.05
_SHARPNESS: Final = 1.2
_PIECE_LENGTH: Final = 6
"""Characters of a text for each piece of it, on average."""
_MAX_PLACES: Final = 250
"""Declarations whose lines are examined."""
_MAX_JUDGED: Final = 400


class Judged(NamedTuple):
    """A declaration with its value for the question, 1 for the best one."""

    declaration: Declaration
    value: float


class FileValues(NamedTuple):
    """File → how well it fits, and how well its text alone does; both are 1 for the best file."""

    total: Mapping[str, float]
    words: Mapping[str, float]


class WordQuestion(NamedTuple):
    """`support_factor`: see `test_support`."""

    terms: QuestionTerms
    files: FileValues
    support_factor: Callable[[str], float]


class _Matched(NamedTuple):
    """A declaration with what its parts have of the question."""

    declaration: Declaration
    in_text: Hits
    in_doc: Hits
    in_owner_doc: Hits
    anywhere: Hits


def word_question(sources: SearchContext, text: str) -> WordQuestion:
    """Rank the files for a question in words."""
    view = sources.view
    signals = signals_of(sources.index, view, question_with_forms(sources.index, text))
    totals = {file: value for file, value in weighted_sums(signals).items() if file in view.files}

    def is_code(file: int) -> bool:
        return not view.files[file].flags & (TEST | GENERATED)

    both = {file: (value + signals["words"].get(file, 0.0)) / 2 for file, value in totals.items()}
    support_factor = test_support(text)
    ranked = best_of(both, _MAX_RANKED, lambda file: view.files[file].path, is_code)
    ranked.sort(key=lambda file: -both[file] * support_factor(view.files[file].path))
    chosen = list(_affordable([view.files[file] for file in ranked]))[:_MAX_FILES]
    best = max((totals[file] for file in chosen), default=0.0) or 1.0
    paths = {file: view.files[file].path for file in chosen}
    values = FileValues(
        {paths[file]: totals[file] / best for file in chosen},
        {paths[file]: max(_MIN_WORDS, signals["words"].get(file, 0.0)) for file in chosen},
    )
    return WordQuestion(question_terms(text, sources.index, view), values, support_factor)


def _affordable(ranked: Iterable[FileRow]) -> Iterator[int]:
    """The first files, and of the others, those that are not too long for the room that is left."""
    room = _MAX_TERMS
    for at, row in enumerate(ranked):
        if at < _FIRST or row.length <= room:
            room -= row.length
            yield row.id


def test_support(text: str) -> Callable[[str], float]:
    """A function from a file to its factor: less than 1 if it only supports tests, and the question is not about
    tests."""
    if _ABOUT_TESTS.search(text):
        return lambda _: 1.0
    return lambda path: _TEST_SUPPORT if _TEST_DIRECTORY.search(path) else 1.0


def judge_files(
    store: Store, steps: Steps, hits: TermHits, question: WordQuestion
) -> tuple[list[Judged], QuestionTerms]:
    """The declarations of the best files that have something of the question, best first; and its terms, with their
    weights among these declarations."""
    found = [
        one
        for file in question.files.total
        for one in _matched(declarations_in(store, steps, file), hits.in_file(file))
    ]
    terms = question.terms.weighted_by([one.anywhere for one in found])
    valued = [(one, _text_value(terms, one)) for one in found if one.anywhere]
    valued.sort(key=lambda item: (-item[1], item[0].declaration.id))
    judged: list[Judged] = []
    for at, (one, value) in enumerate(valued):
        place = _place_value(terms, hits.by_line(one.declaration)) if at < _MAX_PLACES else 0.0
        judged.append(Judged(one.declaration, (value + place) * _prior(question, one.declaration)))
    best = max((one.value for one in judged), default=0.0) or 1.0
    judged = [Judged(one.declaration, (one.value / best) ** _SHARPNESS) for one in judged]
    return sorted(judged, key=lambda item: (-item.value, item.declaration.id))[:_MAX_JUDGED], terms


def _matched(declarations: Iterable[Declaration], in_file: FileHits) -> Iterator[_Matched]:
    """The declarations of a file. The text between two declarations is the doc comment of the second."""
    docs: dict[str, Hits] = {}
    before = 0
    for one in declarations:
        in_text = in_file.between(one.start, one.end)
        in_doc = docs[one.id] = in_file.between(before, one.start) if one.doc else {}
        before = max(before, one.end)
        anywhere = {number: max(in_text.get(number, 0.0), in_doc.get(number, 0.0)) for number in {**in_text, **in_doc}}
        yield _Matched(one, in_text, in_doc, docs.get(one.owner, {}), anywhere)


def _text_value(terms: QuestionTerms, one: _Matched) -> float:
    pieces = (one.declaration.end - one.declaration.start) // _PIECE_LENGTH
    return (
        _DENSITY * terms.density(one.in_text, pieces)
        + _SHARE * terms.share(one.anywhere)
        + _DOC * terms.share(one.in_doc)
        + _OWNER_DOC * terms.share(one.in_owner_doc)
        + _NAME * terms.share(terms.hits(one.declaration.name))
    )


def _place_value(terms: QuestionTerms, lines: Sequence[tuple[int, Hits]]) -> float:
    """The largest share of the question within a few lines."""
    best = 0.0
    for at, (first, hits) in enumerate(lines):
        together = dict(hits)
        for line, more in lines[at + 1 : at + _WINDOW]:
            if line >= first + _WINDOW:
                break
            for number, value in more.items():
                if together.get(number, 0.0) < value:
                    together[number] = value
        best = max(best, terms.share(together))
    return _PLACE * best


def _prior(question: WordQuestion, one: Declaration) -> float:
    """The factor of a declaration by its file, kind and size."""
    files = question.files
    value = files.total[one.file] ** _FILE_EXPONENT * files.words[one.file] ** _WORDS_EXPONENT
    if one.kind in ("func", "method"):
        value *= (0.6 + log(one.end_line - one.line + 2) / 3) ** _SIZE_EXPONENT
        value *= _EXPORTED if one.name[:1].isupper() else 1.0
    else:
        value *= _VALUE if one.kind in ("const", "var") else _TYPE
    return value * question.support_factor(one.file)
