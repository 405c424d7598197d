"""What is reached over several steps: everything a change may touch, and how one symbol comes to call another.

The search goes breadth first, one look-up for each symbol it passes, and stops at a limit, which the answer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from golore.graph.answers import Impact, Link, Meaning, Reached, Ref, Route, Step
from golore.graph.dispatch import Types
from golore.graph.lookup import by_place, doubt, inbound, members, outbound
from golore.graph.questions import TYPES, USES
from golore.graph.store import Store

DEPTH: Final = 3
MOST_REACHED: Final = 2_000
MOST_STEPS: Final = 5_000
LONGEST: Final = 30


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
        doubt(store, subject.first.name),
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
    """How a symbol was reached: from where, and by which step."""

    before: str
    step: Step
    certain: bool


def path(store: Store, source: Meaning, target: Meaning, most: int = MOST_STEPS) -> Route:
    """A shortest chain of calls; only where there is no certain one, one through interfaces."""
    unresolved = doubt(store, target.first.name)
    complete = True
    for through_interfaces in (False, True) if _is_chained(store, source, target) else (True,):
        ways, end, complete = _search(store, source, frozenset(target.ids), through_interfaces, most)
        if end:
            steps = _walked(ways, end)
            certain = all(ways[step.symbol.id].certain for step in steps)
            return Route(source, target, steps, certain, True, unresolved)
    return Route(source, target, (), True, complete, unresolved)


def _is_chained(store: Store, source: Meaning, target: Meaning) -> bool:
    """Whether there is any chain of certain calls: the engine sees that at once, and would name any one of them."""
    for end in target.symbols:
        label = "External" if end.external else "Symbol"
        statement = (
            f"MATCH p = (a:Symbol {{id: $source}})-[:CALLS* SHORTEST 1..{LONGEST}]->(b:{label} {{id: $target}}) "
            "RETURN length(p)"
        )
        for begin in source.symbols:
            if any(True for _ in store.rows(statement, {"source": begin.id, "target": end.id})):
                return True
    return False


def _search(
    store: Store, source: Meaning, targets: frozenset[str], through_interfaces: bool, most: int
) -> tuple[dict[str, _Way], str, bool]:
    """The ways found, the target reached or "", and whether everything was looked at."""
    ways = {symbol.id: _Way("", Step(symbol), True) for symbol in source.symbols}
    level = list(source.symbols)
    types = Types(store) if through_interfaces else None
    steps = 0
    for _ in range(LONGEST):
        following: list[Ref] = []
        for symbol in level:
            steps += 1
            if steps > most:
                return ways, "", False
            for link, certain in _calls(store, symbol, types):
                called = link.symbol
                if called.id in ways:
                    continue
                ways[called.id] = _Way(symbol.id, Step(called, link.how, link.file, link.sites), certain)
                if called.id in targets:
                    return ways, called.id, True
                following.append(called)
        level = following
        if not level:
            return ways, "", True
    return ways, "", False


def _calls(store: Store, symbol: Ref, types: Types | None) -> Iterator[tuple[Link, bool]]:
    for link in outbound(store, symbol, ("CALLS",)):
        yield link, True
    if types is not None and symbol.kind == "imethod":
        for method in types.implementations(symbol):
            yield Link(method, "may run"), False


def _walked(ways: dict[str, _Way], end: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = end
    while at:
        way = ways[at]
        steps.append(way.step)
        at = way.before
    return tuple(reversed(steps))
