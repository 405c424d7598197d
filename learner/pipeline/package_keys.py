"""One key per package for everything that its resolution depends on: equal keys mean equal edges.

The edges of a package depend on its own files and on the shapes of all packages that it imports, directly or not. They
do not depend on bodies in other packages: an edited body changes one key, a changed shape the keys of the packages that
can see it. Keys do not contain the directories of external code, so a graph from another machine has the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple

from golore.learner.project.catalog import Catalog, CatalogFile, CatalogPackage


class PackageKeys(NamedTuple):
    """`edges` changes with anything that could change the package's rows, `shape` with anything that could change its
    method tables."""

    edges: str
    shape: str


class Keys(NamedTuple):
    """The keys of the repository's packages by id, and one key for all external code."""

    packages: dict[str, PackageKeys]
    outside: str


Target = CatalogPackage | str | None
"""What an import leads to: a package, a text for a package that does not change, or None."""
TargetOf = Callable[[CatalogPackage, str], Target]


def make_keys(catalog: Catalog, outside: Iterable[CatalogPackage], target_of: TargetOf, version: str) -> Keys:
    """The keys of all packages. `version`: of the code that makes rows from facts."""
    deep = _DeepKeys(target_of)
    keys: dict[str, PackageKeys] = {}
    for packages in catalog.values():
        for package in packages:
            shape = _digest(
                version,
                *_identity(package),
                *(_shape_line(file) for file in package.files),
                *deep.of_imports(package, package.files),
                *(_shape_line(file) for other in packages if package.test and not other.test for file in other.files),
            )
            keys[package.id] = PackageKeys(edges_key(shape, package), shape)
    external = sorted(f"{package.id}\t{_dir(package)}\t{deep.of(package)}" for package in outside)
    return Keys(keys, _digest(version, *sorted(deep.unchanging), *external))


def edges_key(shape: str, package: CatalogPackage) -> str:
    """The key of a package's rows, from its shape key and the contents of its files."""
    return _digest(shape, *(file.key for file in package.files))


class _DeepKeys:
    """Keys of packages as importers see them: shapes without test files, including all packages that they import.

    Invalid code may have import cycles. The key of a package in a cycle covers all packages of the cycle, which are
    found with Tarjan's algorithm.
    """

    def __init__(self, target_of: TargetOf) -> None:
        self._target_of = target_of
        self._known: dict[tuple[str, str], str] = {}
        self._index: dict[tuple[str, str], int] = {}
        self._stack: list[tuple[CatalogPackage, list[tuple[str, Target]]]] = []
        self.unchanging: set[str] = set()
        """Import paths seen so far whose target does not change."""

    def of_imports(self, package: CatalogPackage, files: Iterable[CatalogFile]) -> list[str]:
        return [f"{path}={self.of(target)}" for path, target in self._imports(package, files)]

    def of(self, target: Target) -> str:
        if not isinstance(target, CatalogPackage):
            return target or "missing"
        name = (target.id, target.dir)
        if name not in self._known:
            self._visit(target)
        return self._known[name]

    def _imports(self, package: CatalogPackage, files: Iterable[CatalogFile]) -> list[tuple[str, Target]]:
        found = [(path, self._target_of(package, path)) for path in sorted({p for file in files for p in file.imports})]
        self.unchanging.update(path for path, target in found if isinstance(target, str))
        return found

    def _visit(self, package: CatalogPackage) -> int:
        """Visit a package and its imports. Returns the lowest index that is reachable from it (Tarjan's low-link)."""
        name = (package.id, package.dir)
        lowest = index = self._index[name] = len(self._index)
        start = len(self._stack)
        imports = self._imports(package, [file for file in package.files if not file.test])
        self._stack.append((package, imports))
        for _, target in imports:
            if isinstance(target, CatalogPackage):
                other = (target.id, target.dir)
                if other not in self._known:
                    lowest = min(lowest, self._index[other] if other in self._index else self._visit(target))
        if lowest == index:
            self._set_keys(self._stack[start:])
            del self._stack[start:]
        return lowest

    def _set_keys(self, cycle: list[tuple[CatalogPackage, list[tuple[str, Target]]]]) -> None:
        """Set the keys of the packages of a cycle. Most cycles consist of one package."""
        parts: list[str] = []
        for package, imports in cycle:
            shapes = [_shape_line(file) for file in package.files if not file.test]
            lines = [f"{path}={self._known_key(target)}" for path, target in imports]
            parts.append(_digest(*_identity(package), *shapes, *lines))
        for (package, _), part in zip(cycle, parts, strict=True):
            key = part if len(cycle) == 1 else _digest(part, *sorted(parts))
            self._known[package.id, package.dir] = key

    def _known_key(self, target: Target) -> str:
        if isinstance(target, CatalogPackage):
            return self._known.get((target.id, target.dir), f"circle {target.id} {_dir(target)}")
        return target or "missing"


def _identity(package: CatalogPackage) -> tuple[str, ...]:
    return (package.id, package.path, package.name, _dir(package), package.module)


def _dir(package: CatalogPackage) -> str:
    return "outside" if package.external else package.dir


def _shape_line(file: CatalogFile) -> str:
    path = file.path if file.path[:1] != "/" else file.path.rpartition("/")[2]
    return f"{path}\t{file.constraint}\t{file.shape}"


def _digest(*parts: str) -> str:
    return blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def state_key(keys: Keys, repository: str) -> str:
    """One key for the whole graph."""
    packages = keys.packages
    return _digest(repository, keys.outside, *(f"{id}={packages[id].edges}" for id in sorted(packages)))
