"""Steps from symbol to symbol, for searches of many steps: from the adjacency file where it is valid, else the graph.

Symbols are numbers here. Nodes that changed since the file was built (see `change_log`), and all nodes if there is no
file, are read from the engine; the results are kept for the duration of one question. Neighbours are in the order of
their ids, external ones last, from both sources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.change_log import changed_nodes_since
from golore.graph.database.store import Store
from golore.graph.queries.adjacency_file import HAS_TWINS, Adjacency, open_adjacency
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, inbound, members, outbound, symbols
from golore.graph.queries.edges import external as external_of
from golore.graph.queries.interface_flow import (
    OUTSIDE,
    InterfaceFlow,
    interface_flow,
    is_flow_known,
    satisfied_interfaces,
)
from golore.graph.queries.unnamed_interfaces import UnnamedInterfaces, is_unnamed, unnamed_interfaces
from golore.graph.queries.warm_tables import WarmTables, count_question

_MOST_TOUCHED: Final = 5_000
"""With more changed nodes than this, the file should be built again."""
_FEW_NAMES: Final = 3
_MANY: Final = 100
"""With more queries to the engine than this, about 10 ms, a search would have been quicker with the file."""


class Drift(NamedTuple):
    """What changed since the file was built: numbers of nodes that changed, numbers of those that were removed at some
    time, and ids of nodes that the file does not have."""

    changed: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    new: frozenset[str] = frozenset()


class Steps:
    """The symbols of an open store and their neighbours. Create one for each question, with `open_steps`."""

    def __init__(
        self, store: Store, adjacency: Adjacency | None, drift: Drift, tables: WarmTables | None = None
    ) -> None:
        self._store = store
        self._tables = tables
        self._adjacency = adjacency
        self._next = self._first = adjacency.total if adjacency is not None else 0
        """Numbers from `_first` on belong to nodes that the file does not have."""
        self._refs: dict[int, Ref] = {}
        self._numbers: dict[tuple[bool, str], int] = {}
        self.asked: dict[tuple[int, str], list[int]] = {}
        """The neighbours that were read from the engine, by symbol and relation with a direction."""
        self._members: dict[tuple[int, str], int | None] = {}
        """The members that were looked up, by type and name."""
        self._required: dict[str, bool] = {}
        """Whether interfaces may require methods of a name."""
        self._outside: dict[int, list[tuple[Ref, frozenset[str]]]] | None = None
        """The external interfaces of all types, if they were read at once."""
        self._changed, self._gone, self._new = self.drift = drift

    @property
    def adjacency(self) -> Adjacency | None:
        """The file that the numbers are of; see `drift` for which nodes it is still valid."""
        return self._adjacency

    @property
    def current_adjacency(self) -> Adjacency | None:
        """The file, if it is that of exactly this graph."""
        is_current = self._adjacency is not None and self._adjacency.generation == self._store.generation
        return self._adjacency if is_current else None

    @property
    def is_adjacency_worth_building(self) -> bool:
        """Whether the queries so far would have been quicker with a file, or with a newer one."""
        is_due = self._adjacency is None or len(self._changed) > _MOST_TOUCHED
        return is_due and len(self.asked) > _MANY

    def number(self, symbol: Ref) -> int:
        key = (symbol.external, symbol.id)
        known = self._numbers.get(key)
        if known is None:
            if self._adjacency is not None:
                known = self._adjacency.number(symbol.id, external=symbol.external)
            if known is None:
                known = self._next
                self._next += 1
            self._numbers[key] = known
            self._refs[known] = symbol
        return known

    def symbol(self, id: str) -> int | None:
        """The number of the repository's symbol with this id; None if there is none."""
        return self._with_id(id, external=False)

    def external(self, id: str) -> int | None:
        """Like `symbol`, for external nodes."""
        return self._with_id(id, external=True)

    def _with_id(self, id: str, *, external: bool) -> int | None:
        known = self._numbers.get((external, id))
        if known is None and self._adjacency is not None:
            known = self._adjacency.number(id, external=external)
            if known is None and id not in self._new:
                return None
            if known is not None and not self._is_file_valid_for(known):
                known = None
            elif known is not None:
                self._numbers[external, id] = known  # many methods have the same owner
        if known is None:
            found = self._look_up(id, external=external)
            known = None if found is None else self.number(found)
        return known

    def ref(self, number: int) -> Ref:
        known = self._refs.get(number)
        if known is None:
            assert self._adjacency is not None, "a number that the file does not have was given to a symbol before"
            known = self._adjacency.ref(number)
            if number in self._changed:
                known = self._look_up(known.id, external=known.external) or known
            self._refs[number] = known
        return known

    def _look_up(self, id: str, *, external: bool) -> Ref | None:
        return external_of(self._store, id) if external else next(iter(symbols(self._store, [id])), None)

    def refs(self, numbers: Iterable[int]) -> list[Ref]:
        return [self.ref(number) for number in numbers]

    def kind(self, number: int) -> str:
        if self._adjacency is not None and self._is_file_valid_for(number):
            return self._adjacency.kind(number)
        return self.ref(number).kind

    def is_external(self, number: int) -> bool:
        if self._adjacency is not None and number < self._first:
            return number >= self._adjacency.symbols
        return self.ref(number).external

    def inbound(self, number: int, label: str) -> Sequence[int]:
        return self._neighbours(number, label, "<")

    def outbound(self, number: int, label: str) -> Sequence[int]:
        return self._neighbours(number, label, ">")

    def member(self, type: int, name: str) -> int | None:
        """A type's own method or field with this name; of twins, the last by location."""
        if self._adjacency is not None and self._is_file_valid_for(type):
            found = self._adjacency.owned(name).get(type)
            if found is None or (found != HAS_TWINS and found not in self._changed):
                return found
        owner = self.ref(type).id
        if self._tables is not None and name not in self._tables.odd_members.get(owner, ()):
            return self._plain_members([type], name).get(type)
        named = [one for one in self._neighbours(type, "CONTAINS", ">") if self.ref(one).name == name]
        return self.by_location(named)[-1] if named else None

    def outside_interfaces(self, type: int) -> list[tuple[Ref, frozenset[str]]]:
        """The external interfaces that a type satisfies, each with the names of its methods."""
        if self._outside is not None:
            return self._outside.get(type, [])
        links = outbound(self._store, self.ref(type), ("IMPLEMENTS",))
        return [(link.symbol, frozenset(link.evidence.split()[1:])) for link in links if link.symbol.external]

    def read_outside_interfaces(self) -> None:
        """Read those of all types at once, for a caller that needs most of them. The file must match the graph."""
        self._outside = {}
        statement = "MATCH (a:Symbol)-[e:IMPLEMENTS]->(b:External) RETURN a.id, b.id, e.evidence ORDER BY a.id, b.id"
        for type_id, interface_id, evidence in self._store.rows(statement):
            type, interface = self.symbol(type_id), self.external(interface_id)
            if type is not None and interface is not None:
                names = frozenset(evidence.split()[1:])
                self._outside.setdefault(type, []).append((self.ref(interface), names))

    @cached_property
    def _flow(self) -> InterfaceFlow:
        return interface_flow(self._store, self._satisfied_interfaces, self.current_adjacency)

    def _satisfied_interfaces(self, type: str) -> Iterable[str]:
        number = self.symbol(type) if self._adjacency is not None else None
        if number is None or not self._is_file_valid_for(number):
            return satisfied_interfaces(self._store, type)
        found = self.outbound(number, "IMPLEMENTS")
        return [self.ref(one).id for one in found if not self.is_external(one)]

    @cached_property
    def _unnamed(self) -> UnnamedInterfaces:
        return unnamed_interfaces(self._store)

    def is_required(self, method: int) -> bool:
        """Whether some interface may require a method of this name. Not asked of the graph if this process has read all
        conversions, which takes several times as long: then the answer is True."""
        if self._is_flow_known:
            return True
        name = self.ref(method).name
        if self._adjacency is not None:
            return name in self._drifted_names or self._adjacency.has_interface_method(name)
        if name not in self._required:
            self._required[name] = self._is_name_of_external(name) or self._is_interface_method(name)
        return self._required[name]

    def _is_name_of_external(self, name: str) -> bool:
        statement = "MATCH (e:External) WHERE e.id ENDS WITH $ending RETURN e.id LIMIT 1"
        return any(True for _ in self._store.rows(statement, {"ending": f".{name}"}))

    def _is_interface_method(self, name: str) -> bool:
        """Whether an interface of the repository has a method of this name. Each look-up scans all symbols, so after
        a few, all names are read."""
        if len(self._required) >= _FEW_NAMES:
            return name in self._interface_methods
        statement = "MATCH (s:Symbol) WHERE s.name = $name AND s.kind = 'imethod' RETURN s.id LIMIT 1"
        return any(True for _ in self._store.rows(statement, {"name": name}))

    @cached_property
    def _interface_methods(self) -> frozenset[str]:
        rows = self._store.rows("MATCH (s:Symbol) WHERE s.kind = 'imethod' RETURN DISTINCT s.name")
        return frozenset(name for (name,) in rows)

    @cached_property
    def _drifted_names(self) -> frozenset[str]:
        """The names of nodes that changed since the file was built."""
        names = (self._adjacency.id(one).rpartition(".")[2] for one in self._changed) if self._adjacency else ()
        return frozenset((*names, *(id.rpartition(".")[2] for id in self._new)))

    @cached_property
    def _is_flow_known(self) -> bool:
        return is_flow_known(self._store)

    def unnamed_methods(self) -> list[int]:
        """The methods of unnamed interfaces that the repository calls."""
        found = (self.external(id) for id in sorted(self._unnamed.fitting))
        return [one for one in found if one is not None]

    def fitting(self, required: int) -> list[int]:
        """The methods that fit a method of an unnamed interface (see `unnamed_interfaces`)."""
        found = (self.symbol(id) for id in self._unnamed.fitting.get(self.ref(required).id, ()))
        return [one for one in found if one is not None]

    def required_by_unnamed(self, method: int) -> list[int]:
        """The methods of unnamed interfaces that a method fits."""
        found = (self.external(id) for id in self._unnamed.required.get(self.ref(method).id, ()))
        return [one for one in found if one is not None]

    def is_unnamed(self, method: int) -> bool:
        """Whether it is a method of an interface that is no symbol."""
        return self.is_external(method) and is_unnamed(self.ref(method).id)

    def callers_through(self, method: int) -> Sequence[int]:
        """Who calls an interface method, or uses it as a value if the interface is unnamed."""
        return self.inbound(method, "INVOKES" if self.is_unnamed(method) else "CALLS")

    def gets_outside(self, type: int) -> bool:
        """Whether values of a type get into an interface that the repository does not declare."""
        return self._flow.reaches(self.ref(type).id, OUTSIDE)

    def gets_into(self, type: int, interface: int) -> bool:
        """Whether values of a type get into an interface somewhere in the repository."""
        outside = self.is_external(interface)
        return self._flow.reaches(self.ref(type).id, OUTSIDE if outside else self.ref(interface).id)

    def converted_to(self, interface: int) -> list[int]:
        """The types that are converted to an interface of the repository itself."""
        if self.is_external(interface):
            return []
        found = (self.symbol(id) for id in sorted(self._flow.direct.get(self.ref(interface).id, ())))
        return [one for one in found if one is not None]

    def conversions_of(self, type: int) -> list[int]:
        """The interfaces of the repository that a type is converted to."""
        found = (self.symbol(id) for id in sorted(self._flow.targets.get(self.ref(type).id, ())) if id != OUTSIDE)
        return [one for one in found if one is not None and self.kind(one) in ("interface", "alias")]

    def by_location(self, numbers: Collection[int]) -> list[int]:
        """The numbers, sorted by location."""
        if self._adjacency is not None and self._changed.isdisjoint(numbers) and max(numbers, default=0) < self._first:
            return sorted(numbers, key=self._adjacency.location_order.__getitem__)
        return sorted(numbers, key=lambda number: by_location(self.ref(number)))

    def own_members(self, types: Iterable[int], name: str) -> dict[int, int]:
        """For each of these types, its own member of that name. Omits types without one, or where it is uncertain."""
        found: dict[int, int] = {}
        unread: list[int] = []
        for type in types:
            if not self._is_file_valid_for(type):
                unread.append(type)
            elif (own := self.member(type, name)) is not None:
                found[type] = own
        return {**found, **self._plain_members(unread, name)}

    def _plain_members(self, types: Iterable[int], name: str) -> dict[int, int]:
        """Members whose id is that of the type, a dot and the name, as most are: one look-up for all types."""
        unread: dict[str, int] = {}
        found: dict[int, int] = {}
        for type in types:
            key = (type, name)
            if key not in self._members:
                unread[self.ref(type).id] = type
                self._members[key] = None
            elif (known := self._members[key]) is not None:
                found[type] = known
        for symbol in symbols(self._store, [f"{id}.{name}" for id in unread]) if unread else ():
            if symbol.owner in unread:
                type = unread[symbol.owner]
                found[type] = self._members[type, name] = self.number(symbol)
        return found

    def _is_file_valid_for(self, number: int) -> bool:
        return number < self._first and number not in self._changed

    def _neighbours(self, number: int, label: str, direction: str) -> Sequence[int]:
        link = label + direction
        if self._adjacency is not None and self._is_file_valid_for(number):
            found = self._adjacency.neighbours(number, link)
            # Removing a node removes its edges, and the change log does not always list these.
            return [one for one in found if one not in self._gone] if self._gone else found
        known = self.asked.get((number, link))
        if known is None:
            known = self.asked[number, link] = self._from_engine(self.ref(number), label, direction)
        return known

    def embedding(self, number: int, direction: str) -> Sequence[int]:
        """The types of the repository that a type embeds (`>`), or that embed it (`<`)."""
        if self._tables is None or self._is_file_valid_for(number):
            found = self._neighbours(number, "EMBEDS", direction)
            return [one for one in found if not self.is_external(one)]
        ids = (self._tables.embeds if direction == ">" else self._tables.embedded_in).get(self.ref(number).id, ())
        return [one for id in ids if (one := self.symbol(id)) is not None]

    def _from_engine(self, end: Ref, label: str, direction: str) -> list[int]:
        if label == "CONTAINS":
            return [self.number(member) for member in members(self._store, end.id)]
        links = inbound(self._store, end, (label,)) if direction == "<" else outbound(self._store, end, (label,))
        return [self.number(one) for one in sorted((link.symbol for link in links), key=_by_id)]


def _by_id(symbol: Ref) -> tuple[bool, str]:
    return symbol.external, symbol.id


def open_steps(store: Store) -> Steps:
    adjacency, drift = _open_current(store)
    tables = count_question(store) if adjacency is None else None
    return Steps(store, adjacency, drift, tables)


def is_adjacency_due(store: Store) -> bool:
    """Whether the adjacency file should be built, or built again."""
    adjacency, drift = _open_current(store)
    return adjacency is None or len(drift.changed) > _MOST_TOUCHED


_drifts: Final[dict[Path, tuple[str, str, Drift]]] = {}
"""The last drift of each store: looking up thousands of ids takes longer than a question may."""


def _open_current(store: Store) -> tuple[Adjacency | None, Drift]:
    adjacency = open_adjacency(store.directory)
    if adjacency is None:
        return None, Drift()
    generation = store.generation
    built_from, valid_for, drift = _drifts.get(store.directory, ("", "", Drift()))
    if (built_from, valid_for) != (adjacency.generation, generation):
        changes = changed_nodes_since(store.directory, adjacency.generation, generation)
        if changes is None:
            return None, Drift()
        gone, _ = _numbers(adjacency, changes.removed)
        changed, new = _numbers(adjacency, changes.changed)
        drift = Drift(changed | gone, gone, new)
        _drifts[store.directory] = (adjacency.generation, generation, drift)
    return adjacency, drift


def _numbers(adjacency: Adjacency, ids: Iterable[str]) -> tuple[frozenset[int], frozenset[str]]:
    """The numbers of these ids, and the ids that have no number as a symbol or none as an external node."""
    found: set[int] = set()
    unknown: set[str] = set()
    for id in ids:
        both = (adjacency.number(id), adjacency.number(id, external=True))
        found.update(number for number in both if number is not None)
        if None in both:
            unknown.add(id)  # it may be new as the other kind of node
    return frozenset(found), frozenset(unknown)
