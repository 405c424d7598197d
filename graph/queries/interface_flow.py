"""Which types get into which interfaces, anywhere in the repository, by the graph's `CONVERTS` edges.

A type gets into an interface directly, or through others: by assignment, assertion, embedding, and through the type
parameters of generic declarations. Interfaces outside the repository are one place, `OUTSIDE` (see `CONVERTS`). On the
way, a type only passes interfaces that it satisfies.

It is not decided whether a conversion can run (see `graph.analysis.reachability` for that), nor which value it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.adjacency_file import Adjacency

OUTSIDE: Final = "any"
_FROM_OUTSIDE: Final = "<any"

_PLACES: Final = frozenset(("interface", "alias", "func", "method"))
"""Kinds that only stand for values of other types; a generic type stands for itself and for its type parameters."""


class _Conversions:
    """All conversions of a graph, and the places that types were found to get to."""

    def __init__(self, store: Store, adjacency: Adjacency | None) -> None:
        self.direct: defaultdict[str, set[str]] = defaultdict(set)
        self.targets: defaultdict[str, set[str]] = defaultdict(set)
        embedding = _embedded_by_interfaces(store) if adjacency is None else _embedded_in_file(adjacency)
        self.onward = _static_ways(embedding)
        self.satisfied = _satisfied(store) if adjacency is None else _satisfied_in_file(adjacency)
        """The interfaces of the repository that some type is known to satisfy."""
        self.places: dict[str, frozenset[str]] = {}
        for source, kind, evidence in _conversions(store) if adjacency is None else adjacency.conversions():
            for token in evidence.split():
                if token == _FROM_OUTSIDE:
                    self.onward[OUTSIDE].add(source)
                    continue
                self.onward[source].add(token)
                if kind not in _PLACES:
                    self.direct[token].add(source)
                    self.targets[source].add(token)


class InterfaceFlow:
    """The types at each interface, by ids. `OUTSIDE` stands for all interfaces that the repository does not declare.

    Where a type gets to is found when it is asked for: a question concerns few types, and a large repository has
    millions of pairs of a type and an interface that it gets into.
    """

    def __init__(self, conversions: _Conversions, satisfied_by: Callable[[str], Iterable[str]]) -> None:
        """`satisfied_by` returns the interfaces of the repository that a type satisfies."""
        self._satisfied_by = satisfied_by
        self._conversions = conversions
        self.direct: Final = conversions.direct
        """Types that are converted to the interface itself, so that they satisfy it, whatever the graph knows."""
        self.targets: Final = conversions.targets
        """The inverse of `direct`."""

    def reaches(self, type: str, place: str) -> bool:
        if place in self.targets.get(type, ()):
            return True
        places = self._conversions.places
        if type not in places:
            places[type] = frozenset(self._places_of(type))
        return place in places[type]

    def _places_of(self, type: str) -> set[str]:
        pending = list(self.targets.get(type, ()))
        if not pending:
            return set()
        satisfied = set(self._satisfied_by(type))
        found: set[str] = set()
        while pending:
            place = pending.pop()
            if place not in found:
                found.add(place)
                # Of types without an edge, among them generic ones, the graph does not know what they satisfy.
                pending += [
                    to
                    for to in self._conversions.onward.get(place, ())
                    if not satisfied or to in satisfied or to not in self._conversions.satisfied
                ]
        return found


_last: Final[dict[Path, tuple[str, _Conversions]]] = {}
"""The conversions of each store, with the generation of its graph: they take a scan."""


def is_flow_known(store: Store) -> bool:
    """Whether this process has read the conversions of the graph already."""
    known = _last.get(store.directory)
    return known is not None and known[0] == store.generation


def interface_flow(
    store: Store,
    satisfied_by: Callable[[str], Iterable[str]] | None = None,
    adjacency: Adjacency | None = None,
) -> InterfaceFlow:
    """`satisfied_by`: see `InterfaceFlow`; without it, the graph is asked. `adjacency`: the file of exactly this graph,
    if there is one."""
    generation = store.generation
    known = _last.get(store.directory)
    if known is None or known[0] != generation:
        known = _last[store.directory] = (generation, _Conversions(store, adjacency))
    return InterfaceFlow(known[1], satisfied_by or partial(satisfied_interfaces, store))


def satisfied_interfaces(store: Store, type: str) -> Iterator[str]:
    """The ids of the repository's interfaces that a type satisfies."""
    rows = store.rows("MATCH (a:Symbol {id: $id})-[:IMPLEMENTS]->(b:Symbol) RETURN b.id", {"id": type})
    return (id for (id,) in rows)


def _static_ways(embedding: Iterable[tuple[str, str]]) -> defaultdict[str, set[str]]:
    """An interface that embeds another one gives its values to that."""
    onward: defaultdict[str, set[str]] = defaultdict(set)
    for interface, embedded in embedding:
        onward[interface].add(embedded)
    return onward


def _embedded_by_interfaces(store: Store) -> Iterator[tuple[str, str]]:
    """Each interface with what it embeds: another one of the repository, or `OUTSIDE`."""
    statement = "MATCH (a:Symbol)-[:EMBEDS]->(b:{}) WHERE a.kind = 'interface' RETURN a.id, b.id"
    for interface, embedded in store.rows(statement.format("Symbol")):
        yield interface, embedded
    for interface, _ in store.rows(statement.format("External")):
        yield interface, OUTSIDE


def _embedded_in_file(adjacency: Adjacency) -> Iterator[tuple[str, str]]:
    for number in adjacency.with_neighbours("EMBEDS>"):
        if adjacency.kind(number) == "interface":
            for embedded in adjacency.neighbours(number, "EMBEDS>"):
                yield adjacency.id(number), adjacency.id(embedded) if embedded < adjacency.symbols else OUTSIDE


def _conversions(store: Store) -> Iterable[Sequence[str]]:
    return store.rows("MATCH (:Symbol)-[e:CONVERTS]->(b:Symbol) RETURN DISTINCT b.id, b.kind, e.evidence")


def _satisfied(store: Store) -> set[str]:
    return {id for (id,) in store.rows("MATCH (:Symbol)-[:IMPLEMENTS]->(b:Symbol) RETURN DISTINCT b.id")}


def _satisfied_in_file(adjacency: Adjacency) -> set[str]:
    found = adjacency.with_neighbours("IMPLEMENTS<")
    return {adjacency.id(number) for number in found if number < adjacency.symbols}
