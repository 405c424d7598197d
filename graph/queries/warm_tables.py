"""Small tables of a graph that spare the questions of a long-running process many queries to the engine.

They are read at the second question about a graph: a process that asks only one is quicker without them. They hold what
is small in every repository: embeddings, members with unusual ids, and the names of unresolved uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store

Ids = dict[str, tuple[str, ...]]


class WarmTables(NamedTuple):
    embeds: Ids
    """Type → the types of the repository that it embeds, by id."""
    embedded_in: Ids
    """The inverse of `embeds`."""
    odd_members: dict[str, frozenset[str]]
    """Type → names of its members whose id is not the id of the type, a dot and the name: twins, for instance."""
    unresolved: frozenset[str]
    """The names of unresolved uses."""


_last: Final[dict[Path, tuple[str, WarmTables | None]]] = {}
"""The tables of each store, with the generation of its graph; None after the first question."""


def count_question(store: Store) -> WarmTables | None:
    """The tables, for a question that begins; None if it is the first one about this graph."""
    generation = store.generation
    known_for, tables = _last.get(store.directory, ("", None))
    if known_for != generation:
        _last[store.directory] = (generation, None)
        return None
    if tables is None:
        tables = _read(store)
        _last[store.directory] = (generation, tables)
    return tables


def has_unresolved(store: Store, names: Iterable[str]) -> bool:
    """Whether there may be unresolved uses of one of these names."""
    generation, tables = _last.get(store.directory, ("", None))
    return tables is None or generation != store.generation or not tables.unresolved.isdisjoint(names)


def _read(store: Store) -> WarmTables:
    pairs = sorted(map(tuple, store.rows("MATCH (a:Symbol)-[:EMBEDS]->(b:Symbol) RETURN DISTINCT a.id, b.id")))
    odd: defaultdict[str, set[str]] = defaultdict(set)
    statement = "MATCH (s:Symbol) WHERE s.owner <> '' AND s.id <> concat(s.owner, '.', s.name) RETURN s.owner, s.name"
    for owner, name in store.rows(statement):
        odd[owner].add(name)
    names = store.rows("MATCH (u:Unresolved) RETURN DISTINCT u.name")
    return WarmTables(
        _grouped(pairs),
        _grouped(sorted((target, source) for source, target in pairs)),
        {owner: frozenset(found) for owner, found in odd.items()},
        frozenset(row[0] for row in names),
    )


def _grouped(pairs: Iterable[tuple[str, str]]) -> Ids:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for first, second in pairs:
        found[first].append(second)
    return {first: tuple(ids) for first, ids in found.items()}
