"""Calls through interfaces: the methods that may run, and the interface methods through which a method may be called.

Both follow from `IMPLEMENTS`, embedding and the flow of types into interfaces, and are possible, not certain: they are
candidates. A type that satisfies an interface but gets into it nowhere in the repository is no candidate; such methods
are possible *by shape* only, and counted. Generic types have no `IMPLEMENTS` edges: they are covered where they are
converted to the interface itself. Symbols are numbers (see `symbol_steps`).
"""

from __future__ import annotations

from typing import Final

from golore.graph.queries.symbol_steps import Steps
from golore.graph.queries.unnamed_interfaces import methods_of

_DEEPEST: Final = 8
"""Most levels of embedding that are followed; Go code rarely has three."""


class InterfaceDispatch:
    """The types of a store with their methods. Create one for each question."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._promoted: dict[tuple[int, str], int | None] = {}

    def implementations(self, method: int) -> list[int]:
        """The methods that may run when this interface method is called; none for other symbols."""
        return self._steps.by_location(self.split(method)[0])

    def split(self, method: int) -> tuple[set[int], set[int]]:
        """The candidates for a call of an interface method, and the methods that are possible by shape only."""
        steps = self._steps
        if steps.is_unnamed(method):
            return self._split_unnamed(method)
        interface = self._owner(method) if steps.kind(method) == "imethod" else None
        if interface is None:
            return set(), set()
        satisfying = list(steps.inbound(interface, "IMPLEMENTS"))
        converted = steps.converted_to(interface)
        own = steps.own_members(satisfying, steps.ref(method).name)
        candidates: set[int] = set()
        others: set[int] = set()
        for type in dict.fromkeys((*satisfying, *converted)):
            target = own.get(type)
            if target is None:
                target = self.method_of(type, steps.ref(method).name)
            if target is not None and target != method and steps.kind(target) in ("method", "imethod"):
                (candidates if steps.gets_into(type, interface) else others).add(target)
        return candidates, others

    def _split_unnamed(self, required: int) -> tuple[set[int], set[int]]:
        candidates: set[int] = set()
        others: set[int] = set()
        for method in self._steps.fitting(required):
            satisfying = [type for type in self.holders(method) if self.may_satisfy(type, required)]
            if satisfying:
                is_there = any(map(self._steps.gets_outside, satisfying))
                (candidates if is_there else others).add(method)
        return candidates, others

    def may_satisfy(self, type: int, required: int) -> bool:
        """Whether a type may have all methods of an unnamed interface; unknown if it embeds an external type."""
        names = [name.rpartition(".")[2] for name in methods_of(self._steps.ref(required).id)]
        return all(self.method_of(type, name) is not None or self._embeds_external(type) for name in names)

    def _embeds_external(self, type: int) -> bool:
        level, seen = [type], {type}
        for _ in range(_DEEPEST):
            embedded = [one for holder in level for one in self._steps.outbound(holder, "EMBEDS") if one not in seen]
            if any(map(self._steps.is_external, embedded)):
                return True
            level = embedded
            seen.update(embedded)
        return False

    def method_of(self, type: int, name: str) -> int | None:
        """A type's own member of that name, or the one promoted from the shallowest embedded type."""
        # Many interfaces that a type satisfies require the same method.
        key = (type, name)
        if key not in self._promoted:
            self._promoted[key] = self._find_method(type, name)
        return self._promoted[key]

    def _find_method(self, type: int, name: str) -> int | None:
        level, seen = [type], {type}
        for _ in range(_DEEPEST):
            for holder in level:
                own = self._steps.member(holder, name)
                if own is not None:
                    return own
            embedded = [one for holder in level for one in self._steps.embedding(holder, ">")]
            level = [one for one in dict.fromkeys(embedded) if one not in seen]
            seen.update(level)
            if not level:
                break
        return None

    def interface_methods(self, method: int) -> list[int]:
        """The interface methods through which a method may be called, also by way of types that promote it."""
        return self._required_by(method, by_shape=False)

    def named_interface_methods(self, method: int) -> list[int]:
        """Like `interface_methods`, without those of unnamed interfaces, which take a scan to find."""
        return self._named(method, by_shape=False) if self._may_be_required(method) else []

    def interface_methods_by_shape(self, method: int) -> list[int]:
        """Those through which it would be called if its type got into the interface."""
        return self._required_by(method, by_shape=True)

    def _required_by(self, method: int, *, by_shape: bool) -> list[int]:
        if not self._may_be_required(method):
            return []
        return self._named(method, by_shape=by_shape) + self._unnamed(method, by_shape=by_shape)

    def _may_be_required(self, method: int) -> bool:
        return self._steps.kind(method) in ("method", "imethod") and self._steps.is_required(method)

    def _unnamed(self, method: int, *, by_shape: bool) -> list[int]:
        """The methods of unnamed interfaces through which a method may be called, or would be."""
        steps = self._steps
        if steps.is_external(method) or steps.kind(method) not in ("method", "imethod"):
            return []
        required = steps.required_by_unnamed(method)
        if not required:
            return []
        holders = self.holders(method)
        found: list[int] = []
        for one in required:
            satisfying = [type for type in holders if self.may_satisfy(type, one)]
            if satisfying and any(map(steps.gets_outside, satisfying)) != by_shape:
                found.append(one)
        return found

    def outside_interfaces(self, method: int) -> list[str]:
        """The external interfaces that require this method and that its type, or one that promotes it, satisfies."""
        name = self._steps.ref(method).name
        if not name[:1].isupper():
            return []  # an unexported name means nothing in other packages
        return sorted(
            {
                interface.qualified_name
                for type in self.types_with(method)
                for interface, required in self._steps.outside_interfaces(type)
                if name in required
            }
        )

    def _named(self, method: int, *, by_shape: bool) -> list[int]:
        """The methods of this name in interfaces that a type with this method satisfies and gets into, or does not get
        into."""
        steps, name = self._steps, self._steps.ref(method).name
        required: dict[int, int | None] = {}
        entered: dict[int, int] = {}
        others: dict[int, int] = {}
        satisfied = {
            type: (*steps.outbound(type, "IMPLEMENTS"), *steps.conversions_of(type)) for type in self.types_with(method)
        }
        every = dict.fromkeys(one for interfaces in satisfied.values() for one in interfaces)
        # One look-up for all of them; those where it is uncertain are asked for one by one.
        steps.own_members([one for one in every if not steps.is_external(one)], name)
        for type, interfaces in satisfied.items():
            for interface in interfaces:
                if interface not in required:
                    required[interface] = self._interface_method(interface, name)
                # Most interfaces require other methods, and finding out what a type gets into takes longer.
                if (own := required[interface]) is not None:
                    (entered if steps.gets_into(type, interface) else others)[interface] = own
        if by_shape:
            return steps.by_location([own for interface, own in others.items() if interface not in entered])
        return steps.by_location(list(entered.values()))

    def types_with(self, method: int) -> list[int]:
        """The type of a method and the types that promote it; none for other symbols."""
        if self._steps.kind(method) != "method" or self._steps.is_external(method):
            return []
        return self.holders(method)

    def holders(self, method: int) -> list[int]:
        """The type that declares a method and those that promote it; for an interface method, also interfaces."""
        steps = self._steps
        owner = self._owner(method)
        level, seen = [] if owner is None else [owner], set[int]() if owner is None else {owner}
        name = steps.ref(method).name
        types: list[int] = []
        for _ in range(_DEEPEST):
            types += level
            outer = [one for type in level for one in steps.embedding(type, "<")]
            level = [type for type in outer if type not in seen and steps.member(type, name) is None]
            seen.update(outer)
            if not level:
                break
        return types

    def _interface_method(self, interface: int, name: str) -> int | None:
        if self._steps.is_external(interface):
            return self._steps.external(f"{self._steps.ref(interface).id}.{name}")
        return self._steps.member(interface, name)

    def _owner(self, method: int) -> int | None:
        symbol = self._steps.ref(method)
        if symbol.external:
            return self._steps.external(symbol.id.removesuffix(f".{symbol.name}"))
        return self._steps.symbol(symbol.owner)
