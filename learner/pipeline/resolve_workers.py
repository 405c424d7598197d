"""Resolves packages into rows, in worker processes.

A worker keeps one `World` for all its tasks, so that a package that many packages import is loaded once. What all tasks
share is in a `Plan`, which is pickled once to a file in the store.
"""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from golore.graph.database.arrow_spool import Spools, Table
from golore.graph.database.subgraph import Subgraph
from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.model.edge_columns import EdgeTables
from golore.graph.model.entities import External, Node
from golore.graph.search.index_parts import IndexPart
from golore.learner.extraction import facts as f
from golore.learner.pipeline import method_tables
from golore.learner.pipeline.graph_rows import (
    ImportTarget,
    ResolvedFile,
    Rows,
    Testing,
    file_rows,
    package_node,
    package_rows,
    testing_of,
)
from golore.learner.pipeline.index_worker import add_to_index, take_parts
from golore.learner.project.catalog import Catalog, CatalogPackage
from golore.learner.project.external_packages import unvendored_path
from golore.learner.project.project import Project
from golore.learner.project.read_facts import body_from
from golore.learner.project.stdlib_index import package_files
from golore.learner.resolution.method_sets import MethodTable, interface_table, package_tables
from golore.learner.resolution.package_loader import PackageLoader
from golore.learner.resolution.resolve_file import FileUses, resolve_file
from golore.learner.resolution.types import Interface, PackageScope, is_exported
from golore.learner.resolution.universe import ERROR
from golore.learner.resolution.use_recorder import external_kind
from golore.learner.resolution.world import World

BATCH_FILES = 20
"""Files in a batch. When the last batches are resolved, some workers have nothing to do, so batches should be small."""
NO_USES = FileUses([], {}, set(), [])


class Plan(NamedTuple):
    """What all tasks share."""

    project: Project
    catalog: Catalog
    outside: dict[str, CatalogPackage]
    files: dict[str, CachedFile]
    cache: Path
    edges: bool
    """Whether to resolve uses. If not, rows have only `CONTAINS` and `IMPORTS` edges."""


class Assignment(NamedTuple):
    """Work in some directories: whole packages by id, and single files of other packages.

    With a `spool` directory, the rows of whole packages are written there instead of being returned. If
    `is_indexed`, the worker also makes its parts of the search index from them (see `index_worker`).
    """

    plan: Path
    directories: tuple[str, ...]
    ids: frozenset[str]
    files: frozenset[str] = frozenset()
    spool: Path | None = None
    is_indexed: bool = False


class PackageResult(NamedTuple):
    """The result for one package. `rows` are the rows that were not spooled. External nodes never are, because several
    packages may have the same one.

    `tables` are the encoded method tables. If only some files of the package were resolved, there are none, and
    `testing` has the calls of those of its test files that were resolved, if there are any.
    """

    id: str
    rows: Subgraph
    files: int
    tables: bytes
    testing: Testing | None = None
    is_whole: bool = True


def assignments(
    plan: Path,
    catalog: Catalog,
    ids: frozenset[str],
    files: frozenset[str] = frozenset(),
    spool: Path | None = None,
    is_indexed: bool = False,
) -> list[Assignment]:
    """Split the work into batches of packages in neighbouring directories, because these import the same packages. The
    batches with large packages come first, so that the others do not wait for one of them at the end."""
    found: list[tuple[int, Assignment]] = []
    directories: list[str] = []
    chosen: set[str] = set()
    size = 0
    touched = Counter(path.rpartition("/")[0] for path in files)
    for directory in sorted(catalog if ids else touched):
        wanted = [package for package in catalog[directory] if package.id in ids]
        if not wanted and directory not in touched:
            continue
        directories.append(directory)
        chosen.update(package.id for package in wanted)
        size += sum(len(package.files) for package in wanted) + touched[directory]
        if size >= BATCH_FILES:
            found.append((size, Assignment(plan, tuple(directories), frozenset(chosen), files, spool, is_indexed)))
            directories, chosen, size = [], set[str](), 0
    if directories:
        found.append((size, Assignment(plan, tuple(directories), frozenset(chosen), files, spool, is_indexed)))
    found.sort(key=lambda batch: batch[0] < 2 * BATCH_FILES)
    return [assignment for _, assignment in found]


class ResolutionWorker:
    """Resolves packages of one plan. It can be kept longer than the cache that it was created with (see `take`)."""

    def __init__(self, plan: Plan, cache: Cache) -> None:
        self.plan = plan
        self.cache = cache
        self.sources = PackageLoader(plan.project, plan.catalog, plan.outside, self._shape)
        self.world = World(self.sources)
        self._sources_of: dict[str, str] = {
            package.path: package.module or "outside" for package in plan.outside.values()
        }
        self._directories_of: dict[str, list[str]] = {}
        for directory in sorted(plan.outside):
            self._directories_of.setdefault(plan.outside[directory].path, []).append(directory)

    def use_plan(self, plan: Plan, cache: Cache) -> None:
        """Continue with another cache, and with a plan in which bodies may differ but no shape does."""
        self.plan = plan
        self.cache = cache
        self.sources.replace_catalog(plan.catalog)

    @property
    def paths(self) -> Iterator[str]:
        """All files of the packages of the repository."""
        return (file.path for group in self.plan.catalog.values() for package in group for file in package.files)

    @property
    def loaded(self) -> int:
        """Number of packages loaded."""
        return self.sources.loaded_count

    def _shape(self, key: str) -> f.Shape:
        data = self.cache.get_shape(key)
        if data is None:
            raise LookupError(f"the cache has no facts for {key}")
        return f.decode_shape(data)

    def source_of(self, path: str) -> str:
        """Where an external package comes from: `std`, its module, `outside` (no module), `builtin` or `missing`."""
        if not path:
            return "builtin"
        if path in self._sources_of:
            return self._sources_of[path]
        # The standard library vendors some packages of golang.org/x, which nothing else can import from there.
        is_standard = "." not in path.partition("/")[0] and self.sources.standard_package(path) is not None
        return "std" if is_standard or path == "unsafe" else "missing"

    def _set_unknown_kinds(self, nodes: list[Node]) -> None:
        """Set the kind of external nodes whose source this package's module does not see, if another module sees it: a
        node must not depend on which of its users was resolved last."""
        for index, node in enumerate(nodes):
            if isinstance(node, External) and node.kind == "unknown":
                nodes[index] = node._replace(kind=self._kind_in_other_module(node))

    def _kind_in_other_module(self, node: External) -> str:
        for directory in self._directories_of.get(node.package, ()):
            package = self.sources.external_package(directory)
            declared = package.members.get(node.name) if package is not None else None
            if declared:
                return external_kind(declared[0])
        return node.kind

    def import_of(self, entry: CatalogPackage, path: str) -> ImportTarget | None:
        if path == "C":
            return None
        location = self.plan.project.find(entry.context, path)
        if location is not None and location.kind == "repo":
            packages = self.plan.catalog.get(location.dir, ())
            return ImportTarget(packages[0].id, False, "") if packages else None
        plain = unvendored_path(location.import_path) if location is not None else path
        return ImportTarget(plain, True, self.source_of(plain))

    def resolve(self, entry: CatalogPackage, package: PackageScope) -> PackageResult:
        """Resolve a whole package."""
        rows = self._package_rows(entry, package, EdgeTables())
        return self._result(entry, package, rows.subgraph())

    def resolve_into(
        self,
        spools: Spools,
        entry: CatalogPackage,
        package: PackageScope,
        index: Callable[[Mapping[str, list[Node]]], None] | None,
    ) -> PackageResult:
        """Resolve a whole package, and write its rows to the spools of this process, except external nodes, which stay
        in the result. `index` is called with the nodes before."""
        rows = self._package_rows(entry, package, spools.edges_by_kind)
        if index is not None:
            index(rows.nodes)
        rest = Subgraph()
        rest.nodes["External"] = rows.nodes.pop("External")
        for label, nodes in rows.nodes.items():
            spools.nodes(label, nodes)
        spools.write_full_columns()
        return self._result(entry, package, rest)

    def _package_rows(self, entry: CatalogPackage, package: PackageScope, edges: EdgeTables) -> Rows:
        files = self._resolved_files(entry, package, None)
        import_of = cache(partial(self.import_of, entry))  # the files of a package mostly import the same
        rows = package_rows(edges, entry, package, files, import_of, self.source_of)
        self._set_unknown_kinds(rows.nodes_of("External"))
        return rows

    def _result(self, entry: CatalogPackage, package: PackageScope, rows: Subgraph) -> PackageResult:
        return PackageResult(entry.id, rows, len(package.files), self.tables(package))

    def tables(self, package: PackageScope) -> bytes:
        types, interfaces = package_tables(self.world, package) if self.plan.edges else ([], [])
        return method_tables.encode(method_tables.Tables(types, interfaces))

    def resolve_files(self, entry: CatalogPackage, package: PackageScope, paths: frozenset[str]) -> PackageResult:
        """Resolve some files of a package whose shape did not change."""
        files = self._resolved_files(entry, package, paths)
        found = file_rows(entry, package, files, lambda path: self.import_of(entry, path), self.source_of)
        self._set_unknown_kinds(found.nodes_of("External"))
        rows = found.subgraph()
        if not all(file.entry.test for file in files):
            rows.nodes["Package"].append(package_node(entry, self._documentation(entry)))
        testing = testing_of(package, files)
        new_testing = testing if testing.calls else None
        return PackageResult(entry.id, rows, len(files), b"", new_testing, False)

    def _resolved_files(
        self, entry: CatalogPackage, package: PackageScope, paths: frozenset[str] | None
    ) -> list[ResolvedFile]:
        entries = {file.path: file for file in entry.files if paths is None or file.path in paths}
        keys = [file.key for file in entries.values()]
        bodies = dict(self.cache.get_bodies(keys)) if self.plan.edges else {}
        outlines = dict(self.cache.get_outlines(keys))
        files: list[ResolvedFile] = []
        for scope in sorted((scope for scope in package.files if scope.path in entries), key=lambda scope: scope.path):
            key = entries[scope.path].key
            known = self.plan.files[scope.path]
            uses = NO_USES
            if self.plan.edges:
                uses = resolve_file(self.world, scope, body_from(bodies[key]))
            outline = f.decode_outline(outlines[key])
            files.append(ResolvedFile(entries[scope.path], scope, outline, known.digest, known.state.size, uses))
        return files

    def _documentation(self, entry: CatalogPackage) -> str:
        """The package comment: that of the first file, by path, that has one. Test files are not read."""
        keys = [file.key for file in sorted(entry.files) if not file.test]
        outlines = dict(self.cache.get_outlines(keys))
        return next((doc for key in keys if (doc := _outline_head_decoder.decode(outlines[key]).doc)), "")


class _OutlineHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The first fields of an `Outline`. Skipping the rest is much faster than decoding it."""

    package: str
    doc: str


_outline_head_decoder = msgspec.msgpack.Decoder(_OutlineHead)

_workers: dict[Path, ResolutionWorker] = {}
_caches: dict[Path, Cache] = {}


def _worker_for(plan: Path) -> ResolutionWorker:
    """The worker of this process for the plan in a file; reads the plan at the first call."""
    worker = _workers.get(plan)
    if worker is None:
        loaded: Plan = pickle.loads(plan.read_bytes())
        _caches[plan] = Cache.open(loaded.cache)
        worker = _workers[plan] = ResolutionWorker(loaded, _caches[plan])
    return worker


def start_worker(plan: Path, worker: ResolutionWorker) -> None:
    """Use this worker for the plan, instead of reading the plan from its file. For this process only."""
    _workers[plan] = worker


def stop_worker(plan: Path) -> None:
    """Discard the worker for a plan and close the cache opened for it. The next plan may have the same path."""
    _workers.pop(plan, None)
    cache = _caches.pop(plan, None)
    if cache is not None:
        cache.close()


def resolve_packages(assignment: Assignment) -> list[PackageResult]:
    """Resolve the packages and files of an assignment. Runs in a worker process."""
    worker = _worker_for(assignment.plan)
    results: list[PackageResult] = []
    for directory in assignment.directories:
        entries = worker.plan.catalog[directory]
        for entry, package in zip(entries, worker.sources.packages_in(directory), strict=True):
            if entry.id in assignment.ids:
                results.append(_resolve_whole(worker, assignment, entry, package))
            elif paths := assignment.files.intersection(file.path for file in entry.files):
                results.append(worker.resolve_files(entry, package, paths))
    return results


_spools: dict[Path, Spools] = {}


def _resolve_whole(
    worker: ResolutionWorker, assignment: Assignment, entry: CatalogPackage, package: PackageScope
) -> PackageResult:
    directory = assignment.spool
    if directory is None:
        return worker.resolve(entry, package)
    spools = _spools.get(directory)
    if spools is None:
        spools = _spools[directory] = Spools(directory, str(os.getpid()))
    index = None
    if assignment.is_indexed:
        index = partial(add_to_index, assignment.plan, worker.plan.project.root, worker.paths, directory)
    return worker.resolve_into(spools, entry, package, index)


class Spooled(NamedTuple):
    """What a process has made of its packages: the number of rows in its spools, and its parts of the search index."""

    rows: dict[Table, int]
    parts: list[IndexPart]


def close_spools(assignment: Assignment) -> Spooled:
    """Close the spools of this process. `assignment`: any of those that it had."""
    spools = None if assignment.spool is None else _spools.pop(assignment.spool, None)
    return Spooled({} if spools is None else spools.close(), take_parts(assignment.plan))


def tables_of(assignment: Assignment) -> list[tuple[str, bytes]]:
    """Make only the method tables of the packages of an assignment. Runs in a worker process."""
    worker = _worker_for(assignment.plan)
    found: list[tuple[str, bytes]] = []
    for directory in assignment.directories:
        entries = worker.plan.catalog[directory]
        for entry, package in zip(entries, worker.sources.packages_in(directory), strict=True):
            if entry.id in assignment.ids:
                found.append((entry.id, worker.tables(package)))
    return found


def outside_interfaces(plan: Path) -> list[tuple[MethodTable, External]]:
    """The external interfaces that types of the repository may implement: `error`, and the exported interfaces of every
    external package that the repository imports, directly or not, except internal packages."""
    worker = _worker_for(plan)
    found: list[tuple[MethodTable, External]] = []
    if isinstance(ERROR.under, Interface):
        table = interface_table(worker.world, ERROR.decl, ERROR.under)
        if table is not None:
            found.append((table, External("error", "interface", "error", "", "builtin")))
    for package in _outside_packages(worker):
        if "internal" in package.path.split("/"):
            continue
        source = worker.source_of(package.path)
        declared = {decl.id: decl for file in package.files for decl in file.decls}
        for table in package_tables(worker.world, package)[1]:
            decl = declared[table.id]
            if is_exported(decl.name):
                found.append((table, External(table.id, external_kind(decl), decl.name, package.path, source)))
    return found


def _outside_packages(worker: ResolutionWorker) -> Iterator[PackageScope]:
    plan = worker.plan
    for directory in sorted(plan.outside):
        package = worker.sources.external_package(directory)
        if package is not None:
            yield package
    pending = sorted(
        {
            location.import_path
            for entry in _all_packages(plan)
            for file in entry.files
            for path in file.imports
            if (location := plan.project.find(entry.context, path)) is not None and location.kind == "std"
        }
    )
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        package = None if path in seen else worker.sources.standard_package(path)
        seen.add(path)
        if package is not None:
            yield package
            pending += sorted({imported.path for file in package_files(path) or () for imported in file.shape.imports})


def _all_packages(plan: Plan) -> Iterable[CatalogPackage]:
    for group in plan.catalog.values():
        yield from group
    yield from plan.outside.values()
