"""What each package's resolution depends on, as one key per package: equal keys, equal edges.

A package's edges follow from its own files and from the shapes of everything it imports, directly or not. Bodies of
other packages never count: an edited body changes one key, a changed shape the keys of those that can see it. Nor does
it count where on this machine the code outside lies, so that the keys of another one's graph hold here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple

from golore.learner.project.catalog import Catalog, CatalogFile, CatalogPackage

RESOLVER = "5"
"""Raised whenever the same facts would give other edges."""


class PackageKeys(NamedTuple):
    """`edges` changes with anything that could change the package's rows, `shape` with its method tables."""

    edges: str
    shape: str


class Keys(NamedTuple):
    """The keys of the repository's packages by id, and one for all that lies outside."""

    packages: dict[str, PackageKeys]
    outside: str


Target = CatalogPackage | str | None
"""What an import leads to: a package, a text that stands for one that never changes, or nothing."""
TargetOf = Callable[[CatalogPackage, str], Target]


def make_keys(catalog: Catalog, outside: Iterable[CatalogPackage], target_of: TargetOf, version: str) -> Keys:
    """All keys. `version` is that of what makes rows from facts."""
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
    beyond = sorted(f"{package.id}\t{_dir(package)}\t{deep.of(package)}" for package in outside)
    return Keys(keys, _digest(version, *sorted(deep.unchanging), *beyond))


def edges_key(shape: str, package: CatalogPackage) -> str:
    """What a package's rows follow from: its shape, and the content of its files."""
    return _digest(shape, *(file.key for file in package.files))


class _DeepKeys:
    """Keys of packages as their importers see them: shapes without tests, all the way down.

    Broken code may import in circles: the packages of a circle are then told by all of them together. They are found
    as Tarjan does, in one walk.
    """

    def __init__(self, target_of: TargetOf) -> None:
        self._target_of = target_of
        self._known: dict[tuple[str, str], str] = {}
        self._place: dict[tuple[str, str], int] = {}
        self._path: list[tuple[CatalogPackage, list[tuple[str, Target]]]] = []
        self.unchanging: set[str] = set()
        """The imports met that lead to something that never changes."""

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
        """Walk on from a package; returns how far back on the path something below it leads."""
        name = (package.id, package.dir)
        lowest = place = self._place[name] = len(self._place)
        start = len(self._path)
        imports = self._imports(package, [file for file in package.files if not file.test])
        self._path.append((package, imports))
        for _, target in imports:
            if isinstance(target, CatalogPackage):
                other = (target.id, target.dir)
                if other not in self._known:
                    lowest = min(lowest, self._place[other] if other in self._place else self._visit(target))
        if lowest == place:
            self._close(self._path[start:])
            del self._path[start:]
        return lowest

    def _close(self, circle: list[tuple[CatalogPackage, list[tuple[str, Target]]]]) -> None:
        """Give keys to the packages of a circle; most consist of one."""
        parts: list[str] = []
        for package, imports in circle:
            seen = [_shape_line(file) for file in package.files if not file.test]
            parts.append(_digest(*_identity(package), *seen, *(f"{path}={self._met(to)}" for path, to in imports)))
        for (package, _), part in zip(circle, parts, strict=True):
            key = part if len(circle) == 1 else _digest(part, *sorted(parts))
            self._known[package.id, package.dir] = key

    def _met(self, target: Target) -> str:
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
