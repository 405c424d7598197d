"""Questions about one symbol: who calls it, what it calls, who uses it, what implements it, and what is known of it.

Each takes an open store and a meaning (see `names`) and gives a three-valued answer. Twins are answered together. What
is reached over several steps is in `reach`.
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
from golore.graph.queries.interface_dispatch import Types
from golore.graph.queries.symbol_steps import Steps, open_steps

CALLABLE: Final = frozenset(("func", "method", "imethod"))
CALLING: Final = CALLABLE | {"var"}
TYPES: Final = frozenset(("struct", "interface", "type", "alias"))


def callers(store: Store, subject: Meaning) -> Answer:
    """Who calls it. Candidates call an interface's method behind which it may stand."""
    return _used(store, "callers", subject, ("CALLS",))


def users(store: Store, subject: Meaning) -> Answer:
    """Who calls, refers to or embeds it."""
    return _used(store, "users", subject, USES)


def callees(store: Store, subject: Meaning) -> Answer:
    """What it calls. Candidates are the methods that may stand behind a called interface method."""
    resolved = [link for symbol in subject.symbols for link in outbound(store, symbol, ("CALLS",))]
    candidates: dict[str, Link] = {}
    passed: set[str] = set()
    steps = open_steps(store)
    types = Types(steps)
    for link in resolved:
        called = link.symbol
        if called.kind == "imethod" and called.id not in passed:
            passed.add(called.id)
            for method in steps.refs(types.implementations(steps.number(called))):
                candidate = Link(method, "calls", link.file, link.sites, "implements", via=called.id)
                candidates.setdefault(method.id, candidate)
    return Answer("callees", subject, in_order(resolved), in_order(candidates.values()), _doubt(store, subject))


def implementers(store: Store, subject: Meaning) -> Answer:
    """The types that satisfy an interface, or the methods that may stand behind a method of one.

    For any other type, the interfaces that it satisfies.
    """
    question, links, steps = "implementers", list[Link](), open_steps(store)
    for symbol in subject.symbols:
        if symbol.kind == "imethod":
            methods = steps.refs(Types(steps).implementations(steps.number(symbol)))
            links += [Link(method, "implements") for method in methods]
        elif symbol.kind == "interface" or symbol.external:
            links += inbound(store, symbol, ("IMPLEMENTS",))
        else:
            question = "implements"
            links += outbound(store, symbol, ("IMPLEMENTS",))
    return Answer(question, subject, in_order(links), (), _doubt(store, subject))


def tests(store: Store, subject: Meaning) -> Answer:
    """The tests that exercise it; of a type, also those that exercise its methods."""
    links: list[Link] = []
    for symbol in subject.symbols:
        links += inbound(store, symbol, ("TESTS",))
        if symbol.kind in TYPES and not symbol.external:
            for method in members(store, symbol.id):
                if method.kind == "method":
                    links += inbound(store, method, ("TESTS",))
    # A test may exercise several methods of one type: the first place is enough.
    first = {link.symbol.id: link for link in reversed(in_order(links))}
    return Answer("tests", subject, in_order(first.values()), (), _doubt(store, subject))


def show(store: Store, subject: Meaning) -> SymbolAnswer:
    """Everything about it."""
    return SymbolAnswer(subject, tuple(_portrait(store, symbol) for symbol in subject.symbols), _doubt(store, subject))


def count_store(store: Store) -> StoreCounts:
    """How much of what there is."""
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


def _used(store: Store, question: str, subject: Meaning, labels: Iterable[str]) -> Answer:
    resolved = [link for symbol in subject.symbols for link in inbound(store, symbol, labels)]
    candidates: dict[tuple[str, str], Link] = {}
    steps = open_steps(store)
    types = Types(steps)
    for symbol in subject.symbols:
        for method in steps.refs(types.interface_methods(steps.number(symbol))):
            for link in inbound(store, method, ("CALLS",)):
                key = (link.symbol.id, method.id)
                candidates[key] = Link(link.symbol, "calls", link.file, link.sites, "implements", via=method.id)
    doubts = uses_in_doubt(store, types, steps, subject)
    return Answer(question, subject, in_order(_joined(resolved)), in_order(candidates.values()), doubts)


def _joined(links: Iterable[Link]) -> list[Link]:
    """One link where several twins are used alike from the same place."""
    return list({(link.symbol.id, link.how, link.sites, link.pointer): link for link in links}.values())


def _doubt(store: Store, subject: Meaning) -> UnresolvedUses:
    return unresolved_uses(store, subject.first.name)


def uses_in_doubt(store: Store, types: Types, steps: Steps, subject: Meaning) -> UnresolvedUses:
    """What is not known of who uses something: sites that bear its name, and calls from outside."""
    outside = {name for symbol in subject.symbols for name in types.outside_interfaces(steps.number(symbol))}
    return replace(_doubt(store, subject), outside=tuple(sorted(outside)))


def _portrait(store: Store, symbol: Ref) -> SymbolDetails:
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
    """Signature, doc, tag, exported, deprecated, end line, the file's constraint and the owner's name."""
    if symbol.external:
        return ("", "", "", symbol.name[:1].isupper(), False, 0, "", "")
    statement = "MATCH (s:Symbol {id: $id}) RETURN s.signature, s.doc, s.tag, s.exported, s.deprecated, s.end_line"
    row = next(iter(store.rows(statement, {"id": symbol.id})))
    files = store.rows("MATCH (f:File {id: $id}) RETURN f.constraint", {"id": symbol.file})
    constraint = next((text for (text,) in files), "")
    owners = store.rows("MATCH (s:Symbol {id: $id}) RETURN s.qualified_name", {"id": symbol.owner})
    signature, doc, tag, exported, deprecated, end = row
    return (signature, doc, tag, exported, deprecated, end, constraint, next((name for (name,) in owners), ""))
