"""One step from symbol to symbol, for searches of many: from the mapped file where it is good, else from the graph.

Symbols have numbers here. What `touched` says has changed since the file was made, and everything where there is no
file, is asked of the engine and remembered for as long as the question lasts. Neighbours come in the order of their
ids, those outside the repository last, wherever they are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.change_log import changed_nodes_since
from golore.graph.database.store import Store
from golore.graph.queries.adjacency_file import SEVERAL, Adjacency, open_adjacency
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, inbound, members, outbound, symbols
from golore.graph.queries.edges import external as outside_of

_MOST_TOUCHED: Final = 5_000
"""Nodes that may have to be asked of the engine before the file is worth making again."""
_MANY: Final = 100
"""Questions to the engine, some 10 ms, by which a search has missed the file."""


class _Drift(NamedTuple):
    """Numbers of the file that are not to be trusted: of nodes that have changed, and of those once removed. And the
    ids of nodes that it does not have."""

    changed: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    new: frozenset[str] = frozenset()


class Steps:
    """The symbols of an open store and their neighbours. Make one for each question, with `open_steps`."""

    def __init__(self, store: Store, mapped: Adjacency | None, drift: _Drift) -> None:
        self._store = store
        self._mapped = mapped
        self._next = self._first = mapped.total if mapped is not None else 0
        """Numbers from the first on are of nodes that the file does not have."""
        self._refs: dict[int, Ref] = {}
        self._numbers: dict[tuple[bool, str], int] = {}
        self.asked: dict[tuple[int, str], list[int]] = {}
        """What had to be asked of the engine: the neighbours of a symbol over a relation."""
        self._changed, self._gone, self._new = drift

    @property
    def is_mapping_worth_it(self) -> bool:
        """Whether what was asked so far would have been quicker with a file, or with a newer one."""
        is_due = self._mapped is None or len(self._changed) > _MOST_TOUCHED
        return is_due and len(self.asked) > _MANY

    def number(self, symbol: Ref) -> int:
        key = (symbol.external, symbol.id)
        known = self._numbers.get(key)
        if known is None:
            if self._mapped is not None:
                known = self._mapped.number(symbol.id, external=symbol.external)
            if known is None:
                known = self._next
                self._next += 1
            self._numbers[key] = known
            self._refs[known] = symbol
        return known

    def symbol(self, id: str) -> int | None:
        """The symbol of the repository that has this id."""
        return self._with_id(id, external=False)

    def outside(self, id: str) -> int | None:
        """The same for what lies outside."""
        return self._with_id(id, external=True)

    def _with_id(self, id: str, *, external: bool) -> int | None:
        known = self._numbers.get((external, id))
        if known is None and self._mapped is not None:
            known = self._mapped.number(id, external=external)
            if known is None and id not in self._new:
                return None
            if known is not None and not self._is_mapped(known):
                known = None
        if known is None:
            found = self._look_up(id, external=external)
            known = None if found is None else self.number(found)
        return known

    def ref(self, number: int) -> Ref:
        known = self._refs.get(number)
        if known is None:
            assert self._mapped is not None, "every other number was given to a symbol"
            known = self._mapped.ref(number)
            if number in self._changed:
                known = self._look_up(known.id, external=known.external) or known
            self._refs[number] = known
        return known

    def _look_up(self, id: str, *, external: bool) -> Ref | None:
        return outside_of(self._store, id) if external else next(iter(symbols(self._store, [id])), None)

    def refs(self, numbers: Iterable[int]) -> list[Ref]:
        return [self.ref(number) for number in numbers]

    def kind(self, number: int) -> str:
        if self._mapped is not None and self._is_mapped(number):
            return self._mapped.kind(number)
        return self.ref(number).kind

    def is_outside(self, number: int) -> bool:
        if self._mapped is not None and number < self._first:
            return number >= self._mapped.symbols
        return self.ref(number).external

    def inbound(self, number: int, label: str) -> Sequence[int]:
        return self._neighbours(number, label, "<")

    def outbound(self, number: int, label: str) -> Sequence[int]:
        return self._neighbours(number, label, ">")

    def member(self, type: int, name: str) -> int | None:
        """A type's own method or field of a name; of twins, the last by its place."""
        if self._mapped is not None and self._is_mapped(type):
            found = self._mapped.owned(name).get(type)
            if found is None or (found != SEVERAL and found not in self._changed):
                return found
        named = [one for one in self._neighbours(type, "CONTAINS", ">") if self.ref(one).name == name]
        return self.by_location(named)[-1] if named else None

    def by_location(self, numbers: Collection[int]) -> list[int]:
        """In the order of their places."""
        if self._mapped is not None and self._changed.isdisjoint(numbers) and max(numbers, default=0) < self._first:
            return sorted(numbers, key=self._mapped.places.__getitem__)
        return sorted(numbers, key=lambda number: by_location(self.ref(number)))

    def own_members(self, types: Iterable[int], name: str) -> dict[int, int]:
        """Of each of these types, its own member of that name; left out where it has none or that is not sure."""
        found: dict[int, int] = {}
        asked: dict[str, int] = {}
        for type in types:
            if not self._is_mapped(type):
                asked[self.ref(type).id] = type
            elif (own := self.member(type, name)) is not None:
                found[type] = own
        # Most have it under the id that follows from theirs: one look-up for all.
        for symbol in symbols(self._store, [f"{id}.{name}" for id in asked]) if asked else ():
            if symbol.owner in asked:
                found[asked[symbol.owner]] = self.number(symbol)
        return found

    def _is_mapped(self, number: int) -> bool:
        return number < self._first and number not in self._changed

    def _neighbours(self, number: int, label: str, direction: str) -> Sequence[int]:
        link = label + direction
        if self._mapped is not None and self._is_mapped(number):
            found = self._mapped.neighbours(number, link)
            # An edge goes with its end, and is not always noted by itself.
            return [one for one in found if one not in self._gone] if self._gone else found
        known = self.asked.get((number, link))
        if known is None:
            known = self.asked[number, link] = self._from_engine(self.ref(number), label, direction)
        return known

    def _from_engine(self, end: Ref, label: str, direction: str) -> list[int]:
        if label == "CONTAINS":
            return [self.number(member) for member in members(self._store, end.id)]
        links = inbound(self._store, end, (label,)) if direction == "<" else outbound(self._store, end, (label,))
        return [self.number(one) for one in sorted((link.symbol for link in links), key=_by_id)]


def _by_id(symbol: Ref) -> tuple[bool, str]:
    return symbol.external, symbol.id


def open_steps(store: Store) -> Steps:
    mapped, drift = _current(store)
    return Steps(store, mapped, drift)


def is_mapping_due(store: Store) -> bool:
    """Whether the file should be made, or made again."""
    mapped, drift = _current(store)
    return mapped is None or len(drift.changed) > _MOST_TOUCHED


_drifts: Final[dict[Path, tuple[str, str, _Drift]]] = {}
"""The last one of each store: to look up thousands of ids takes longer than a question may."""


def _current(store: Store) -> tuple[Adjacency | None, _Drift]:
    mapped = open_adjacency(store.directory)
    if mapped is None:
        return None, _Drift()
    now = store.generation
    made_of, until, drift = _drifts.get(store.directory, ("", "", _Drift()))
    if (made_of, until) != (mapped.generation, now):
        touched = changed_nodes_since(store.directory, mapped.generation, now)
        if touched is None:
            return None, _Drift()
        gone, _ = _numbers(mapped, touched.gone)
        changed, new = _numbers(mapped, touched.changed)
        drift = _Drift(changed | gone, gone, new)
        _drifts[store.directory] = (mapped.generation, now, drift)
    return mapped, drift


def _numbers(mapped: Adjacency, ids: Iterable[str]) -> tuple[frozenset[int], frozenset[str]]:
    """The numbers of some ids, and those that have none."""
    found: set[int] = set()
    unknown: set[str] = set()
    for id in ids:
        either = (mapped.number(id), mapped.number(id, external=True))
        found.update(number for number in either if number is not None)
        if None in either:
            unknown.add(id)  # it may also be new as the other sort
    return frozenset(found), frozenset(unknown)
