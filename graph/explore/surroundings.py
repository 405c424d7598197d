"""What is around the declarations that were chosen: calls among them, who enters from outside, tests and notes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from golore.graph.database.store import Store
from golore.graph.explore.declarations import Declaration
from golore.graph.explore.proximity import Calls
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.phrases import listed
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.graph.queries.symbol_steps import Steps

_MAX_CALLERS: Final = 12
_MAX_ENTRIES: Final = 5
_MAX_TESTS: Final = 4
_MAX_NOTES: Final = 3
_BEST: Final = 6
"""Declarations whose entries, tests and notes are listed."""
_MAX_PATHS: Final = 2
_MOST_STEPS: Final = 150
"""Symbols that the search for one path expands."""
CALL, MAY_RUN = "→", "⇢"


def call_lines(calls: Calls, shown: Sequence[Declaration], names: Naming) -> Iterator[str]:
    """The calls among what is shown, then paths between the best ones that no call joins. A dashed arrow leads to a
    method that may run, through an interface or a function value."""
    numbers = {calls.steps.number(one.ref): one for one in shown}
    joined_to: dict[int, set[int]] = {number: {number} for number in numbers}
    lines: list[str] = []
    for number, caller in numbers.items():
        near = [one for one in calls.called_by(number) if one.number in numbers]
        for one in near:
            together = joined_to[number] | joined_to[one.number]
            for member in together:
                joined_to[member] = together
        resolved = set(calls.steps.outbound(number, "CALLS"))
        certain = ", ".join(numbers[one.number].local for one in near if one.number in resolved)
        possible = ", ".join(numbers[one.number].local for one in near if one.number not in resolved)
        if near:
            ends = (f" {arrow} {targets}" for arrow, targets in ((CALL, certain), (MAY_RUN, possible)) if targets)
            lines.append(f"{caller.local}{''.join(ends)}")
    yield from lines[:_MAX_CALLERS]
    best = list(numbers)[:_BEST]
    apart = [number for number in best if number not in joined_to[best[0]]] if best else []
    for number in apart[:_MAX_PATHS]:
        yield from _path_line(calls, best[0], number, names)


def _path_line(calls: Calls, source: int, target: int, names: Naming) -> Iterator[str]:
    for first, last in ((source, target), (target, source)):
        route = _path(calls, first, last)
        if len(route) > 2:
            hops = [f"{_arrow(calls, *hop)} {names(calls.ref(hop[1]).qualified_name)}" for hop in pairwise(route)]
            yield f"{names(calls.ref(first).qualified_name)} {' '.join(hops)}"
            return


def _arrow(calls: Calls, source: int, target: int) -> str:
    return CALL if target in calls.steps.outbound(source, "CALLS") else MAY_RUN


def _path(calls: Calls, source: int, target: int) -> list[int]:
    """A shortest chain of calls; empty if there is none among the functions that a short search meets."""
    came_from = {source: source}
    pending = deque((source,))
    for _ in range(_MOST_STEPS):
        if not pending or target in came_from:
            break
        number = pending.popleft()
        for one in calls.called_by(number):
            if one.number not in came_from:
                came_from[one.number] = number
                pending.append(one.number)
    if target not in came_from:
        return []
    route = [target]
    while route[-1] != source:
        route.append(came_from[route[-1]])
    return route[::-1]


def entry_lines(calls: Calls, shown: Sequence[Declaration], names: Naming) -> Iterator[str]:
    """Functions outside of what is shown that call the best declarations, those of other packages first."""
    numbers = {calls.steps.number(one.ref) for one in shown}
    found: dict[str, str] = {}
    for one in shown[:_BEST]:
        outside = [
            calls.ref(caller.number)
            for caller in calls.callers_of(calls.steps.number(one.ref))
            if caller.number not in numbers
        ]
        outside.sort(key=lambda ref: (ref.package == one.package, ref.id))
        for ref in outside[:2]:
            found.setdefault(ref.id, f"{names(ref.qualified_name)} ({ref.file}:{ref.line}) {CALL} {one.local}")
    yield from list(found.values())[:_MAX_ENTRIES]


def test_line(steps: Steps, shown: Sequence[Declaration]) -> str:
    """Tests that reach the best declarations, those that reach most of them first."""
    reached = Counter(test for one in shown[:_BEST] for test in steps.inbound(steps.number(one.ref), "TESTS"))
    ordered = steps.refs(sorted(reached, key=lambda test: (-reached[test], steps.ref(test).id)))
    return listed([f"{ref.name} ({ref.file}:{ref.line})" for ref in ordered], _MAX_TESTS)


def note_lines(store: Store, shown: Sequence[Declaration]) -> tuple[str, ...]:
    """Notes and decisions about the best declarations, their files and packages."""
    if not Knowledge.exists(store.directory):
        return ()
    from golore.graph.cards.annotations import AnnotationReader  # takes 10 ms, and most repositories have no notes

    best = shown[:_BEST]
    ids = [name for one in best for name in (one.id, one.file, one.package)]
    with AnnotationReader(store.directory, naming=ShortNames(store)) as reader:
        return reader.note_lines_of(dict.fromkeys(ids))[:_MAX_NOTES]
