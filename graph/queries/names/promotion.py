"""Promotion: the members that a type gets from the types it embeds, by Go's rule of depth."""

from __future__ import annotations

from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import external, members, outbound

_DEEPEST: Final = 8
"""Most levels of embedding that are followed; Go code rarely has three."""


def promoted_members(store: Store, type: Ref, name: str, *, fold: bool = False) -> list[Ref]:
    """The members with this name in the shallowest embedded types that have one. Go rejects a selector with several.

    Of an external type, only members that the repository uses are known.
    """
    level, seen = [type], {type.id}
    for _ in range(_DEEPEST):
        embedded = [link.symbol for holder in level for link in outbound(store, holder, ("EMBEDS",))]
        level = [one for one in embedded if one.id not in seen]
        seen.update(one.id for one in level)
        found = [member for holder in level for member in _own(store, holder, name, fold=fold)]
        if found or not level:
            return found
    return []


def _own(store: Store, holder: Ref, name: str, *, fold: bool) -> list[Ref]:
    if holder.external:
        found = external(store, f"{holder.id}.{name}")
        return [] if found is None else [found]
    wanted = name.lower() if fold else name
    return [one for one in members(store, holder.id) if (one.name.lower() if fold else one.name) == wanted]
