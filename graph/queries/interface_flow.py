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
    """The types at each interface, by ids. `OUTSIDE` stands for all interfaces that the repository does not declare.

    A set of types is a number with a bit for each of them: Kubernetes has two million pairs of a type and a place.
    """

    def __init__(self) -> None:
        self.direct: defaultdict[str, set[str]] = defaultdict(set)
        """Those that are converted to the interface itself, so that they satisfy it, whatever the graph knows."""
        self.targets: defaultdict[str, set[str]] = defaultdict(set)
        """The inverse of `direct`."""
        self._bits: dict[str, int] = {}
        self._types: defaultdict[str, int] = defaultdict(int)

    def reaches(self, type: str, place: str) -> bool:
        bit = self._bits.get(type)
        return bit is not None and bool(self._types.get(place, 0) >> bit & 1)

    def spread(self, onward: Mapping[str, set[str]], satisfied: _Satisfied) -> None:
        """Let the types get from where they are converted to wherever that leads."""
        self._bits = {type: bit for bit, type in enumerate(sorted(self.targets))}
        allowed = satisfied.masks(self._bits)
        pending = {place: sum(1 << self._bits[type] for type in types) for place, types in self.direct.items()}
        while pending:
            place, arriving = pending.popitem()
            new = arriving & ~self._types[place]
            self._types[place] |= new
            for to in onward.get(place, ()) if new else ():
                if passing := new & allowed.get(to, -1):
                    pending[to] = pending.get(to, 0) | passing


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
    satisfied = _satisfied(store)
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
    flow.spread(onward, satisfied)
    return flow


class _Satisfied:
    """The interfaces that types satisfy, by the graph. Of others, among them generic types, nothing is known."""

    def __init__(self) -> None:
        self._types: defaultdict[str, list[str]] = defaultdict(list)
        self._known: set[str] = set()

    def add(self, type: str, interface: str) -> None:
        self._known.add(type)
        self._types[interface].append(type)

    def masks(self, bits: Mapping[str, int]) -> dict[str, int]:
        """The types that pass each interface: those that satisfy it, and those of which nothing is known."""
        unknown = sum(1 << bit for type, bit in bits.items() if type not in self._known)
        return {
            interface: unknown | sum(1 << bits[type] for type in set(types) if type in bits)
            for interface, types in self._types.items()
        }


def _satisfied(store: Store) -> _Satisfied:
    found = _Satisfied()
    for type, interface in store.rows("MATCH (a:Symbol)-[:IMPLEMENTS]->(b:Symbol) RETURN a.id, b.id"):
        found.add(type, interface)
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
