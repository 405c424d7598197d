"""Calls through interfaces: what may stand behind an interface's method, and through which a method may be called.

What follows from `IMPLEMENTS` and embedding is possible, not certain: these are candidates. Generic types have no
`IMPLEMENTS` edges, so nothing is said of them here.
"""

from __future__ import annotations

from typing import Final

from golore.graph.answers import Ref
from golore.graph.lookup import by_place, external, inbound, members, outbound, symbols
from golore.graph.store import Store

_DEEPEST: Final = 8
"""Levels of embedding that are followed; Go code rarely has three."""


class Types:
    """The types of a store with their methods. Remembers what it has looked up: make one for each question."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._members: dict[str, dict[str, Ref]] = {}
        self._neighbours: dict[tuple[str, str], list[Ref]] = {}

    def implementations(self, method: Ref) -> list[Ref]:
        """The methods that may run when this method of an interface is called."""
        interface = self._owner(method)
        if method.kind != "imethod" or interface is None:
            return []
        types = [link.symbol for link in inbound(self._store, interface, ("IMPLEMENTS",))]
        # Most have the method themselves, under the id that follows from theirs: one look-up for all of those.
        guesses = symbols(self._store, [f"{type.id}.{method.name}" for type in types])
        own = {found.owner: found for found in guesses}
        found: dict[str, Ref] = {}
        for type in types:
            target = own.get(type.id) or self.method_of(type, method.name)
            if target is not None and target.kind in ("method", "imethod") and target.id != method.id:
                found[target.id] = target
        return sorted(found.values(), key=by_place)

    def method_of(self, type: Ref, name: str) -> Ref | None:
        """A type's own member of that name, or the one promoted from the shallowest embedded type."""
        level, seen = [type], {type.id}
        for _ in range(_DEEPEST):
            for holder in level:
                own = self._member(holder.id, name)
                if own is not None:
                    return own
            embedded = [symbol for holder in level for symbol in self._embedded(holder)]
            level = [symbol for symbol in embedded if not symbol.external and symbol.id not in seen]
            seen.update(symbol.id for symbol in level)
            if not level:
                break
        return None

    def interface_methods(self, method: Ref) -> list[Ref]:
        """The methods of interfaces through which a method may be called, those of types that promote it included."""
        found = (self._interface_method(interface, method.name) for interface in self._satisfied(method))
        return sorted((one for one in found if one is not None), key=by_place)

    def outside_interfaces(self, method: Ref) -> list[str]:
        """The interfaces outside that a type with this method satisfies. Whether they ask for it is not stored."""
        if not method.name[:1].isupper():
            return []  # a name without a capital means nothing in other packages
        return sorted(interface.qualified_name for interface in self._satisfied(method) if interface.external)

    def _satisfied(self, method: Ref) -> list[Ref]:
        if method.kind != "method" or method.external:
            return []
        interfaces: dict[str, Ref] = {}
        level, seen = symbols(self._store, [method.owner]), {method.owner}
        for _ in range(_DEEPEST):
            for type in level:
                interfaces.update((interface.id, interface) for interface in self._interfaces(type))
            outer = [symbol for type in level for symbol in self._embedders(type)]
            level = [type for type in outer if type.id not in seen and self._member(type.id, method.name) is None]
            seen.update(type.id for type in outer)
            if not level:
                break
        return list(interfaces.values())

    def _interface_method(self, interface: Ref, name: str) -> Ref | None:
        if interface.external:
            return external(self._store, f"{interface.id}.{name}")
        return self._member(interface.id, name)

    def _owner(self, method: Ref) -> Ref | None:
        if method.external:
            return external(self._store, method.id.removesuffix(f".{method.name}"))
        return next(iter(symbols(self._store, [method.owner])), None)

    def _member(self, owner: str, name: str) -> Ref | None:
        known = self._members.get(owner)
        if known is None:
            known = self._members[owner] = {member.name: member for member in members(self._store, owner)}
        return known.get(name)

    def _embedded(self, type: Ref) -> list[Ref]:
        known = self._neighbours.get(("embedded", type.id))
        if known is None:
            known = [link.symbol for link in outbound(self._store, type, ("EMBEDS",))]
            self._neighbours["embedded", type.id] = known
        return known

    def _embedders(self, type: Ref) -> list[Ref]:
        known = self._neighbours.get(("embedders", type.id))
        if known is None:
            known = [link.symbol for link in inbound(self._store, type, ("EMBEDS",))]
            self._neighbours["embedders", type.id] = known
        return known

    def _interfaces(self, type: Ref) -> list[Ref]:
        known = self._neighbours.get(("interfaces", type.id))
        if known is None:
            known = [link.symbol for link in outbound(self._store, type, ("IMPLEMENTS",))]
            self._neighbours["interfaces", type.id] = known
        return known
