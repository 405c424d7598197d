"""The method tables of all packages, kept in the cache, and the `IMPLEMENTS` edges that follow from them.

A package's tables follow from its shape, and so does every edge between two of them: where few tables changed, only the
edges at these are made again. How the tables are made is `methodsets`' affair, how they are joined is `implements`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.files.cache_db import Cache, CachedResolution
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, External
from golore.learner.pipeline.package_keys import PackageKeys
from golore.learner.pipeline.resolve_workers import assignments, outside_interfaces, tables_of
from golore.learner.project.catalog import Catalog
from golore.learner.resolution.implements import Implements, implementations
from golore.learner.resolution.method_sets import MethodTable
from golore.learner.worker_pool import WorkerPool

IMPLEMENTS: Final = {label: EdgeKind("IMPLEMENTS", "Symbol", label) for label in ("Symbol", "External")}
_OUTSIDE: Final = "\0outside"
"""The name under which the tables of interfaces outside are kept; no package is called that."""


class Tables(msgspec.Struct, frozen=True, array_like=True):
    """The method tables of one package, as the cache keeps them."""

    types: list[MethodTable]
    interfaces: list[MethodTable]


class OutsideTables(msgspec.Struct, frozen=True, array_like=True):
    """The interfaces outside that types of the repository may implement."""

    interfaces: list[tuple[MethodTable, External]]


class Turned(NamedTuple):
    """Types and interfaces, by id, whose tables are no longer what they were."""

    types: frozenset[str]
    interfaces: frozenset[str]


class Edges(NamedTuple):
    """IMPLEMENTS edges by kind, and the nodes outside at their ends."""

    edges: dict[EdgeKind, list[Edge]]
    externals: list[External]


def kept_tables(cache: Cache, keys: Mapping[str, PackageKeys]) -> dict[str, Tables]:
    """What the cache has of these packages that is still right by these keys."""
    decoder = msgspec.msgpack.Decoder(Tables)
    kept = cache.get_resolutions(list(keys))
    return {found.path: decoder.decode(found.rows) for found in kept if found.key == keys[found.path].shape}


def all_tables(
    cache: Cache,
    pool: WorkerPool,
    plan: Path,
    catalog: Catalog,
    keys: Mapping[str, PackageKeys],
    fresh: Mapping[str, Tables],
) -> dict[str, Tables]:
    """The tables of every package: those just made, those the cache has, and the rest made now."""
    tables = {**fresh, **kept_tables(cache, {id: key for id, key in keys.items() if id not in fresh})}
    lost = frozenset(keys.keys() - tables.keys())
    for _, found in pool.run(tables_of, assignments(plan, catalog, lost)):
        for id, types, interfaces in found or ():
            tables[id] = Tables(types, interfaces)
    return tables


def outside_tables(cache: Cache, pool: WorkerPool, plan: Path, key: str) -> OutsideTables:
    """From the cache if nothing outside has changed since; otherwise all of it has to be looked through."""
    for kept in cache.get_resolutions([_OUTSIDE]):
        if kept.key == key:
            return msgspec.msgpack.decode(kept.rows, type=OutsideTables)
    tables = OutsideTables([])
    for _, found in pool.run(outside_interfaces, [plan]):
        tables = OutsideTables(found or [])
    cache.set_resolutions([CachedResolution(_OUTSIDE, key, msgspec.msgpack.encode(tables))])
    return tables


def keep_tables(cache: Cache, keys: Mapping[str, PackageKeys], tables: Mapping[str, Tables]) -> None:
    """Put these into the cache, and forget packages that are no more."""
    encode = msgspec.msgpack.Encoder().encode
    gone = cache.resolution_keys().keys() - keys.keys() - {_OUTSIDE}
    if tables or gone:
        rows = (CachedResolution(id, keys[id].shape, encode(found)) for id, found in tables.items())
        cache.set_resolutions(rows, gone)


def turned(before: Mapping[str, Tables], after: Mapping[str, Tables]) -> Turned:
    """The tables that come, go or differ between two states of the same packages."""
    return Turned(
        _differing((t.types for t in before.values()), (t.types for t in after.values())),
        _differing((t.interfaces for t in before.values()), (t.interfaces for t in after.values())),
    )


def _differing(before: Iterable[list[MethodTable]], after: Iterable[list[MethodTable]]) -> frozenset[str]:
    first = {table.id: table for tables in before for table in tables}
    last = {table.id: table for tables in after for table in tables}
    return frozenset(id for id in first.keys() | last.keys() if first.get(id) != last.get(id))


def implements_edges(tables: Mapping[str, Tables], outside: OutsideTables, only: Turned | None = None) -> Edges:
    """All IMPLEMENTS edges, or those at certain types and interfaces."""
    types = [table for id in sorted(tables) for table in tables[id].types]
    interfaces = [table for id in sorted(tables) for table in tables[id].interfaces]
    everywhere = [*interfaces, *(table for table, _ in outside.interfaces)]
    by_id = {table.id: external for table, external in outside.interfaces}
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in IMPLEMENTS.values()}
    met: dict[str, External] = {}
    for found in _joined(types, interfaces, everywhere, only):
        external = by_id.get(found.interface)
        edge = Edge(found.type, found.interface, (), "signature", found.pointer)
        edges[IMPLEMENTS["Symbol" if external is None else "External"]].append(edge)
        if external is not None:
            met[external.id] = external
    return Edges(edges, list(met.values()))


def _joined(
    types: list[MethodTable], interfaces: list[MethodTable], everywhere: list[MethodTable], only: Turned | None
) -> Iterator[Implements]:
    if only is None:
        yield from implementations(types, everywhere)
        return
    yield from implementations((table for table in types if table.id in only.types), everywhere)
    others = (table for table in types if table.id not in only.types)
    yield from implementations(others, [table for table in interfaces if table.id in only.interfaces])
