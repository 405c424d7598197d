"""Finds external packages by following imports, and reads their declarations only.

Vendored code, the module cache, GOPATH and GOROOT are read if they exist. A package that is not found is listed as
missing; nothing is downloaded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.files.file_state import is_unchanged as is_same_state
from golore.graph.files.file_state import state_from
from golore.graph.model.entities import Problem
from golore.graph.safety.regular_file import SOURCE_LIMIT
from golore.learner.checkout.discovery import too_large
from golore.learner.project.catalog import Catalog, CatalogPackage, external_package
from golore.learner.project.project import Location, Project
from golore.learner.project.read_facts import FileToRead, read_files
from golore.learner.worker_pool import WorkerPool


class ExternalPackages(NamedTuple):
    """Packages by absolute directory, the import paths whose source is missing, and every file that was read.

    `leads` are the imports of external packages: the importing directory (see `CatalogPackage.context`), the import
    path, and the directory that it was found in, empty if it is missing.
    """

    packages: dict[str, CatalogPackage]
    missing: tuple[str, ...]
    files: dict[str, CachedFile]
    imports: tuple[tuple[str, str, str], ...]
    parsed: int
    problems: tuple[Problem, ...] = ()


def find_external_packages(
    project: Project,
    catalog: Catalog,
    cache: Cache,
    pool: WorkerPool,
    before: Mapping[str, CachedFile],
    last: ExternalPackages | None = None,
) -> ExternalPackages:
    """Follow imports out of the repository until there are no new ones. Packages whose files have not changed are taken
    from `last`, the result of the previous learn."""
    found: dict[str, CatalogPackage] = {}
    files: dict[str, CachedFile] = {}
    previous = _PreviousPackages(last, cache)
    missing: set[str] = set()
    leads: list[tuple[str, str, str]] = []
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    parsed = 0
    pending = _distinct_imports(
        project, ((p.dir, path) for group in catalog.values() for p in group for path in _imports(p))
    )
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
                locations.setdefault(location.dir, (location, _import_context(project, location, context)))
            leads.append((context, path, location.dir if location is not None else ""))
        names = {directory: _go_files(directory, problems) for directory in locations}
        same = {d: known for d, known in names.items() if d in previous.packages and previous.has(d, known)}
        new = chain.from_iterable(known for directory, known in names.items() if directory not in same)
        reading = read_files(cache, pool, new, before, lambda _: None, extent="shape")
        parsed += reading.parsed
        problems += reading.problems
        files |= reading.files
        next_imports: list[tuple[str, str]] = []
        for directory, (location, context) in locations.items():
            path = unvendored_path(location.import_path)
            if directory in same:
                files |= {file.name: previous.files[file.name] for file in same[directory]}
                package = previous.package(directory, path, location.module, context)
            else:
                heads = {file.path: reading.heads[file.name] for file in names[directory] if file.name in reading.heads}
                package = external_package(path, directory, location.module, context, heads)
            if package is not None:
                found[directory] = package
                next_imports += [(context, imported) for imported in _imports(package)]
        pending = {key: context for key, context in _distinct_imports(project, next_imports).items() if key not in seen}
    problems = [problem._replace(file=problem.file.removeprefix(f"{project.root.as_posix()}/")) for problem in problems]
    return ExternalPackages(found, tuple(sorted(missing)), files, tuple(leads), parsed, tuple(sorted(problems)))


def is_unchanged(project: Project, last: ExternalPackages, cache: Cache) -> bool:
    """Whether the imports in `last` still lead to the same directories, and those have the same files."""
    for context, path, directory in last.imports:
        location = project.find(context, path)
        if (location.dir if location is not None else "") != directory:
            return False
    previous = _PreviousPackages(last, cache)
    directories = {directory for _, _, directory in last.imports if directory}
    return all(previous.has(directory, _go_files(directory)) for directory in directories)


class _PreviousPackages:
    """The packages that the previous learn found, with a check whether they are unchanged."""

    def __init__(self, last: ExternalPackages | None, cache: Cache) -> None:
        self.files: Mapping[str, CachedFile] = {} if last is None else last.files
        self.packages: Mapping[str, CatalogPackage] = {} if last is None else last.packages
        self._cached_keys = cache.has({file.key for file in self.files.values()})
        self._file_counts = Counter(path.rpartition("/")[0] for path in self.files)

    def has(self, directory: str, names: Sequence[FileToRead]) -> bool:
        """Whether a directory has exactly the files that it had, unchanged, and their facts are in the cache."""
        if len(names) != self._file_counts[directory]:
            return False
        for file in names:
            known = self.files.get(file.name)
            if known is None or not is_same_state(known.state, file.state):
                return False
            if known.key not in self._cached_keys:
                return False
        return True

    def package(self, directory: str, path: str, module: str, context: str) -> CatalogPackage:
        """The package of a directory, with the import path, module and context of the current import."""
        package = self.packages[directory]
        if (package.path, package.module, package.context) == (path, module, context):
            return package
        return package._replace(id=path, path=path, module=module, context=context)


def _distinct_imports(project: Project, imports: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The importing directory for each distinct import. Within a module an import path means the same in every
    directory, so only the first directory counts; relative imports and code without a module are kept apart."""
    scopes: dict[str, str] = {}
    contexts: dict[tuple[str, str], str] = {}
    for context, path in imports:
        scope = scopes.get(context)
        if scope is None:
            module = project.module_of(context)
            scope = scopes[context] = f"module {module.dir}" if module is not None else context
        key = (context if path[:1] == "." else scope, path)
        first = contexts.get(key)
        if first is None or context < first:
            contexts[key] = context
    return contexts


def _import_context(project: Project, location: Location, context: str) -> str:
    """The directory for which a package's own imports are looked up: for vendored code, the module that vendors it,
    whichever module imports it; otherwise `context`."""
    module_dir = location.dir.removesuffix(f"/vendor/{unvendored_path(location.import_path)}")
    if location.kind != "vendor" or module_dir not in project.module_at:
        return context
    root = project.root.as_posix()
    return "" if module_dir == root else module_dir.removeprefix(f"{root}/")


def unvendored_path(import_path: str) -> str:
    """The path by which a vendored package is imported: `vendor/x` and `cmd/vendor/x`, as in Go itself, become `x`."""
    if import_path.startswith("vendor/"):
        return import_path.removeprefix("vendor/")
    return import_path.partition("/vendor/")[2] or import_path


def _imports(package: CatalogPackage) -> Iterable[str]:
    return (path for file in package.files for path in file.imports if path != "C")


def _go_files(directory: str, problems: list[Problem] | None = None) -> list[FileToRead]:
    """The Go files of a directory, without tests. Files that are too large are left out and added to `problems`."""
    files: list[FileToRead] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".go") and not name.endswith("_test.go") and name[:1] not in "._" and entry.is_file():
                    status = entry.stat()
                    path = f"{directory}/{name}"
                    if status.st_size <= SOURCE_LIMIT:
                        files.append(FileToRead(path, path, state_from(status)))
                    elif problems is not None:
                        problems.append(Problem(path, 0, too_large(status.st_size, SOURCE_LIMIT)))
    except OSError:
        return []
    return sorted(files)
