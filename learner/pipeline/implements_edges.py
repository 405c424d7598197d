"""The method tables of all packages, stored in the cache, and the `IMPLEMENTS` edges made from them.

The tables of a package depend only on its shape, and an edge only on the two tables that it joins. If few tables
changed, only the edges at those are made again. `method_sets` builds the tables and `implements` joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.files.cache_db import Cache, CachedResolution
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, External
from golore.learner.pipeline import method_tables
from golore.learner.pipeline.method_tables import Tables
from golore.learner.pipeline.package_keys import PackageKeys
from golore.learner.pipeline.resolve_workers import assignments, outside_interfaces, tables_of
from golore.learner.project.catalog import Catalog
from golore.learner.resolution.implements import Implements, implementations
from golore.learner.resolution.method_sets import MethodTable
from golore.learner.worker_pool import WorkerPool

IMPLEMENTS: Final = {label: EdgeKind("IMPLEMENTS", "Symbol", label) for label in ("Symbol", "External")}
_OUTSIDE: Final = "\0outside"
"""Cache name of the tables of external interfaces; no package has this name."""


class OutsideTables(msgspec.Struct, frozen=True, array_like=True):
    """The external interfaces that types of the repository may implement, with their nodes."""

    interfaces: list[tuple[MethodTable, External]]


class ChangedTables(NamedTuple):
    """Ids of the types and interfaces whose tables were added, removed or changed."""

    types: frozenset[str]
    interfaces: frozenset[str]


class Edges(NamedTuple):
    """`IMPLEMENTS` edges by kind, and the external nodes that they point to."""

    edges: dict[EdgeKind, list[Edge]]
    externals: list[External]


def cached_tables(cache: Cache, keys: Mapping[str, PackageKeys]) -> dict[str, Tables]:
    """The cached tables of these packages, for those that were cached with the same shape key."""
    rows = cache.get_resolutions(list(keys))
    return {row.path: method_tables.decode(row.rows) for row in rows if row.key == keys[row.path].shape}


def all_tables(
    cache: Cache,
    pool: WorkerPool,
    plan: Path,
    catalog: Catalog,
    keys: Mapping[str, PackageKeys],
    fresh: Mapping[str, Tables],
) -> dict[str, Tables]:
    """The tables of every package: `fresh`, those in the cache, and the rest, which are made here."""
    tables = {**fresh, **cached_tables(cache, {id: key for id, key in keys.items() if id not in fresh})}
    missing = frozenset(keys.keys() - tables.keys())
    for _, found in pool.run(tables_of, assignments(plan, catalog, missing)):
        for id, encoded in found or ():
            tables[id] = method_tables.decode(encoded)
    return tables


def outside_tables(cache: Cache, pool: WorkerPool, plan: Path, key: str) -> OutsideTables:
    """The tables of external interfaces. If the cache does not have them with this key, they are made again."""
    tables = cached_outside_tables(cache, key)
    if tables is None:
        (found,) = [found for _, found in pool.run(outside_interfaces, [plan])]
        tables = OutsideTables(found or [])
        cache_outside_tables(cache, key, tables)
    return tables


def cached_outside_tables(cache: Cache, key: str) -> OutsideTables | None:
    for row in cache.get_resolutions([_OUTSIDE]):
        if row.key == key:
            return msgspec.msgpack.decode(row.rows, type=OutsideTables)
    return None


def cache_outside_tables(cache: Cache, key: str, tables: OutsideTables) -> None:
    cache.set_resolutions([CachedResolution(_OUTSIDE, key, method_tables.encode(tables))])


def cache_tables(cache: Cache, keys: Mapping[str, PackageKeys], tables: Mapping[str, bytes]) -> None:
    """Write these encoded tables to the cache, and remove those of packages that no longer exist."""
    gone = cache.resolution_keys().keys() - keys.keys() - {_OUTSIDE}
    if tables or gone:
        rows = (CachedResolution(id, keys[id].shape, found) for id, found in tables.items())
        cache.set_resolutions(rows, gone)


def changed_tables(before: Mapping[str, Tables], after: Mapping[str, Tables]) -> ChangedTables:
    """The tables that differ between two states of the same packages."""
    return ChangedTables(
        _differing((t.types for t in before.values()), (t.types for t in after.values())),
        _differing((t.interfaces for t in before.values()), (t.interfaces for t in after.values())),
    )


def _differing(before: Iterable[list[MethodTable]], after: Iterable[list[MethodTable]]) -> frozenset[str]:
    old = {table.id: table for tables in before for table in tables}
    new = {table.id: table for tables in after for table in tables}
    return frozenset(id for id in old.keys() | new.keys() if old.get(id) != new.get(id))


def implements_edges(tables: Mapping[str, Tables], outside: OutsideTables, only: ChangedTables | None = None) -> Edges:
    """All `IMPLEMENTS` edges, or with `only`, those whose type or interface is in it."""
    types = [table for id in sorted(tables) for table in tables[id].types]
    interfaces = [table for id in sorted(tables) for table in tables[id].interfaces]
    all_interfaces = [*interfaces, *(table for table, _ in outside.interfaces)]
    by_id = {table.id: (external, _required(table)) for table, external in outside.interfaces}
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in IMPLEMENTS.values()}
    externals: dict[str, External] = {}
    for found in _implementations(types, interfaces, all_interfaces, only):
        external, evidence = by_id.get(found.interface, (None, "signature"))
        edge = Edge(found.type, found.interface, (), evidence, found.pointer)
        edges[IMPLEMENTS["Symbol" if external is None else "External"]].append(edge)
        if external is not None:
            externals[external.id] = external
    return Edges(edges, list(externals.values()))


def _required(interface: MethodTable) -> str:
    """The evidence for an external interface, which has no nodes for its methods: "signature", then their names."""
    return " ".join(["signature", *sorted(interface.methods)])


def _implementations(
    types: list[MethodTable],
    interfaces: list[MethodTable],
    all_interfaces: list[MethodTable],
    only: ChangedTables | None,
) -> Iterator[Implements]:
    if only is None:
        yield from implementations(types, all_interfaces)
        return
    yield from implementations((table for table in types if table.id in only.types), all_interfaces)
    others = (table for table in types if table.id not in only.types)
    yield from implementations(others, [table for table in interfaces if table.id in only.interfaces])
