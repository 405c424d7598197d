"""The packages outside the repository that its code can see: found by following imports, read for declarations only.

Vendored code, the module cache, GOPATH and GOROOT are read when they are there. What is not there stays missing, and is
counted; nothing is downloaded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from golore.graph.files.cache_db import Cache, CachedFile
from golore.learner.project.catalog import Catalog, CatalogPackage, outside_package
from golore.learner.project.project import Location, Project
from golore.learner.project.read_facts import FileToRead, read_files
from golore.learner.worker_pool import WorkerPool


class ExternalPackages(NamedTuple):
    """Packages by absolute directory, the import paths whose source is not at hand, and every file that was read.

    `leads` are the imports that lead out of the repository: on whose behalf each was asked for, the path, and the
    directory it led to, empty where there is none.
    """

    packages: dict[str, CatalogPackage]
    missing: tuple[str, ...]
    files: dict[str, CachedFile]
    leads: tuple[tuple[str, str, str], ...]
    parsed: int


def find_external_packages(
    project: Project,
    catalog: Catalog,
    cache: Cache,
    pool: WorkerPool,
    before: Mapping[str, CachedFile],
    last: ExternalPackages | None = None,
) -> ExternalPackages:
    """Follow imports out of the repository until nothing new turns up. Packages whose files are as they were the last
    time are taken from there."""
    found: dict[str, CatalogPackage] = {}
    files: dict[str, CachedFile] = {}
    old = _LastTime(last, cache)
    missing: set[str] = set()
    leads: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str]] = set()
    parsed = 0
    pending = _askers(project, ((p.dir, path) for group in catalog.values() for p in group for path in _imports(p)))
    while pending:
        seen |= pending.keys()
        locations: dict[str, tuple[Location, str]] = {}
        for context, path in sorted((context, path) for (_, path), context in pending.items()):
            location = project.find(context, path)
            if location is None:
                missing.add(path)
            elif location.kind in ("repo", "std"):
                continue
            elif location.dir not in found:
                locations.setdefault(location.dir, (location, _asker(project, location, context)))
            leads.append((context, path, location.dir if location is not None else ""))
        names = {directory: _go_files(directory) for directory in locations}
        same = {d: known for d, known in names.items() if d in old.packages and old.has(d, known)}
        new = chain.from_iterable(known for directory, known in names.items() if directory not in same)
        reading = read_files(cache, pool, new, before, lambda _: None, extent="shape")
        parsed += reading.parsed
        files |= reading.files
        further: list[tuple[str, str]] = []
        for directory, (location, context) in locations.items():
            path = plain_path(location.import_path)
            if directory in same:
                files |= {file.name: old.files[file.name] for file in same[directory]}
                package = old.package(directory, path, location.module, context)
            else:
                heads = {file.path: reading.heads[file.name] for file in names[directory] if file.name in reading.heads}
                package = outside_package(path, directory, location.module, context, heads)
            if package is not None:
                found[directory] = package
                further += [(context, imported) for imported in _imports(package)]
        pending = {key: context for key, context in _askers(project, further).items() if key not in seen}
    return ExternalPackages(found, tuple(sorted(missing)), files, tuple(leads), parsed)


def is_as_it_was(project: Project, last: ExternalPackages, cache: Cache) -> bool:
    """Whether the same imports would lead to the same packages, for the same packages of the repository."""
    for context, path, directory in last.leads:
        location = project.find(context, path)
        if (location.dir if location is not None else "") != directory:
            return False
    known = _LastTime(last, cache)
    directories = {directory for _, _, directory in last.leads if directory}
    return all(known.has(directory, _go_files(directory)) for directory in directories)


class _LastTime:
    """What was found the last time, for as long as it is still there."""

    def __init__(self, last: ExternalPackages | None, cache: Cache) -> None:
        self.files: Mapping[str, CachedFile] = {} if last is None else last.files
        self.packages: Mapping[str, CatalogPackage] = {} if last is None else last.packages
        self._facts = cache.has({file.key for file in self.files.values()})
        self._sizes = Counter(path.rpartition("/")[0] for path in self.files)

    def has(self, directory: str, names: Sequence[FileToRead]) -> bool:
        """Whether a directory holds just the files that it held."""
        if len(names) != self._sizes[directory]:
            return False
        for file in names:
            known = self.files.get(file.name)
            if known is None or (known.size, known.mtime_ns) != (file.size, file.mtime_ns):
                return False
            if known.key not in self._facts:
                return False
        return True

    def package(self, directory: str, path: str, module: str, context: str) -> CatalogPackage:
        """Its package, as who asks for it now would have it."""
        package = self.packages[directory]
        if (package.path, package.module, package.context) == (path, module, context):
            return package
        return package._replace(id=path, path=path, module=module, context=context)


def _askers(project: Project, imports: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Imports, by directory and path, without those that lead where others do: in one module a path means the same for
    every directory, so only the first of these asks."""
    rooms: dict[str, str] = {}
    askers: dict[tuple[str, str], str] = {}
    for context, path in imports:
        room = rooms.get(context)
        if room is None:
            module = project.module_of(context)
            room = rooms[context] = f"module {module.dir}" if module is not None else context
        key = (context if path[:1] == "." else room, path)
        known = askers.get(key)
        if known is None or context < known:
            askers[key] = context
    return askers


def _asker(project: Project, location: Location, context: str) -> str:
    """On whose behalf a package's own imports are asked for: vendored code is built as the module has it that vendored
    it, whoever else comes upon it."""
    home = location.dir.removesuffix(f"/vendor/{plain_path(location.import_path)}")
    if location.kind != "vendor" or home not in project.module_at:
        return context
    return "" if home == str(project.root) else home.removeprefix(f"{project.root}/")


def plain_path(import_path: str) -> str:
    """The path by which vendored code is imported: the standard library's own has its place before it."""
    if import_path.startswith("vendor/"):
        return import_path.removeprefix("vendor/")
    return import_path.partition("/vendor/")[2] or import_path


def _imports(package: CatalogPackage) -> Iterable[str]:
    return (path for file in package.files for path in file.imports if path != "C")


def _go_files(directory: str) -> list[FileToRead]:
    files: list[FileToRead] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".go") and not name.endswith("_test.go") and name[:1] not in "._" and entry.is_file():
                    status = entry.stat()
                    path = f"{directory}/{name}"
                    files.append(FileToRead(path, path, status.st_size, status.st_mtime_ns))
    except OSError:
        return []
    return sorted(files)
