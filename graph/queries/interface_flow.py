"""Which types get into which interfaces, anywhere in the repository, by the graph's `CONVERTS` edges.

A type gets into an interface directly, or through others: by assignment, assertion, embedding, and through the type
parameters of generic declarations. Interfaces outside the repository are one place, `OUTSIDE` (see `CONVERTS`). On the
way, a type only passes interfaces that it satisfies.

It is not decided whether a conversion can run (see `graph.analysis.reachability` for that), nor which value it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store

OUTSIDE: Final = "any"
_FROM_OUTSIDE: Final = "<any"

_PLACES: Final = frozenset(("interface", "alias", "func", "method"))
"""Kinds that only stand for values of other types; a generic type stands for itself and for its type parameters."""


class InterfaceFlow:
    """The types at each interface, by ids. `OUTSIDE` stands for all interfaces that the repository does not declare."""

    def __init__(self) -> None:
        self.types: defaultdict[str, set[str]] = defaultdict(set)
        self.direct: defaultdict[str, set[str]] = defaultdict(set)
        """Those that are converted to the interface itself, so that they satisfy it, whatever the graph knows."""
        self.targets: defaultdict[str, set[str]] = defaultdict(set)
        """The inverse of `direct`."""

    def reaches(self, type: str, place: str) -> bool:
        return type in self.types.get(place, ())


_last: Final[dict[Path, tuple[str, InterfaceFlow]]] = {}
"""The flow of each store, with the generation of its graph: it takes a scan of all conversions."""


def interface_flow(store: Store) -> InterfaceFlow:
    generation = store.generation
    known = _last.get(store.directory)
    if known is None or known[0] != generation:
        known = _last[store.directory] = (generation, _compute(store))
    return known[1]


def _compute(store: Store) -> InterfaceFlow:
    flow = InterfaceFlow()
    onward = _static_ways(store)
    statement = "MATCH (:Symbol)-[e:CONVERTS]->(b:Symbol) RETURN DISTINCT b.id, b.kind, e.evidence"
    for source, kind, evidence in store.rows(statement):
        for token in evidence.split():
            if token == _FROM_OUTSIDE:
                onward[OUTSIDE].add(source)
                continue
            onward[source].add(token)
            if kind not in _PLACES:
                flow.direct[token].add(source)
                flow.targets[source].add(token)
    _propagate(flow, onward, _implementers(store))
    return flow


def _propagate(flow: InterfaceFlow, onward: Mapping[str, set[str]], implementers: Mapping[str, set[str]]) -> None:
    """Let types pass from place to place, all new ones of a place at once: one by one took ten times as long."""
    known = set[str]().union(*implementers.values())
    pending = {place: set(types) for place, types in flow.direct.items()}
    while pending:
        place, types = pending.popitem()
        new = types - flow.types[place]
        flow.types[place] |= new
        # Of other types, among them generic ones, the graph does not know what they satisfy.
        unsure = new - known
        for to in onward.get(place, ()):
            satisfying = implementers.get(to)
            arriving = new if satisfying is None else (new & satisfying) | unsure
            arriving = arriving - flow.types[to]
            if arriving:
                pending.setdefault(to, set()).update(arriving)


def _implementers(store: Store) -> defaultdict[str, set[str]]:
    """The types that satisfy each interface, by the graph."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for type, interface in store.rows("MATCH (a:Symbol)-[:IMPLEMENTS]->(b:Symbol) RETURN a.id, b.id"):
        found[interface].add(type)
    return found


def _static_ways(store: Store) -> defaultdict[str, set[str]]:
    """An interface that embeds another one gives its values to that."""
    onward: defaultdict[str, set[str]] = defaultdict(set)
    statement = "MATCH (a:Symbol)-[:EMBEDS]->(b:{}) WHERE a.kind = 'interface' RETURN a.id, b.id"
    for interface, embedded in store.rows(statement.format("Symbol")):
        onward[interface].add(embedded)
    for interface, _ in store.rows(statement.format("External")):
        onward[interface].add(OUTSIDE)
    return onward
