"""Questions about one symbol: its callers, callees, users, implementers and tests, and its details.

Each takes an open store and a meaning (see `name_resolver`) and returns a three-valued answer. Twins are answered
together. `impact` answers questions over several steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EDGE_PROPERTIES, USES
from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.queries.answers import (
    Answer,
    Link,
    Meaning,
    Ref,
    StoreCounts,
    SymbolAnswer,
    SymbolDetails,
    UnresolvedUses,
)
from golore.graph.queries.edges import by_location, in_order, inbound, members, outbound, unresolved_uses
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import Steps, open_steps

CALLABLE: Final = frozenset(("func", "method", "imethod"))
CALLING: Final = CALLABLE | {"var"}
TYPES: Final = frozenset(("struct", "interface", "type", "alias"))


def callers(store: Store, subject: Meaning) -> Answer:
    """Who calls it. Candidates call an interface method through which it may be called."""
    return _uses_of(store, "callers", subject, ("CALLS",))


def users(store: Store, subject: Meaning) -> Answer:
    """Who calls, refers to or embeds it."""
    return _uses_of(store, "users", subject, USES)


def callees(store: Store, subject: Meaning) -> Answer:
    """What it calls. Candidates are the methods that may run when it calls an interface method."""
    resolved = [link for symbol in subject.symbols for link in outbound(store, symbol, ("CALLS",))]
    candidates: dict[str, Link] = {}
    passed: set[str] = set()
    steps = open_steps(store)
    types = InterfaceDispatch(steps)
    for link in resolved:
        called = link.symbol
        if called.kind == "imethod" and called.id not in passed:
            passed.add(called.id)
            for method in steps.refs(types.implementations(steps.number(called))):
                candidate = Link(method, "calls", link.file, link.sites, "implements", via=called.id)
                candidates.setdefault(method.id, candidate)
    return Answer("callees", subject, in_order(resolved), in_order(candidates.values()), _unresolved(store, subject))


def implementers(store: Store, subject: Meaning) -> Answer:
    """The types that satisfy an interface, or the methods that may run when a method of one is called.

    For any other type, the interfaces that it satisfies.
    """
    question, links, steps = "implementers", list[Link](), open_steps(store)
    for symbol in subject.symbols:
        if symbol.kind == "imethod":
            methods = steps.refs(InterfaceDispatch(steps).implementations(steps.number(symbol)))
            links += [Link(method, "implements") for method in methods]
        elif symbol.kind == "interface" or symbol.external:
            links += inbound(store, symbol, ("IMPLEMENTS",))
        else:
            question = "implements"
            links += outbound(store, symbol, ("IMPLEMENTS",))
    return Answer(question, subject, in_order(links), (), _unresolved(store, subject))


def tests(store: Store, subject: Meaning) -> Answer:
    """The tests that reach it; for a type, also those that reach its methods."""
    links: list[Link] = []
    for symbol in subject.symbols:
        links += inbound(store, symbol, ("TESTS",))
        if symbol.kind in TYPES and not symbol.external:
            for method in members(store, symbol.id):
                if method.kind == "method":
                    links += inbound(store, method, ("TESTS",))
    # A test may reach several methods of one type: one link is enough.
    first = {link.symbol.id: link for link in reversed(in_order(links))}
    return Answer("tests", subject, in_order(first.values()), (), _unresolved(store, subject))


def show(store: Store, subject: Meaning) -> SymbolAnswer:
    """The details of its declarations."""
    return SymbolAnswer(
        subject, tuple(_details(store, symbol) for symbol in subject.symbols), _unresolved(store, subject)
    )


def count_store(store: Store) -> StoreCounts:
    """Count what the store contains."""
    kinds = {row[0]: row[1] for row in store.rows("MATCH (s:Symbol) RETURN s.kind, count(*)")}
    (files, lines), *_ = store.rows("MATCH (f:File) RETURN count(*), sum(f.lines)")
    (sites,), *_ = store.rows("MATCH (u:Unresolved) RETURN sum(size(string_split(u.sites, ' ')))")
    return StoreCounts(
        packages=_count(store, "(n:Package)"),
        files=files,
        lines=int(lines or 0),
        symbols={kind: kinds[kind] for kind in SYMBOL_KINDS if kind in kinds},
        edges={label: _count(store, f"()-[e:{label}]->()") for label in EDGE_PROPERTIES},
        externals=_count(store, "(n:External)"),
        unresolved=_count(store, "(n:Unresolved)"),
        unresolved_sites=int(sites or 0),
        files_with_problems=_count(store, "(f:File) WHERE size(f.problems) > 0"),
    )


def _count(store: Store, pattern: str) -> int:
    return next(iter(store.rows(f"MATCH {pattern} RETURN count(*)")))[0]


def _uses_of(store: Store, question: str, subject: Meaning, labels: Iterable[str]) -> Answer:
    resolved = [link for symbol in subject.symbols for link in inbound(store, symbol, labels)]
    candidates: dict[tuple[str, str], Link] = {}
    steps = open_steps(store)
    types = InterfaceDispatch(steps)
    for symbol in subject.symbols:
        for method in steps.refs(types.interface_methods(steps.number(symbol))):
            for link in inbound(store, method, ("CALLS",)):
                key = (link.symbol.id, method.id)
                candidates[key] = Link(link.symbol, "calls", link.file, link.sites, "implements", via=method.id)
    unresolved = unknown_uses(store, types, steps, subject)
    return Answer(question, subject, in_order(_without_twins(resolved)), in_order(candidates.values()), unresolved)


def _without_twins(links: Iterable[Link]) -> list[Link]:
    """One link if several twins are used in the same way at the same sites."""
    return list({(link.symbol.id, link.how, link.sites, link.pointer): link for link in links}.values())


def _unresolved(store: Store, subject: Meaning) -> UnresolvedUses:
    return unresolved_uses(store, subject.first.name)


def unknown_uses(store: Store, types: InterfaceDispatch, steps: Steps, subject: Meaning) -> UnresolvedUses:
    """The uses that are not known: unresolved sites with its name, and calls through external interfaces."""
    outside = {name for symbol in subject.symbols for name in types.outside_interfaces(steps.number(symbol))}
    return replace(_unresolved(store, subject), outside=tuple(sorted(outside)))


def _details(store: Store, symbol: Ref) -> SymbolDetails:
    uses = inbound(store, symbol, USES)
    row = _own_row(store, symbol)
    calls = outbound(store, symbol, ("CALLS",))
    is_type = symbol.kind in TYPES
    return SymbolDetails(
        symbol,
        *row,
        members=() if symbol.external else tuple(members(store, symbol.id)),
        callers=len({link.symbol.id for link in uses if link.how == "calls"}),
        callees=len({link.symbol.id for link in calls}),
        users=len({link.symbol.id for link in uses}),
        implements=in_order(outbound(store, symbol, ("IMPLEMENTS",))) if is_type else (),
        implementers=len(inbound(store, symbol, ("IMPLEMENTS",))) if is_type else 0,
        embeds=in_order(outbound(store, symbol, ("EMBEDS",))),
        tests=tuple(sorted((link.symbol for link in inbound(store, symbol, ("TESTS",))), key=by_location)),
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
