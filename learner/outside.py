"""The packages outside the repository that its code can see: found by following imports, read for declarations only.

Vendored code, the module cache, GOPATH and GOROOT are read when they are there. What is not there stays missing, and is
counted; nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from golore.graph.cache import Cache, CachedFile
from golore.learner.catalog import Catalog, CatalogPackage, FileHead, outside_package
from golore.learner.crew import Crew
from golore.learner.project import Location, Project
from golore.learner.reading import Wanted, read_files


class Outside(NamedTuple):
    """Packages by absolute directory, and the import paths whose source is not at hand."""

    packages: dict[str, CatalogPackage]
    missing: tuple[str, ...]
    parsed: int


def find_outside(
    project: Project, catalog: Catalog, cache: Cache, crew: Crew, before: Mapping[str, CachedFile]
) -> Outside:
    """Follow imports out of the repository until nothing new turns up."""
    found: dict[str, CatalogPackage] = {}
    missing: set[str] = set()
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
            elif location.kind not in ("repo", "std") and location.dir not in found:
                locations.setdefault(location.dir, (location, context))
        names = {directory: _go_files(directory) for directory in locations}
        reading = read_files(cache, crew, chain.from_iterable(names.values()), before, lambda _: None, extent="shape")
        parsed += reading.parsed
        further: list[tuple[str, str]] = []
        for directory, (location, context) in locations.items():
            heads: dict[str, FileHead] = {
                file.path: reading.heads[file.name] for file in names[directory] if file.name in reading.heads
            }
            path = plain_path(location.import_path)
            package = outside_package(path, directory, location.module, context, heads)
            if package is not None:
                found[directory] = package
                further += [(context, imported) for imported in _imports(package)]
        pending = {key: context for key, context in _askers(project, further).items() if key not in seen}
    return Outside(found, tuple(sorted(missing)), parsed)


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


def plain_path(import_path: str) -> str:
    """The path by which vendored code is imported: the standard library's own has its place before it."""
    if import_path.startswith("vendor/"):
        return import_path.removeprefix("vendor/")
    return import_path.partition("/vendor/")[2] or import_path


def _imports(package: CatalogPackage) -> Iterable[str]:
    return (path for file in package.files for path in file.imports if path != "C")


def _go_files(directory: str) -> list[Wanted]:
    files: list[Wanted] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".go") and not name.endswith("_test.go") and name[:1] not in "._" and entry.is_file():
                    status = entry.stat()
                    path = f"{directory}/{name}"
                    files.append(Wanted(path, path, status.st_size, status.st_mtime_ns))
    except OSError:
        return []
    return sorted(files)
