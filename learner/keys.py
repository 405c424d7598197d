"""What each package's resolution depends on, as one key per package: equal keys, equal edges.

A package's edges follow from its own files and from the shapes of everything it imports, directly or not. Bodies of
other packages never count: an edited body changes one key, a changed shape the keys of those that can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from golore.learner.catalog import Catalog, CatalogFile, CatalogPackage

RESOLVER = "2"
"""Raised whenever the same facts would give other edges."""


class PackageKeys(NamedTuple):
    """`edges` changes with anything that could change the package's rows, `shape` with its method tables."""

    edges: str
    shape: str


Target = CatalogPackage | str | None
"""What an import leads to: a package, a text that stands for one that never changes, or nothing."""


def package_keys(
    catalog: Catalog, target_of: Callable[[CatalogPackage, str], Target], version: str
) -> dict[str, PackageKeys]:
    """The keys of all packages of the repository, by package id. `version` is that of what makes rows from facts."""
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
            keys[package.id] = PackageKeys(_digest(shape, *(file.key for file in package.files)), shape)
    return keys


class _DeepKeys:
    """Keys of packages as their importers see them: shapes without tests, all the way down."""

    def __init__(self, target_of: Callable[[CatalogPackage, str], Target]) -> None:
        self._target_of = target_of
        self._known: dict[tuple[str, str], str] = {}

    def of_imports(self, package: CatalogPackage, files: Iterable[CatalogFile]) -> list[str]:
        paths = sorted({path for file in files for path in file.imports})
        return [f"{path}={self._of(self._target_of(package, path))}" for path in paths]

    def _of(self, target: Target) -> str:
        if not isinstance(target, CatalogPackage):
            return target or "missing"
        name = (target.id, target.dir)
        known = self._known.get(name)
        if known is None:
            self._known[name] = "cycle"  # broken code may import in circles
            seen = [file for file in target.files if not file.test]
            known = _digest(*_identity(target), *map(_shape_line, seen), *self.of_imports(target, seen))
            self._known[name] = known
        return known


def _identity(package: CatalogPackage) -> tuple[str, ...]:
    return (package.id, package.path, package.name, package.dir, package.module)


def _shape_line(file: CatalogFile) -> str:
    return f"{file.path}\t{file.constraint}\t{file.shape}"


def _digest(*parts: str) -> str:
    return blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def state_key(keys: Mapping[str, PackageKeys], repository: str) -> str:
    """One key for the whole graph."""
    return _digest(repository, *(f"{id}={keys[id].edges}" for id in sorted(keys)))
