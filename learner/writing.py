"""Resolved packages → the store: the whole graph at once, or the difference for the packages that changed."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from golore.graph.cache import Cache, CachedResolution
from golore.graph.model import Edge, EdgeKind, External, Node, Repository
from golore.graph.slices import Slice, difference, read_edges, read_externals, read_slice, still_used
from golore.graph.store import Store
from golore.learner.crew import Crew
from golore.learner.implements import implementations
from golore.learner.keys import PackageKeys
from golore.learner.methodsets import MethodTable
from golore.learner.resolving import (
    PackageResult,
    Plan,
    assignments,
    close_spools,
    leave_workshop,
    outside_interfaces,
    resolve_packages,
    tables_of,
)

IMPLEMENTS = {label: EdgeKind("IMPLEMENTS", "Symbol", label) for label in ("Symbol", "External")}


class Change(NamedTuple):
    """What the graph is to become: the packages' keys now and as the store has them, and the notes to keep with it."""

    plan: Plan
    repository: Repository
    keys: Mapping[str, PackageKeys]
    before: Mapping[str, PackageKeys]
    notes: Mapping[str, str]


class Written(NamedTuple):
    packages: int
    rows: int


class Progress(Protocol):
    """Told of the work as it is done; `stage` begins a new step of so many units."""

    def stage(self, name: str, total: int) -> None: ...

    def tick(self, units: int) -> None: ...


class Tables(msgspec.Struct, frozen=True, array_like=True):
    """The method tables of one package, as the cache keeps them."""

    types: list[MethodTable]
    interfaces: list[MethodTable]


def load_graph(store: Store, cache: Cache, crew: Crew, change: Change, progress: Progress) -> Written:
    """Resolve everything and put it in the place of what was there."""
    plan, keys = change.plan, change.keys
    externals: dict[str, External] = {}
    tables: dict[str, Tables] = {}
    rows = 0
    progress.stage("Resolving", len(keys))
    with store.bulk_load(change.notes) as bulk:
        with _handed_out(plan, store.directory) as handed:
            for result in _resolved(crew, handed, plan, frozenset(keys), progress, bulk.directory):
                tables[result.id] = Tables(result.types, result.interfaces)
                _merge(externals, result.rows.nodes["External"])
                rows += result.written
            for kind, edges in _implements(crew, handed, tables, externals).items():
                bulk.edges(kind, edges)
                rows += len(edges)
        for written in crew.everywhere(close_spools, bulk.directory):
            bulk.count(written)
        crew.dismiss()  # the memory they hold is better spent on the load
        progress.stage("Storing", 0)
        bulk.nodes("External", [externals[id] for id in sorted(externals)])
        bulk.nodes("Repository", [change.repository])
        _keep_tables(cache, keys, tables)
    return Written(len(tables), rows + len(externals) + 1)


def update_graph(store: Store, cache: Cache, crew: Crew, change: Change, progress: Progress) -> Written:
    """Resolve the packages whose keys changed and write what differs."""
    plan, keys, before = change.plan, change.keys, change.before
    changed = frozenset(id for id, key in keys.items() if id not in before or before[id].edges != key.edges)
    gone = before.keys() - keys.keys()
    progress.stage("Resolving", len(changed))
    new = Slice()
    fresh: dict[str, Tables] = {}
    with _handed_out(plan, store.directory) as handed:
        for result in _resolved(crew, handed, plan, changed, progress):
            fresh[result.id] = Tables(result.types, result.interfaces)
            new.add(result.rows)
        externals: dict[str, External] = {}
        _merge(externals, new.nodes.pop("External", []))
        shapes_changed = {id: key.shape for id, key in keys.items()} != {id: key.shape for id, key in before.items()}
        progress.stage("Storing", 0)
        old = read_slice(store, changed | gone)
        old.nodes["Repository"] = list(store.nodes("Repository"))
        new.nodes["Repository"] = [change.repository]
        for kind in IMPLEMENTS.values():
            old.edges[kind] = read_edges(store, kind)
        if shapes_changed:
            tables = _all_tables(cache, crew, handed, plan, keys, fresh)
            new.edges.update(_implements(crew, handed, tables, externals))
        else:
            new.edges.update({kind: old.edges[kind] for kind in IMPLEMENTS.values()})
    _settle_externals(store, old, new, externals, changed | gone)
    delta = difference(old, new, change.notes)
    store.apply(delta)
    _keep_tables(cache, keys, fresh)
    return Written(len(changed), len(delta) - len(delta.marks))


@contextmanager
def _handed_out(plan: Plan, directory: Path) -> Generator[Path]:
    """The plan in a file that every worker can read."""
    path = directory / "plan.tmp"
    path.write_bytes(pickle.dumps(plan, protocol=5))
    try:
        yield path
    finally:
        leave_workshop(path)
        path.unlink(missing_ok=True)


def _resolved(
    crew: Crew, handed: Path, plan: Plan, ids: frozenset[str], progress: Progress, spool: Path | None = None
) -> Iterator[PackageResult]:
    for assignment, results in crew.run(resolve_packages, assignments(handed, plan.catalog, ids, spool)):
        if results is None:
            raise RuntimeError(f"a worker died while it resolved {', '.join(assignment.directories)}")
        yield from results
        progress.tick(len(results))


def _merge(externals: dict[str, External], rows: list[Node]) -> None:
    """Several packages may name the same thing outside; one that knows what it is wins over one that does not."""
    for row in rows:
        assert isinstance(row, External)
        known = externals.get(row.id)
        if known is None or (known.kind == "unknown", known) > (row.kind == "unknown", row):
            externals[row.id] = row


def _implements(
    crew: Crew, handed: Path, tables: Mapping[str, Tables], externals: dict[str, External]
) -> dict[EdgeKind, list[Edge]]:
    """All IMPLEMENTS edges; interfaces outside that something implements join the externals."""
    outside: list[tuple[MethodTable, External]] = []
    for _, found in crew.run(outside_interfaces, [handed]):
        outside = found or []
    by_id = {table.id: external for table, external in outside}
    types = [table for id in sorted(tables) for table in tables[id].types]
    interfaces = [table for id in sorted(tables) for table in tables[id].interfaces]
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in IMPLEMENTS.values()}
    for found in implementations(types, interfaces + [table for table, _ in outside]):
        external = by_id.get(found.interface)
        edge = Edge(found.type, found.interface, (), "signature", found.pointer)
        edges[IMPLEMENTS["Symbol" if external is None else "External"]].append(edge)
        if external is not None:
            _merge(externals, [external])
    return edges


def _all_tables(
    cache: Cache,
    crew: Crew,
    handed: Path,
    plan: Plan,
    keys: Mapping[str, PackageKeys],
    fresh: Mapping[str, Tables],
) -> dict[str, Tables]:
    """The method tables of every package: those just made, those the cache has, and the rest made now."""
    tables = dict(fresh)
    decoder = msgspec.msgpack.Decoder(Tables)
    for kept in cache.get_resolutions([id for id in keys if id not in fresh]):
        if kept.key == keys[kept.path].shape:
            tables[kept.path] = decoder.decode(kept.rows)
    lost = frozenset(keys.keys() - tables.keys())
    for _, found in crew.run(tables_of, assignments(handed, plan.catalog, lost)):
        for id, types, interfaces in found or ():
            tables[id] = Tables(types, interfaces)
    return tables


def _keep_tables(cache: Cache, keys: Mapping[str, PackageKeys], tables: Mapping[str, Tables]) -> None:
    encode = msgspec.msgpack.Encoder().encode
    gone = cache.resolution_keys().keys() - keys.keys()
    cache.set_resolutions((CachedResolution(id, keys[id].shape, encode(found)) for id, found in tables.items()), gone)


def _settle_externals(
    store: Store, old: Slice, new: Slice, externals: dict[str, External], packages: frozenset[str] | set[str]
) -> None:
    """Put the nodes outside into both slices: those that come, those that change, those that nothing uses any more."""
    used_before = {edge.target for kind, edges in old.edges.items() if kind.target == "External" for edge in edges}
    used_now = {edge.target for kind, edges in new.edges.items() if kind.target == "External" for edge in edges}
    known = read_externals(store, used_before | used_now)
    kept_elsewhere = still_used(store, used_before - used_now, packages) if used_before - used_now else set[str]()
    old.nodes["External"] = [known[id] for id in sorted(known) if id not in kept_elsewhere]
    new.nodes["External"] = [externals.get(id) or known[id] for id in sorted(used_now)]
