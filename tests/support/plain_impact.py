"""A simple reference implementation of `graph.queries.impact`, with one graph look-up for each symbol on the way.

It is slow and easy to verify by reading. The real implementation must give the same results, ties included: of equally
short paths the first in the order of ids is taken, with externals last.
"""

from __future__ import annotations

from collections.abc import Iterator

from golore.graph.database.store import Store
from golore.graph.queries.answers import Impact, Link, Meaning, Reached, Ref, Route, Step
from golore.graph.queries.edges import by_location, external, inbound, members, outbound, symbols, unresolved_uses
from golore.graph.queries.interface_flow import OUTSIDE, interface_flow
from golore.graph.queries.questions import CALLABLE
from golore.graph.queries.unnamed_interfaces import is_unnamed, methods_of, unnamed_interfaces
from msgspec.structs import replace

TYPES = ("struct", "interface", "type", "alias")
USES = ("CALLS", "REFERENCES", "EMBEDS")
LONGEST = 30
DEEPEST = 8


def ordered(links: list[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (link.symbol.external, link.symbol.id))


def into(store: Store, end: Ref, label: str) -> list[Link]:
    return ordered(inbound(store, end, (label,)))


def out_of(store: Store, end: Ref, label: str) -> list[Link]:
    return ordered(outbound(store, end, (label,)))


def member(store: Store, owner: Ref, name: str) -> Ref | None:
    named = [one for one in members(store, owner.id) if one.name == name]
    return named[-1] if named else None


def implementations(store: Store, method: Ref) -> list[Ref]:
    if is_unnamed(method.id):
        fitting = symbols(store, unnamed_interfaces(store).fitting.get(method.id, ()))
        return sorted((one for one in fitting if is_reached(store, one, method.id)), key=by_location)
    if method.external:
        interface = external(store, method.id.removesuffix(f".{method.name}"))
    else:
        interface = next(iter(symbols(store, [method.owner])), None)
    if method.kind != "imethod" or interface is None:
        return []
    found: dict[str, Ref] = {}
    types = [link.symbol for link in into(store, interface, "IMPLEMENTS")]
    if not interface.external:
        types += symbols(store, sorted(interface_flow(store).direct.get(interface.id, ())))
    for type in types:
        if not gets_into(store, type, interface):
            continue
        own = [one for one in symbols(store, [f"{type.id}.{method.name}"]) if one.owner == type.id]
        target = own[0] if own else method_of(store, type, method.name)
        if target is not None and target.kind in ("method", "imethod") and target.id != method.id:
            found[target.id] = target
    return sorted(found.values(), key=by_location)


def method_of(store: Store, type: Ref, name: str) -> Ref | None:
    level, seen = [type], {type.id}
    for _ in range(DEEPEST):
        for holder in level:
            own = member(store, holder, name)
            if own is not None:
                return own
        embedded = [link.symbol for holder in level for link in out_of(store, holder, "EMBEDS")]
        level = [one for one in embedded if not one.external and one.id not in seen]
        seen.update(one.id for one in level)
    return None


def gets_into(store: Store, type: Ref, interface: Ref) -> bool:
    return interface_flow(store).reaches(type.id, OUTSIDE if interface.external else interface.id)


def types_with(store: Store, method: Ref) -> list[Ref]:
    """The type of a method, and the types that promote it."""
    return holders(store, method) if method.kind == "method" and not method.external else []


def holders(store: Store, method: Ref) -> list[Ref]:
    types: list[Ref] = []
    level, seen = symbols(store, [method.owner]), {method.owner}
    for _ in range(DEEPEST):
        types += level
        outer = [link.symbol for type in level for link in into(store, type, "EMBEDS")]
        level = [type for type in outer if type.id not in seen and member(store, type, method.name) is None]
        seen.update(type.id for type in outer)
    return types


def satisfied(store: Store, method: Ref) -> list[Ref]:
    found = [link.symbol for type in types_with(store, method) for link in out_of(store, type, "IMPLEMENTS")]
    return list({interface.id: interface for interface in found}.values())


def entered(store: Store, method: Ref) -> list[Ref]:
    """The interfaces that the types with this method get into."""
    found: dict[str, Ref] = {}
    for type in types_with(store, method):
        targets = sorted(interface_flow(store).targets.get(type.id, set[str]()) - {OUTSIDE})
        converted = [one for one in symbols(store, targets) if one.kind in ("interface", "alias")]
        for interface in (*(link.symbol for link in out_of(store, type, "IMPLEMENTS")), *converted):
            if gets_into(store, type, interface):
                found[interface.id] = interface
    return list(found.values())


def interface_methods(store: Store, method: Ref) -> list[Ref]:
    found: list[Ref] = []
    for interface in entered(store, method):
        if interface.external:
            one = external(store, f"{interface.id}.{method.name}")
        else:
            one = member(store, interface, method.name)
        found += [one] if one is not None else []
    return sorted(found, key=by_location) + unnamed_methods(store, method)


def unnamed_methods(store: Store, method: Ref) -> list[Ref]:
    """The methods of unnamed interfaces through which a method may be called."""
    ids = [id for id in unnamed_interfaces(store).required.get(method.id, ()) if is_reached(store, method, id)]
    return [one for id in ids if (one := external(store, id)) is not None]


def is_reached(store: Store, method: Ref, required: str) -> bool:
    names = [name.rpartition(".")[2] for name in methods_of(required)]
    return any(
        interface_flow(store).reaches(type.id, OUTSIDE)
        and all(method_of(store, type, name) is not None or embeds_external(store, type) for name in names)
        for type in holders(store, method)
    )


def embeds_external(store: Store, type: Ref) -> bool:
    level, seen = [type], {type.id}
    for _ in range(DEEPEST):
        embedded = [link.symbol for holder in level for link in out_of(store, holder, "EMBEDS")]
        if any(one.external for one in embedded):
            return True
        level = [one for one in embedded if one.id not in seen]
        seen.update(one.id for one in level)
    return False


def required(store: Store, interface: Ref) -> set[str]:
    """The names of the methods of an external interface."""
    rows = store.rows("MATCH (a:Symbol)-[e:IMPLEMENTS]->(b:External {id: $id}) RETURN e.evidence", {"id": interface.id})
    return {name for (evidence,) in rows for name in evidence.split()[1:]}


def impact(store: Store, subject: Meaning, depth: int, most: int) -> Impact:
    starts = [*subject.symbols]
    for symbol in subject.symbols:
        if symbol.kind in TYPES and not symbol.external:
            starts += members(store, symbol.id)
    own = {symbol.id for symbol in starts}
    reached: dict[str, Reached] = {}
    level = [Reached(symbol, 0, True, "", "") for symbol in starts]
    complete = True
    passed: set[str] = set()
    for distance in range(1, depth + 1):
        found: dict[str, Reached] = {}
        for origin in level:
            if len(reached) + len(found) >= most:
                complete = False
                break
            for one in touched(store, origin, distance, passed):
                known = found.get(one.symbol.id)
                is_better = known is None or one.certain > known.certain
                if one.symbol.id not in own and one.symbol.id not in reached and is_better:
                    found[one.symbol.id] = one
        reached |= found
        level = list(found.values())
        if not level:
            break
    results = sorted(reached.values(), key=lambda one: (one.depth, by_location(one.symbol)))
    outside = {
        interface.qualified_name
        for symbol in subject.symbols
        if symbol.name[:1].isupper()
        for interface in satisfied(store, symbol)
        if interface.external and symbol.name in required(store, interface)
    }
    return Impact(
        subject,
        depth,
        tuple(one for one in results if one.certain and not one.symbol.test),
        tuple(one for one in results if not one.certain and not one.symbol.test),
        tuple(one for one in results if one.symbol.test),
        replace(unresolved_uses(store, subject.first.name), outside=tuple(sorted(outside))),
        complete and not level,
    )


def touched(store: Store, origin: Reached, depth: int, passed: set[str]) -> Iterator[Reached]:
    symbol = origin.symbol
    for label in (*USES, "TESTS") if symbol.kind != "interface" else (*USES, "IMPLEMENTS"):
        for link in into(store, symbol, label):
            if label == "REFERENCES" and symbol.kind in ("func", "method", "imethod"):
                yield Reached(link.symbol, depth, False, "hands over", symbol.id, link.sites)
            else:
                yield Reached(link.symbol, depth, origin.certain, link.how, symbol.id)
    for method in interface_methods(store, symbol):
        if method.id not in passed:
            passed.add(method.id)
            for link in into(store, method, "INVOKES" if is_unnamed(method.id) else "CALLS"):
                yield Reached(link.symbol, depth, False, "calls", method.id)


Way = tuple[str, Step, bool]
"""The symbol that it was reached from, the step, and whether the step is certain."""


def path(store: Store, source: Meaning, target: Meaning, most: int) -> Route:
    unresolved = unresolved_uses(store, target.first.name)
    complete = True
    for through in (False, True):
        steps, certain, complete = search(store, source, target, through, most)
        if steps:
            return Route(source, target, steps, certain, True, unresolved)
    return Route(source, target, (), True, complete, unresolved)


def search(
    store: Store, source: Meaning, target: Meaning, through: bool, most: int
) -> tuple[tuple[Step, ...], bool, bool]:
    near: dict[str, Way] = {symbol.id: ("", Step(symbol), True) for symbol in source.symbols}
    far: dict[str, Way] = {symbol.id: ("", Step(symbol), True) for symbol in target.symbols}
    near_level, far_level = list(source.symbols), list(target.symbols)
    visited = 0
    for _ in range(LONGEST):
        if not near_level or not far_level:
            return (), True, True
        is_forward = len(near_level) <= len(far_level)
        ways, others, level = (near, far, near_level) if is_forward else (far, near, far_level)
        following: list[Ref] = []
        meetings: list[str] = []
        for symbol in level:
            visited += 1
            if visited > most:
                return (), True, False
            for reached, way in onward(store, symbol, through) if is_forward else back(store, symbol, through):
                if reached.id not in ways:
                    ways[reached.id] = way
                    following.append(reached)
                    meetings += [reached.id] if reached.id in others else []
        if meetings:
            steps, certain = min((joined(near, far, at) for at in sorted(meetings)), key=lambda route: len(route[0]))
            return steps, certain, True
        level[:] = following
    return (), True, False


def onward(store: Store, symbol: Ref, through: bool) -> Iterator[tuple[Ref, Way]]:
    for link in out_of(store, symbol, "CALLS"):
        yield link.symbol, (symbol.id, Step(link.symbol, link.how, link.file, link.sites), True)
    for method in implementations(store, symbol) if through else ():
        yield method, (symbol.id, Step(method, "may run"), False)
    for link in out_of(store, symbol, "INVOKES") if through else ():
        yield link.symbol, (symbol.id, Step(link.symbol, "calls", link.file, link.sites), False)
    for link in out_of(store, symbol, "REFERENCES") if through else ():
        if link.symbol.kind in CALLABLE:
            yield link.symbol, (symbol.id, Step(link.symbol, "hands over", link.file, link.sites), False)


def back(store: Store, symbol: Ref, through: bool) -> Iterator[tuple[Ref, Way]]:
    for link in into(store, symbol, "CALLS"):
        yield link.symbol, (symbol.id, Step(symbol, link.how, link.file, link.sites), True)
    for link in into(store, symbol, "INVOKES") if through else ():
        yield link.symbol, (symbol.id, Step(symbol, "calls", link.file, link.sites), False)
    for method in interface_methods(store, symbol) if through else ():
        yield method, (symbol.id, Step(symbol, "may run"), False)
    for link in into(store, symbol, "REFERENCES") if through and symbol.kind in CALLABLE else ():
        yield link.symbol, (symbol.id, Step(symbol, "hands over", link.file, link.sites), False)


def joined(near: dict[str, Way], far: dict[str, Way], meeting: str) -> tuple[tuple[Step, ...], bool]:
    ways: list[Way] = []
    at = meeting
    while at:
        ways.insert(0, near[at])
        at = near[at][0]
    at = meeting
    while far[at][0]:
        ways.append(far[at])
        at = far[at][0]
    return tuple(step for _, step, _ in ways), all(certain for *_, certain in ways)
