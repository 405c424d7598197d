"""The uses in the repository of what an API change concerns: the places to look at after a breaking change.

The answers are those of the learned graph. A use of something that was removed is unresolved in it, if it was learned
after the removal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from golore.graph.changes.api_change import ApiChange, Release
from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES
from golore.graph.queries.answers import Link, Ref, UnresolvedUse
from golore.graph.queries.edges import all_unresolved_uses, in_order, inbound, symbols_where


@dataclass(frozen=True, slots=True)
class BreakingChange:
    """An API change with its users, and the unresolved uses of a name that was removed."""

    change: ApiChange
    users: tuple[Link, ...]
    unresolved: tuple[UnresolvedUse, ...]


@dataclass(frozen=True, slots=True)
class BreakingReport:
    """`uncertain` are changes that may break something: a type is not known, because its source is missing."""

    base: str
    target: str
    breaking: tuple[BreakingChange, ...]
    uncertain: tuple[BreakingChange, ...]
    compatible: tuple[ApiChange, ...]
    releases: tuple[Release, ...]


def with_users(store: Store, changes: Iterable[ApiChange]) -> tuple[BreakingChange, ...]:
    """The changes, each with its users."""
    changes = tuple(changes)
    names = sorted({change.qualified_name for change in changes if change.name})
    subjects: dict[str, list[Ref]] = {}
    for symbol in symbols_where(store, "s.qualified_name IN $names", names=names) if names else ():
        subjects.setdefault(symbol.qualified_name, []).append(symbol)
    return tuple(_with_users(store, change, subjects.get(change.qualified_name, [])) for change in changes)


def _with_users(store: Store, change: ApiChange, subjects: list[Ref]) -> BreakingChange:
    links = [link for symbol in subjects for link in inbound(store, symbol, USES)]
    unresolved = () if subjects or not change.name else _unresolved(store, change)
    return BreakingChange(change, in_order(links), unresolved)


def _unresolved(store: Store, change: ApiChange) -> tuple[UnresolvedUse, ...]:
    owner, _, name = change.name.rpartition(".")
    found = all_unresolved_uses(store, name)
    # Of a member, any use of the name may be one.
    return tuple(use for use in found if owner or change.package in use.reason)
