"""Questions about one symbol: its callers, callees, users, implementers and tests, and its details.

Each takes an open store and a meaning (see `name_resolver`) and returns a three-valued answer. Twins are answered
together. `impact` answers questions over several steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.answers import (
    Answer,
    Link,
    Meaning,
    Ref,
    SymbolAnswer,
    SymbolDetails,
    UnresolvedUses,
)
from golore.graph.queries.edges import by_location, in_order, inbound, members, outbound, sources, unresolved_uses
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import Steps, open_steps
from golore.graph.queries.unnamed_interfaces import is_unnamed
from msgspec.structs import replace

CALLABLE: Final = frozenset(("func", "method", "imethod"))
CALLING: Final = CALLABLE | {"var"}
TYPES: Final = frozenset(("struct", "interface", "type", "alias"))
HANDS_OVER: Final = "hands over"
"""How a declaration is related to a function that it uses as a value: by argument, field, variable or result."""
_MOST_HELPERS: Final = 2_000
"""Most declarations of test files that are followed to find the tests of one declaration."""


def callers(store: Store, subject: Meaning) -> Answer:
    """Who calls it. Candidates call an interface method through which it may be called."""
    return _uses_of(store, "callers", subject, ("CALLS",))


def users(store: Store, subject: Meaning, access: str = "") -> Answer:
    """Who calls, refers to or embeds it. For a field, `access` restricts the answer to one kind of use."""
    answer = _uses_of(store, "users", subject, USES)
    if not access:
        return answer
    others = Counter[str]()
    for link in answer.resolved:
        if link.access != access:
            others[link.access] += len(link.sites)
    kept = tuple(link for link in answer.resolved if link.access == access)
    return replace(answer, question=f"{access}s", resolved=kept, other_accesses=tuple(sorted(others.items())))


def callees(store: Store, subject: Meaning) -> Answer:
    """What it calls. Candidates are the methods that may run when it calls an interface method."""
    resolved = _of_group(subject, lambda symbol: outbound(store, symbol, ("CALLS",)))
    unnamed = _of_group(subject, lambda symbol: outbound(store, symbol, ("INVOKES",)))
    candidates: dict[str, Link] = {}
    passed: set[str] = set()
    by_shape = 0
    steps = open_steps(store)
    types = InterfaceDispatch(steps)
    for link in (*resolved, *unnamed):
        called = link.symbol
        if called.kind == "imethod" and called.id not in passed:
            passed.add(called.id)
            running, others = types.split(steps.number(called))
            by_shape += len(others - running)
            for method in steps.refs(running):
                candidate = replace(link, symbol=method, evidence="implements", via=called.id)
                candidates.setdefault(method.id, candidate)
    unresolved = same_name_uses(store, subject)
    return Answer("callees", subject, in_order(resolved), in_order(candidates.values()), unresolved, by_shape=by_shape)


def implementers(store: Store, subject: Meaning) -> Answer:
    """The types that satisfy an interface, or the methods that may run when a method of one is called.

    For any other type, the interfaces that it satisfies. For a group with interfaces, the types that satisfy those.
    """
    steps = open_steps(store)
    asked = subject.symbols
    if subject.is_group:
        types = tuple(symbol for symbol in asked if symbol.kind in TYPES)
        asked = tuple(symbol for symbol in types if symbol.kind == "interface") or types

    def links_of(symbol: Ref) -> list[Link]:
        if symbol.kind == "imethod":
            methods = steps.refs(InterfaceDispatch(steps).implementations(steps.number(symbol)))
            return [Link(method, "implements") for method in methods]
        return (inbound if _is_satisfied(symbol) else outbound)(store, symbol, ("IMPLEMENTS",))

    question = "implementers" if all(map(_is_satisfied, asked)) else "implements"
    links = _of_group(subject, links_of, asked)
    return Answer(question, subject, in_order(links), (), same_name_uses(store, subject))


def _is_satisfied(symbol: Ref) -> bool:
    return symbol.kind in ("interface", "imethod") or symbol.external


def tests(store: Store, subject: Meaning) -> Answer:
    """The tests that reach it; for a type, also those that reach its methods. Candidates may reach it through an
    interface or a function value."""
    links: list[Link] = []
    for symbol in subject.symbols:
        for reached in (symbol, *_methods(store, symbol)):
            links += inbound(store, reached, ("TESTS",))
    # A test may reach several methods of one type: one link is enough.
    first = {link.symbol.id: link for link in reversed(in_order(links))}
    steps = open_steps(store)
    starts = [*subject.symbols, *(method for symbol in subject.symbols for method in _methods(store, symbol))]
    candidates = [
        _candidate_test(store, test, user, via)
        for test, user, via in _candidate_tests(steps, [steps.number(symbol) for symbol in starts])
        if test.id not in first
    ]
    return Answer("tests", subject, in_order(first.values()), in_order(candidates), same_name_uses(store, subject))


def _methods(store: Store, symbol: Ref) -> list[Ref]:
    if symbol.kind not in TYPES or symbol.external:
        return []
    return [member for member in members(store, symbol.id) if member.kind == "method"]


def _candidate_test(store: Store, test: Ref, user: Ref, via: Ref) -> Link:
    """A test that may reach something through an interface method, or through a function that `user` hands over."""
    sites = () if via.kind == "imethod" else handed_over_at(store, user, via)
    return Link(test, "tests", user.file if sites else "", sites, HANDS_OVER if sites else "", via=via.id)


def handed_over_at(store: Store, user: Ref, function: Ref) -> tuple[int, ...]:
    """The lines, in the file of `user`, where it uses a function as a value."""
    links = outbound(store, user, ("REFERENCES",))
    return next((link.sites for link in links if link.symbol.id == function.id), ())


def _candidate_tests(steps: Steps, starts: Iterable[int]) -> Iterator[tuple[Ref, Ref, Ref]]:
    """The tests that may reach one of these declarations, each with who calls or names what for that.

    A test, or a helper in a test file that it calls, calls an interface method of it or names it as a value.
    """
    types = InterfaceDispatch(steps)
    level: list[tuple[int, int, int]] = []
    for number in starts:
        for method in types.interface_methods(number):
            level += [(caller, caller, method) for caller in steps.callers_through(method)]
        if steps.kind(number) in CALLABLE:
            level += [(user, user, number) for user in steps.inbound(number, "REFERENCES")]
    seen: set[int] = set()
    while level and len(seen) < _MOST_HELPERS:
        further: list[tuple[int, int, int]] = []
        for number, first, via in level:
            user = steps.ref(number)
            if number in seen or not user.test:
                continue
            seen.add(number)
            if user.kind == "func" and is_test_name(user.name):
                yield user, steps.ref(first), steps.ref(via)
            else:
                users = (one for label in ("CALLS", "REFERENCES") for one in steps.inbound(number, label))
                further += [(one, first, via) for one in users]
        level = further


def show(store: Store, subject: Meaning) -> SymbolAnswer:
    """The details of its declarations."""
    steps = open_steps(store)
    types = InterfaceDispatch(steps)
    declarations = tuple(_details(store, symbol, steps, types) for symbol in subject.symbols)
    return SymbolAnswer(subject, declarations, same_name_uses(store, subject))


def _uses_of(store: Store, question: str, subject: Meaning, labels: Iterable[str]) -> Answer:
    resolved = _of_group(subject, lambda symbol: inbound(store, symbol, labels))
    candidates: dict[tuple[str, str], Link] = {}
    steps = open_steps(store)
    types = InterfaceDispatch(steps)
    for symbol in subject.symbols:
        for method in steps.refs(types.interface_methods(steps.number(symbol))):
            calls = inbound(store, method, ("INVOKES" if is_unnamed(method.id) else "CALLS",))
            for link in _of_group(subject, lambda _, calls=calls: calls, (symbol,)):
                key = (link.symbol.id, method.id)
                candidates[key] = replace(link, evidence="implements", via=method.id)
    by_shape = {
        (caller, method)
        for symbol in subject.symbols
        for method in types.interface_methods_by_shape(steps.number(symbol))
        for caller in steps.callers_through(method)
    }
    unresolved = unknown_uses(store, types, steps, subject)
    links = in_order(_without_twins(resolved))
    return Answer(question, subject, links, in_order(candidates.values()), unresolved, by_shape=len(by_shape))


def _of_group(
    subject: Meaning, links_of: Callable[[Ref], list[Link]], symbols: tuple[Ref, ...] | None = None
) -> list[Link]:
    """The links of each symbol; for a group, without those inside it, and with the names of the symbols."""
    symbols = subject.symbols if symbols is None else symbols
    if not subject.is_group:
        return [link for symbol in symbols for link in links_of(symbol)]
    own = frozenset(subject.ids)
    return [
        replace(link, subject=symbol.qualified_name)
        for symbol in symbols
        for link in links_of(symbol)
        if link.symbol.id not in own
    ]


def _without_twins(links: Iterable[Link]) -> list[Link]:
    """One link if several twins are used in the same way at the same sites."""
    return list(
        {
            (link.symbol.id, link.how, link.sites, link.pointer, link.access, link.subject): link for link in links
        }.values()
    )


def same_name_uses(store: Store, subject: Meaning) -> UnresolvedUses:
    """The unresolved uses with the name of the subject, or with one of the names of a group."""
    return unresolved_uses(store, *sorted({symbol.name for symbol in subject.symbols}))


def unknown_uses(store: Store, types: InterfaceDispatch, steps: Steps, subject: Meaning) -> UnresolvedUses:
    """The uses that are not known: unresolved sites with its name, and calls through external interfaces."""
    outside = {name for symbol in subject.symbols for name in types.outside_interfaces(steps.number(symbol))}
    return replace(same_name_uses(store, subject), outside=tuple(sorted(outside)))


def _details(store: Store, symbol: Ref, steps: Steps, types: InterfaceDispatch) -> SymbolDetails:
    number = steps.number(symbol)
    through = {caller for method in types.interface_methods(number) for caller in steps.callers_through(method)}
    row = _own_row(store, symbol)
    calls = outbound(store, symbol, ("CALLS",))
    is_type = symbol.kind in TYPES
    return SymbolDetails(
        symbol,
        *row,
        members=() if symbol.external else tuple(members(store, symbol.id)),
        callers=sources(store, symbol, ("CALLS",)),
        callees=len({link.symbol.id for link in calls}),
        users=sources(store, symbol, USES),
        implements=in_order(outbound(store, symbol, ("IMPLEMENTS",))) if is_type else (),
        implementers=sources(store, symbol, ("IMPLEMENTS",)) if is_type else 0,
        embeds=in_order(outbound(store, symbol, ("EMBEDS",))),
        tests=tuple(sorted((link.symbol for link in inbound(store, symbol, ("TESTS",))), key=by_location)),
        candidate_callers=len(through),
        outside=tuple(types.outside_interfaces(number)),
    )


def _own_row(store: Store, symbol: Ref) -> tuple[str, str, str, bool, bool, int, str, str]:
    """Signature, doc, tag, exported, deprecated, end line, the file's build constraint and the owner's name."""
    if symbol.external:
        return ("", "", "", symbol.name[:1].isupper(), False, 0, "", "")
    statement = "MATCH (s:Symbol {id: $id}) RETURN s.signature, s.doc, s.tag, s.exported, s.deprecated, s.end_line"
    row = next(iter(store.rows(statement, {"id": symbol.id})))
    files = store.rows("MATCH (f:File {id: $id}) RETURN f.constraint", {"id": symbol.file})
    constraint = next((text for (text,) in files), "")
    owners = store.rows("MATCH (s:Symbol {id: $id}) RETURN s.qualified_name", {"id": symbol.owner})
    signature, doc, tag, exported, deprecated, end = row
    return (signature, doc, tag, exported, deprecated, end, constraint, next((name for (name,) in owners), ""))
