"""Chooses the declarations that explain what was asked, most important first.

Names, places and frames of stack traces choose by themselves. Words choose by relevance. Both are then followed through
the graph (see `proximity`): what explains something is rarely one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.explore.asked import Asked, Frame
from golore.graph.explore.declarations import SHOWN_KINDS, Declaration, SourceReader, declarations_of
from golore.graph.explore.proximity import Calls, near_values
from golore.graph.explore.question_terms import QuestionTerms
from golore.graph.explore.relevance import Judged, judge_files, word_question
from golore.graph.explore.term_hits import TermHits
from golore.graph.phrases import joined, listed
from golore.graph.queries.answers import Meaning, Ref
from golore.graph.queries.edges import outbound
from golore.graph.queries.names.code_places import declarations_at, files_ending
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.names.written_names import FileLines
from golore.graph.queries.symbol_steps import Steps
from golore.graph.search.index_entries import GENERATED, TEST
from golore.graph.search.search_context import SearchContext
from golore.graph.search.signals import IndexView

_MAX_CHOSEN: Final = 80
_MAX_MEANINGS: Final = 3
"""Meanings of an ambiguous name that are shown."""
_MAX_AT_FRAME: Final = 2
"""Innermost frames whose line is followed to what it calls."""
_BESIDE_NAMES: Final = 0.5
"""Factor for what words find if the question also names code."""
_CALLED_AT_FRAME: Final = 0.9
_SAME_TYPE: Final = 0.2
"""How much the methods of the type that has most of the value are raised."""


class Chosen(NamedTuple):
    """`is_named`: the question names it. `lines` are lines in its file that the question is about."""

    declaration: Declaration
    value: float
    is_named: bool = False
    lines: frozenset[int] = frozenset()


class Selection(NamedTuple):
    """`messages` say what of the question was not found."""

    chosen: tuple[Chosen, ...]
    terms: QuestionTerms
    hits: TermHits
    calls: Calls
    messages: tuple[str, ...] = ()


class _Seed(NamedTuple):
    ref: Ref
    lines: frozenset[int] = frozenset()


def select(sources: SearchContext, names: NameResolver, steps: Steps, reader: SourceReader, asked: Asked) -> Selection:
    store = sources.store
    assert store is not None
    messages: list[str] = []
    seeds = [*_frame_seeds(store, names, asked.frames), *_place_seeds(store, asked.places, messages)]
    seeds += _name_seeds(names, asked, messages)
    calls = Calls(steps, _excluded(sources.view))
    is_by_words = bool(asked.words) and not (asked.is_list and seeds)
    judged: list[Judged] = []
    terms = QuestionTerms(())
    hits = TermHits(terms, reader)
    if is_by_words:
        question = word_question(sources, asked.words)
        hits = TermHits(question.terms, reader)
        judged, terms = judge_files(store, steps, hits, question)
    if not seeds and not judged:
        raise UsageError(" ".join(messages) or "Nothing here has these words. Ask in other words, or name a symbol.")
    values = {calls.steps.number(one.declaration.ref): one.value * (_BESIDE_NAMES if seeds else 1) for one in judged}
    values |= {calls.steps.number(seed.ref): 1.0 for seed in seeds}
    for ref in _called_at(store, asked.frames, seeds):
        number = calls.steps.number(ref)
        values[number] = max(values.get(number, 0.0), _CALLED_AT_FRAME)
    totals = _with_types(calls, near_values(calls, values))
    return Selection(tuple(_in_order(store, calls, totals, seeds, judged)), terms, hits, calls, tuple(messages))


def _excluded(view: IndexView) -> Callable[[str], bool]:
    """Whether a file is a test or generated."""

    def is_excluded(path: str) -> bool:
        row = view.files.get(view.numbers.get(path, 0))
        return row is not None and bool(row.flags & (TEST | GENERATED))

    return is_excluded


def _in_order(
    store: Store, calls: Calls, totals: dict[int, float], seeds: list[_Seed], judged: list[Judged]
) -> Iterator[Chosen]:
    """The seeds as they were named, then the others by value."""
    best = sorted(totals, key=lambda number: (-totals[number], calls.ref(number).id))[:_MAX_CHOSEN]
    ids = [*(seed.ref.id for seed in seeds), *(calls.ref(number).id for number in best)]
    known = {one.declaration.id: one.declaration for one in judged}
    found = known | declarations_of(store, calls.steps, [id for id in ids if id not in known])
    highest = max(totals.values(), default=1.0)
    lines: dict[str, set[int]] = {}
    for seed in seeds:
        if seed.ref.id in found:
            lines.setdefault(found[seed.ref.id].id, set()).update(seed.lines)
    for id, about in lines.items():
        yield Chosen(next(one for one in found.values() if one.id == id), 1.0, True, frozenset(about))
    shown = set(lines)
    for number in best:
        one = found.get(calls.ref(number).id)
        if one is not None and one.id not in shown and one.kind in SHOWN_KINDS:
            shown.add(one.id)
            yield Chosen(one, totals[number] / highest)


def _with_types(calls: Calls, totals: dict[int, float]) -> dict[int, float]:
    """Raise the methods of the types whose methods have most of the value: a mechanism is often one type."""
    by_owner: dict[str, float] = {}
    for number, value in totals.items():
        if owner := calls.ref(number).owner:
            by_owner[owner] = by_owner.get(owner, 0.0) + value
    highest = max(by_owner.values(), default=1.0)
    return {
        number: value * (1 + _SAME_TYPE * by_owner.get(calls.ref(number).owner, 0.0) / highest)
        for number, value in totals.items()
    }


def _frame_seeds(store: Store, names: NameResolver, frames: Iterable[Frame]) -> Iterator[_Seed]:
    """The functions of a stack trace that this repository declares, innermost first. A frame of another version may
    have other lines, so the name decides; the place helps where a name is not unique, as `main.main`."""
    for frame in frames:
        meanings = [one for one in names.find(frame.name).meanings if not one.first.external]
        paths = files_ending(store, frame.file.replace("\\", "/"), partly=True)
        refs = [ref for one in meanings for ref in one.symbols if not paths or ref.file in paths]
        if not refs and len(meanings) == 1 and "/" in frame.name:
            refs = list(meanings[0].symbols)
        for ref in refs[:1]:
            yield _Seed(ref, frozenset((frame.line,)) if ref.file in paths else frozenset())


def _place_seeds(store: Store, places: Iterable[FileLines], messages: list[str]) -> Iterator[_Seed]:
    for place in places:
        paths = files_ending(store, place.path, partly=True)
        if len(paths) != 1:
            problem = f"may be {joined(paths[:_MAX_MEANINGS])}" if paths else "is not in the graph"
            messages.append(f"{place.path} {problem}.")
            continue
        for ref in declarations_at(store, place._replace(path=paths[0])):
            lines = frozenset(range(place.first, place.last + 1)) if place.first else frozenset[int]()
            yield _Seed(ref, lines)


def _name_seeds(names: NameResolver, asked: Asked, messages: list[str]) -> Iterator[_Seed]:
    """The symbols that are named. Of an ambiguous name, those in the packages of the other names, or else a few."""
    found = {name: names.find(name) for name in asked.names}
    inside = {
        name: [one for one in matches.meanings if not one.first.external and not one.first.test]
        or [one for one in matches.meanings if not one.first.external]
        for name, matches in found.items()
    }
    packages = {one[0].first.package for one in inside.values() if len(one) == 1}
    for name, meanings in inside.items():
        close = [one for one in meanings if one.first.package in packages]
        shown = (close or meanings)[:_MAX_MEANINGS]
        if asked.is_list and not meanings and len(asked.names) > 1:
            similar = listed([one.qualified_name for one in found[name].suggestions], _MAX_MEANINGS)
            messages.append(f"Nothing is named {name!r}." + (f" Similar: {similar}." if similar else ""))
        if len(meanings) > len(shown):
            messages.append(f"{name!r} has {len(meanings)} meanings; {len(shown)} are shown.")
        if asked.is_list or len(meanings) <= _MAX_MEANINGS:
            yield from (_Seed(ref) for one in shown for ref in _own(one))


def _own(meaning: Meaning) -> Iterator[Ref]:
    return (ref for ref in meaning.symbols if not ref.external)


def _called_at(store: Store, frames: Iterable[Frame], seeds: Iterable[_Seed]) -> Iterator[Ref]:
    """What the innermost frames call on the lines that the trace names."""
    if not tuple(frames):
        return
    for seed in list(seeds)[:_MAX_AT_FRAME]:
        for link in outbound(store, seed.ref, ("CALLS",)):
            if not link.symbol.external and seed.lines.intersection(link.sites):
                yield link.symbol
