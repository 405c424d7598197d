"""What is reached over several steps: everything a change may touch, and how one symbol comes to call another.

The search goes breadth first and stops at a limit, which the answer says. Of ways that are equally short the first one
is taken, in the order of ids, so that the same graph always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES
from golore.graph.queries.answers import Impact, Meaning, Reached, Route, Step
from golore.graph.queries.edges import by_location, members, outbound, unresolved_uses
from golore.graph.queries.interface_dispatch import Types
from golore.graph.queries.questions import TYPES, uses_in_doubt
from golore.graph.queries.symbol_steps import Steps, open_steps

DEPTH: Final = 3
MOST_REACHED: Final = 2_000
MOST_STEPS: Final = 5_000
LONGEST: Final = 30
_MAY_RUN: Final = "may run"
_NOBODY: Final = -1


class _Touch(NamedTuple):
    """How a symbol was reached: over which relation, and from which symbol."""

    number: int
    depth: int
    certain: bool
    how: str
    through: int


def impact(
    store: Store, subject: Meaning, depth: int = DEPTH, most: int = MOST_REACHED, steps: Steps | None = None
) -> Impact:
    """What a change of the symbol may reach: users, their users and so on, tests apart.

    A type brings its methods and fields along; an interface, the types that satisfy it.
    """
    steps = steps or open_steps(store)
    types = Types(steps)
    starts = [*subject.symbols]
    for symbol in subject.symbols:
        if symbol.kind in TYPES and not symbol.external:
            starts += members(store, symbol.id)
    touches, complete = _touches(steps, types, [steps.number(symbol) for symbol in starts], depth, most)
    found = (
        Reached(steps.ref(one.number), one.depth, one.certain, one.how, steps.ref(one.through).id) for one in touches
    )
    ordered = sorted(found, key=lambda one: (one.depth, by_location(one.symbol)))
    return Impact(
        subject,
        depth,
        tuple(one for one in ordered if one.certain and not one.symbol.test),
        tuple(one for one in ordered if not one.certain and not one.symbol.test),
        tuple(one for one in ordered if one.symbol.test),
        uses_in_doubt(store, types, steps, subject),
        complete,
    )


def _touches(steps: Steps, types: Types, starts: list[int], depth: int, most: int) -> tuple[list[_Touch], bool]:
    """What is reached from these, and whether that is everything."""
    own = set(starts)
    reached: dict[int, _Touch] = {}
    level = [_Touch(number, 0, True, "", _NOBODY) for number in starts]
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
                # A certain way of the same length is worth more than a possible one.
                if number not in own and number not in reached and (known is None or touch.certain > known.certain):
                    found[number] = touch
        reached |= found
        level = list(found.values())
        if not level:
            break
    return list(reached.values()), complete and not level


def _next_touches(steps: Steps, types: Types, origin: _Touch, depth: int, passed: set[int]) -> Iterator[_Touch]:
    """One step on. `passed` are the interface methods whose callers were reached already."""
    number = origin.number
    for label in (*USES, "TESTS") if steps.kind(number) != "interface" else (*USES, "IMPLEMENTS"):
        how = label.lower()
        for user in steps.inbound(number, label):
            yield _Touch(user, depth, origin.certain, how, number)
    for method in types.interface_methods(number):
        if method not in passed:
            passed.add(method)
            for caller in steps.inbound(method, "CALLS"):
                yield _Touch(caller, depth, False, "calls", method)


class _Way(NamedTuple):
    """Where a symbol was reached from, and whether by a call; from the far end, the one that it leads on to."""

    origin: int
    certain: bool


class _Side(NamedTuple):
    """One end of a search: what was reached from it, and what is to be looked at next."""

    ways: dict[int, _Way]
    level: list[int]

    @classmethod
    def at(cls, ends: list[int]) -> _Side:
        return cls({number: _Way(_NOBODY, True) for number in ends}, ends)


def path(store: Store, source: Meaning, target: Meaning, most: int = MOST_STEPS, steps: Steps | None = None) -> Route:
    """A shortest chain of calls; only where there is no certain one, one through interfaces."""
    unresolved = unresolved_uses(store, target.first.name)
    steps = steps or open_steps(store)
    first, last = ([steps.number(symbol) for symbol in end.symbols] for end in (source, target))
    complete = True
    for types in (None, Types(steps)):
        chain, complete = _search(steps, types, _Side.at([*first]), _Side.at([*last]), most)
        if chain:
            return Route(source, target, *_told(store, steps, chain), True, unresolved)
    return Route(source, target, (), True, complete, unresolved)


def _search(steps: Steps, types: Types | None, near: _Side, far: _Side, most: int) -> tuple[list[_Way], bool]:
    """The symbols of a chain, each with whether it is called by the one before; and whether everything was looked at.

    It goes from both ends, always on at the narrower one: most symbols have few callers or few callees.
    """
    looked = 0
    for _ in range(LONGEST):
        if not near.level or not far.level:
            return [], True
        is_forward = len(near.level) <= len(far.level)
        side, other = (near, far) if is_forward else (far, near)
        following: list[int] = []
        meetings: list[int] = []
        for number in side.level:
            looked += 1
            if looked > most:
                return [], False
            for reached, way in _onward(steps, number, types) if is_forward else _back(steps, number, types):
                if reached not in side.ways:
                    side.ways[reached] = way
                    following.append(reached)
                    if reached in other.ways:
                        meetings.append(reached)
        if meetings:
            meetings.sort(key=lambda number: steps.ref(number).id)
            return min((_joined(near.ways, far.ways, at) for at in meetings), key=len), True
        side.level[:] = following
    return [], False


def _onward(steps: Steps, number: int, types: Types | None) -> Iterator[tuple[int, _Way]]:
    way = _Way(number, True)
    for called in steps.outbound(number, "CALLS"):
        yield called, way
    if types is not None:
        for method in types.implementations(number):
            yield method, _Way(number, False)


def _back(steps: Steps, number: int, types: Types | None) -> Iterator[tuple[int, _Way]]:
    way = _Way(number, True)
    for caller in steps.inbound(number, "CALLS"):
        yield caller, way
    if types is not None:
        for method in types.interface_methods(number):
            yield method, _Way(number, False)


def _joined(near: dict[int, _Way], far: dict[int, _Way], meeting: int) -> list[_Way]:
    """From the source to where the two searches met and on to the target; each with how it is reached."""
    chain: list[_Way] = []
    at = meeting
    while at != _NOBODY:
        origin, certain = near[at]
        chain.append(_Way(at, certain))
        at = origin
    chain.reverse()
    at = meeting
    while (onward := far[at]).origin != _NOBODY:
        chain.append(_Way(onward.origin, onward.certain))
        at = onward.origin
    return chain


def _told(store: Store, steps: Steps, chain: list[_Way]) -> tuple[tuple[Step, ...], bool]:
    """The steps with the lines of their calls, and whether all are certain."""
    symbols = [steps.ref(way.origin) for way in chain]
    told = [Step(symbols[0])]
    for caller, symbol, way in zip(symbols, symbols[1:], chain[1:], strict=False):
        if way.certain:
            link = next(link for link in outbound(store, caller, ("CALLS",)) if link.symbol == symbol)
            told.append(Step(symbol, link.how, link.file, link.sites))
        else:
            told.append(Step(symbol, _MAY_RUN))
    return tuple(told), all(way.certain for way in chain)
