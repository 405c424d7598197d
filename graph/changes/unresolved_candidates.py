"""The possible targets of uses that could not be resolved."""

from __future__ import annotations

from golore.graph.database.store import Store
from golore.graph.queries.symbol_steps import Steps


def unresolved_candidates(store: Store, steps: Steps) -> dict[int, list[int]]:
    """For each declaration with such uses, by number."""
    found: dict[int, list[int]] = {}
    statement = "MATCH (u:Unresolved) WHERE size(u.candidates) > 0 RETURN u.source, u.candidates ORDER BY u.id"
    for source, ids in store.rows(statement):
        user = steps.symbol(source)
        targets = [target for id in ids if (target := steps.symbol(id)) is not None]
        if user is not None and targets:
            found.setdefault(user, []).extend(targets)
    return found
