"""Searches of several steps: everything that a change may affect, and how one symbol comes to call another.

A search is breadth first and stops at a limit; the answer says if it did. Among equally short paths the first in
the order of ids is taken, so that the same graph always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES
from golore.graph.queries.answers import Impact, Meaning, Reached, Ref, Route, Step
from golore.graph.queries.edges import by_location, members, outbound
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.questions import CALLABLE, HANDS_OVER, TYPES, handed_over_at, same_name_uses, unknown_uses
from golore.graph.queries.symbol_steps import Steps, open_steps

DEPTH: Final = 3
MOST_REACHED: Final = 2_000
"""Number of reached symbols at which `impact` stops."""
MOST_STEPS: Final = 5_000
"""Most symbols whose neighbours one search of `path` reads."""
MAX_PATH_STEPS: Final = 30
"""Most steps of a path."""
_WITH_MEMBERS: Final = TYPES | {"field", "var"}
_MAY_RUN: Final = "may run"
_CALLS: Final = "calls"
_NO_ORIGIN: Final = -1


class _Touch(NamedTuple):
    """How a symbol was reached: `how` is the relation, `through` the symbol before."""

    number: int
    depth: int
    certain: bool
    how: str
    through: int


def impact(
    store: Store, subject: Meaning, depth: int = DEPTH, most: int = MOST_REACHED, steps: Steps | None = None
) -> Impact:
    """What a change of the symbol may reach: its users, their users and so on. Tests are listed separately.

    A type includes its methods and fields, a field those of its unnamed struct. The types that satisfy an interface
    count as its users.
    """
    steps = steps or open_steps(store)
    types = InterfaceDispatch(steps)
    starts = [*subject.symbols]
    for symbol in subject.symbols:
        if symbol.kind in _WITH_MEMBERS and not symbol.external:
            starts += _all_members(store, symbol.id)
    ordered, complete = users_of_all(store, steps, types, starts, depth, most)
    return Impact(
        subject,
        depth,
        tuple(reached for reached in ordered if reached.certain and not reached.symbol.test),
        tuple(reached for reached in ordered if not reached.certain and not reached.symbol.test),
        tuple(reached for reached in ordered if reached.symbol.test),
        unknown_uses(store, types, steps, subject),
        complete,
    )


def users_of_all(
    store: Store, steps: Steps, types: InterfaceDispatch, starts: Iterable[Ref], depth: int, most: int
) -> tuple[list[Reached], bool]:
    """The users of these symbols, their users and so on, the nearest first; and whether these are all.

    Who hands a function over as a value may not be who calls it: such a step is possible, not certain.
    """
    touches, complete = _touches(steps, types, [steps.number(symbol) for symbol in starts], depth, most)
    found: list[Reached] = []
    for number, distance, certain, how, through in touches:
        symbol, origin = steps.ref(number), steps.ref(through)
        sites = handed_over_at(store, symbol, origin) if how == HANDS_OVER else ()
        found.append(Reached(symbol, distance, certain, how, origin.id, sites))
    return sorted(found, key=lambda reached: (reached.depth, by_location(reached.symbol))), complete


def _all_members(store: Store, owner: str) -> Iterator[Ref]:
    for member in members(store, owner):
        yield member
        if member.kind == "field":
            yield from _all_members(store, member.id)


def _touches(
    steps: Steps, types: InterfaceDispatch, starts: list[int], depth: int, most: int
) -> tuple[list[_Touch], bool]:
    """The symbols that are reached from `starts`, and whether these are all."""
    own = set(starts)
    reached: dict[int, _Touch] = {}
    level = [_Touch(number, 0, True, "", _NO_ORIGIN) for number in starts]
    complete = True
    passed: set[int] = set()
    for distance in range(1, depth + 1):
        found: dict[int, _Touch] = {}
        for origin in level:
            if len(reached) + len(found) >= most:
                complete = False
                break
            for touch in _next_touches(steps, types, origin, distance, passed):
                number = touch.number
                known = found.get(number)
                # A certain way is preferred to a possible one of the same length.
                if number not in own and number not in reached and (known is None or touch.certain > known.certain):
                    found[number] = touch
        reached |= found
        level = list(found.values())
        if not level:
            break
    return list(reached.values()), complete and not level


def _next_touches(
    steps: Steps, types: InterfaceDispatch, origin: _Touch, depth: int, passed: set[int]
) -> Iterator[_Touch]:
    """One step further. `passed` are the interface methods whose callers were already reached."""
    number = origin.number
    for label in (*USES, "TESTS") if steps.kind(number) != "interface" else (*USES, "IMPLEMENTS"):
        is_value = label == "REFERENCES" and steps.kind(number) in CALLABLE
        how = HANDS_OVER if is_value else label.lower()
        for user in steps.inbound(number, label):
            yield _Touch(user, depth, origin.certain and not is_value, how, number)
    for method in types.interface_methods(number):
        if method not in passed:
            passed.add(method)
            for caller in steps.callers_through(method):
                yield _Touch(caller, depth, False, "calls", method)


class _Way(NamedTuple):
    """The symbol from which another was reached, and whether by a call. Seen from the far end, it is the next one."""

    origin: int
    certain: bool


class _Side(NamedTuple):
    """One end of a search: the symbols that were reached from it, and those to continue from."""

    ways: dict[int, _Way]
    level: list[int]

    @classmethod
    def at(cls, ends: list[int]) -> _Side:
        return cls({number: _Way(_NO_ORIGIN, True) for number in ends}, ends)


def path(store: Store, source: Meaning, target: Meaning, most: int = MOST_STEPS, steps: Steps | None = None) -> Route:
    """A shortest chain of calls. If there is no certain one, it may go through interfaces, and from a function to the
    functions that it hands over as values."""
    unresolved = same_name_uses(store, target)
    steps = steps or open_steps(store)
    first, last = ([steps.number(symbol) for symbol in end.symbols] for end in (source, target))
    complete = True
    for types in (None, InterfaceDispatch(steps)):
        chain, complete = _search(steps, types, _Side.at([*first]), _Side.at([*last]), most)
        if chain:
            return Route(source, target, *_steps_of(store, steps, chain), True, unresolved)
    return Route(source, target, (), True, complete, unresolved)


def _search(
    steps: Steps, types: InterfaceDispatch | None, near: _Side, far: _Side, most: int
) -> tuple[list[_Way], bool]:
    """The symbols of a chain, each with whether the one before calls it; and whether the search was complete.

    It searches from both ends and always continues at the narrower one: most symbols have few callers or few callees.
    """
    expanded = 0
    for _ in range(MAX_PATH_STEPS):
        if not near.level or not far.level:
            return [], True
        is_forward = len(near.level) <= len(far.level)
        side, other = (near, far) if is_forward else (far, near)
        next_level: list[int] = []
        meetings: list[int] = []
        for number in side.level:
            expanded += 1
            if expanded > most:
                return [], False
            for reached, way in _forward(steps, number, types) if is_forward else _backward(steps, number, types):
                if reached not in side.ways:
                    side.ways[reached] = way
                    next_level.append(reached)
                    if reached in other.ways:
                        meetings.append(reached)
        if meetings:
            meetings.sort(key=lambda number: steps.ref(number).id)
            return min((_chain(near.ways, far.ways, at) for at in meetings), key=len), True
        side.level[:] = next_level
    return [], False


def _forward(steps: Steps, number: int, types: InterfaceDispatch | None) -> Iterator[tuple[int, _Way]]:
    way = _Way(number, True)
    for called in steps.outbound(number, "CALLS"):
        yield called, way
    if types is not None:
        possible = _Way(number, False)
        for method in types.implementations(number):
            yield method, possible
        for method in steps.outbound(number, "INVOKES"):
            yield method, possible
        for value in steps.outbound(number, "REFERENCES"):
            if steps.kind(value) in CALLABLE:
                yield value, possible


def _backward(steps: Steps, number: int, types: InterfaceDispatch | None) -> Iterator[tuple[int, _Way]]:
    way = _Way(number, True)
    for caller in steps.inbound(number, "CALLS"):
        yield caller, way
    if types is not None:
        possible = _Way(number, False)
        for caller in steps.inbound(number, "INVOKES"):
            yield caller, possible
        for method in types.interface_methods(number):
            yield method, possible
        if steps.kind(number) in CALLABLE:
            for user in steps.inbound(number, "REFERENCES"):
                yield user, possible


def _chain(near: dict[int, _Way], far: dict[int, _Way], meeting: int) -> list[_Way]:
    """The chain from the source to where the two searches met and on to the target, each with how it is reached."""
    chain: list[_Way] = []
    number = meeting
    while number != _NO_ORIGIN:
        origin, certain = near[number]
        chain.append(_Way(number, certain))
        number = origin
    chain.reverse()
    number = meeting
    while (onward := far[number]).origin != _NO_ORIGIN:
        chain.append(_Way(onward.origin, onward.certain))
        number = onward.origin
    return chain


def _steps_of(store: Store, steps: Steps, chain: list[_Way]) -> tuple[tuple[Step, ...], bool]:
    """The steps of a chain with the lines of their calls, and whether all are certain."""
    symbols = [steps.ref(way.origin) for way in chain]
    found = [Step(symbols[0])]
    for caller, symbol, way in zip(symbols, symbols[1:], chain[1:], strict=False):
        links = outbound(store, caller, ("CALLS",) if way.certain else ("INVOKES", "REFERENCES"))
        link = next((link for link in links if link.symbol == symbol), None)
        if link is None:
            found.append(Step(symbol, _MAY_RUN))
        else:
            how = HANDS_OVER if link.how == "references" else _CALLS
            found.append(Step(symbol, how, link.file, link.sites))
    return tuple(found), all(way.certain for way in chain)
