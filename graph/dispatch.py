"""Calls through interfaces: what may stand behind an interface's method, and through which a method may be called.

What follows from `IMPLEMENTS` and embedding is possible, not certain: these are candidates. Generic types have no
`IMPLEMENTS` edges, so nothing is said of them here.
"""

from __future__ import annotations

from typing import Final

from golore.graph.answers import Ref
from golore.graph.lookup import by_place, external, inbound, member, outbound, symbols
from golore.graph.store import Store

_DEEPEST: Final = 8
"""Levels of embedding that are followed; Go code rarely has three."""


def implementations(store: Store, method: Ref) -> list[Ref]:
    """The methods that may run when this method of an interface is called."""
    interface = _owner(store, method)
    if method.kind != "imethod" or interface is None:
        return []
    types = [link.symbol for link in inbound(store, interface, ("IMPLEMENTS",))]
    # Most have the method themselves, under the id that follows from theirs: one look-up for all of those.
    own = {found.owner: found for found in symbols(store, [f"{type.id}.{method.name}" for type in types])}
    found: dict[str, Ref] = {}
    for type in types:
        target = own.get(type.id) or method_of(store, type, method.name)
        if target is not None and target.kind in ("method", "imethod") and target.id != method.id:
            found[target.id] = target
    return sorted(found.values(), key=by_place)


def method_of(store: Store, type: Ref, name: str) -> Ref | None:
    """A type's own member of that name, or the one promoted from the shallowest embedded type."""
    level, seen = [type], {type.id}
    for _ in range(_DEEPEST):
        for holder in level:
            own = member(store, holder.id, name)
            if own is not None:
                return own
        embedded = [link.symbol for holder in level for link in outbound(store, holder, ("EMBEDS",))]
        level = [symbol for symbol in embedded if not symbol.external and symbol.id not in seen]
        seen.update(symbol.id for symbol in level)
        if not level:
            break
    return None


def interface_methods(store: Store, method: Ref) -> list[Ref]:
    """The methods of interfaces through which a method may be called, those of types that promote it included."""
    if method.kind != "method" or method.external:
        return []
    found: dict[str, Ref] = {}
    level, seen = symbols(store, [method.owner]), {method.owner}
    for _ in range(_DEEPEST):
        for type in level:
            for link in outbound(store, type, ("IMPLEMENTS",)):
                own = _interface_method(store, link.symbol, method.name)
                if own is not None:
                    found[own.id] = own
        outer = [link.symbol for type in level for link in inbound(store, type, ("EMBEDS",))]
        level = [type for type in outer if type.id not in seen and member(store, type.id, method.name) is None]
        seen.update(type.id for type in outer)
        if not level:
            break
    return sorted(found.values(), key=by_place)


def _interface_method(store: Store, interface: Ref, name: str) -> Ref | None:
    if interface.external:
        return external(store, f"{interface.id}.{name}")
    return member(store, interface.id, name)


def _owner(store: Store, method: Ref) -> Ref | None:
    if method.external:
        return external(store, method.id.removesuffix(f".{method.name}"))
    return next(iter(symbols(store, [method.owner])), None)
