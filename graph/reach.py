"""What is reached over several steps: everything a change may touch, and how one symbol comes to call another.

The search goes breadth first, one look-up for each symbol it passes, and stops at a limit, which the answer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.graph.answers import Impact, Meaning, Reached, Ref, Route, Step
from golore.graph.dispatch import Types
from golore.graph.lookup import by_place, doubt, inbound, members, outbound
from golore.graph.questions import TYPES, USES, use_doubt
from golore.graph.store import Store

DEPTH: Final = 3
MOST_REACHED: Final = 2_000
MOST_STEPS: Final = 5_000
LONGEST: Final = 30
_MAY_RUN: Final = "may run"


def impact(store: Store, subject: Meaning, depth: int = DEPTH, most: int = MOST_REACHED) -> Impact:
    """What a change of the symbol may reach: users, their users and so on, tests apart.

    A type brings its methods and fields along; an interface, the types that satisfy it.
    """
    starts = [*subject.symbols]
    for symbol in subject.symbols:
        if symbol.kind in TYPES and not symbol.external:
            starts += members(store, symbol.id)
    reached: dict[str, Reached] = {}
    own = {symbol.id for symbol in starts}
    level = [Reached(symbol, 0, True, "", "") for symbol in starts]
    complete = True
    passed: set[str] = set()
    types = Types(store)
    for distance in range(1, depth + 1):
        found: dict[str, Reached] = {}
        for origin in level:
            if len(reached) + len(found) >= most:
                complete = False
                break
            for next_one in _touched(store, types, origin, distance, passed):
                id = next_one.symbol.id
                known = found.get(id)
                # A certain way of the same length is worth more than a possible one.
                if id not in own and id not in reached and (known is None or next_one.certain > known.certain):
                    found[id] = next_one
        reached |= found
        level = list(found.values())
        if not level:
            break
    complete = complete and not level
    ordered = sorted(reached.values(), key=lambda one: (one.depth, by_place(one.symbol)))
    return Impact(
        subject,
        depth,
        tuple(one for one in ordered if one.certain and not one.symbol.test),
        tuple(one for one in ordered if not one.certain and not one.symbol.test),
        tuple(one for one in ordered if one.symbol.test),
        use_doubt(store, types, subject),
        complete,
    )


def _touched(store: Store, types: Types, origin: Reached, depth: int, passed: set[str]) -> Iterator[Reached]:
    """One step on. `passed` are the interface methods whose callers were reached already."""
    symbol = origin.symbol
    labels = (*USES, "TESTS") if symbol.kind != "interface" else (*USES, "IMPLEMENTS")
    for link in inbound(store, symbol, labels):
        yield Reached(link.symbol, depth, origin.certain, link.how, symbol.id)
    for method in types.interface_methods(symbol):
        if method.id in passed:
            continue
        passed.add(method.id)
        for link in inbound(store, method, ("CALLS",)):
            yield Reached(link.symbol, depth, False, link.how, method.id)


class _Way(NamedTuple):
    """How a symbol was reached: from which one, and by which step; from the far end, the one that leads on."""

    origin: str
    step: Step
    certain: bool


class _Side(NamedTuple):
    """One end of a search: what was reached from it, and what is to be looked at next."""

    ways: dict[str, _Way]
    level: list[Ref]

    @classmethod
    def at(cls, end: Meaning) -> _Side:
        return cls({symbol.id: _Way("", Step(symbol), True) for symbol in end.symbols}, list(end.symbols))


def path(store: Store, source: Meaning, target: Meaning, most: int = MOST_STEPS) -> Route:
    """A shortest chain of calls; only where there is no certain one, one through interfaces."""
    unresolved = doubt(store, target.first.name)
    complete = True
    for types in (None, Types(store)):
        steps, certain, complete = _search(store, source, target, types, most)
        if steps:
            return Route(source, target, steps, certain, True, unresolved)
    return Route(source, target, (), True, complete, unresolved)


def _search(
    store: Store, source: Meaning, target: Meaning, types: Types | None, most: int
) -> tuple[tuple[Step, ...], bool, bool]:
    """The steps, whether all are certain, and whether everything was looked at.

    It goes from both ends, always on at the narrower one: most symbols have few callers or few callees.
    """
    near, far = _Side.at(source), _Side.at(target)
    looked = 0
    for _ in range(LONGEST):
        if not near.level or not far.level:
            return (), True, True
        is_forward = len(near.level) <= len(far.level)
        side, other = (near, far) if is_forward else (far, near)
        following: list[Ref] = []
        meetings: list[str] = []
        for symbol in side.level:
            looked += 1
            if looked > most:
                return (), True, False
            for reached, way in _onward(store, symbol, types) if is_forward else _back(store, symbol, types):
                if reached.id not in side.ways:
                    side.ways[reached.id] = way
                    following.append(reached)
                    if reached.id in other.ways:
                        meetings.append(reached.id)
        if meetings:
            found = (_joined(near.ways, far.ways, at) for at in sorted(meetings))
            steps, certain = min(found, key=lambda route: len(route[0]))
            return steps, certain, True
        side.level[:] = following
    return (), True, False


def _onward(store: Store, symbol: Ref, types: Types | None) -> Iterator[tuple[Ref, _Way]]:
    for link in outbound(store, symbol, ("CALLS",)):
        yield link.symbol, _Way(symbol.id, Step(link.symbol, link.how, link.file, link.sites), True)
    if types is not None and symbol.kind == "imethod":
        for method in types.implementations(symbol):
            yield method, _Way(symbol.id, Step(method, _MAY_RUN), False)


def _back(store: Store, symbol: Ref, types: Types | None) -> Iterator[tuple[Ref, _Way]]:
    for link in inbound(store, symbol, ("CALLS",)):
        yield link.symbol, _Way(symbol.id, Step(symbol, link.how, link.file, link.sites), True)
    if types is not None:
        for method in types.interface_methods(symbol):
            yield method, _Way(symbol.id, Step(symbol, _MAY_RUN), False)


def _joined(near: dict[str, _Way], far: dict[str, _Way], meeting: str) -> tuple[tuple[Step, ...], bool]:
    """The steps from the source to where the two searches met and on to the target."""
    first, at = [near[meeting]], near[meeting].origin
    while at:
        first.append(near[at])
        at = near[at].origin
    first.reverse()
    last, at = list[_Way](), meeting
    while far[at].origin:
        last.append(far[at])
        at = far[at].origin
    ways = [*first, *last]
    return tuple(way.step for way in ways), all(way.certain for way in ways)
