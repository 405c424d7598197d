"""Loads packages from the repository's facts, from facts of code outside it, and from the standard library index.

`PackageLoader` is the `Loader` of a `World`. It builds each package once, from shapes that `shape_of` fetches by key;
it reads no source files itself.
"""

from __future__ import annotations

from collections.abc import Callable

from golore.learner.extraction.facts import Shape
from golore.learner.project.catalog import Catalog, CatalogPackage
from golore.learner.project.project import Location, Project
from golore.learner.project.stdlib_index import package_files
from golore.learner.resolution.types import PackageScope
from golore.learner.resolution.world import Loader, ShapedFile, build_package

ShapeOf = Callable[[str], Shape]
ReadOutside = Callable[[Location, str], CatalogPackage | None]
"""Location of a package outside the repository, directory that imports it → the package; None if it has no files."""


class PackageLoader(Loader):
    """`outside` are the packages outside the repository by directory; `read_outside` reads those that are missing."""

    def __init__(
        self,
        project: Project,
        catalog: Catalog,
        outside: dict[str, CatalogPackage],
        shape_of: ShapeOf,
        read_outside: ReadOutside | None = None,
    ) -> None:
        self._project = project
        self._catalog = catalog
        self._outside = outside
        self._shape_of = shape_of
        self._read_outside = read_outside
        self._directories: dict[str, list[PackageScope]] = {}
        self._external: dict[str, PackageScope | None] = {}
        self._found: dict[tuple[str, str], PackageScope | None] = {}

    def replace_catalog(self, catalog: Catalog) -> None:
        """Replace the catalog by one of the same packages with the same shapes, whose facts may have other keys."""
        self._catalog = catalog

    @property
    def loaded_count(self) -> int:
        """Number of directories and external packages looked up so far."""
        return len(self._directories) + len(self._external)

    def packages_in(self, directory: str) -> list[PackageScope]:
        """Return the repository's packages in one directory, in the catalog's order."""
        found = self._directories.get(directory)
        if found is None:
            found = list[PackageScope]()
            for entry in self._catalog.get(directory, ()):
                package = self._build(entry)
                if entry.test and found:
                    package.package_under_test = found[0]
                found.append(package)
            self._directories[directory] = found
        return found

    def find(self, importer: PackageScope, path: str) -> PackageScope | None:
        key = (importer.dir, path)
        if key not in self._found:
            self._found[key] = self._find(importer, path)
        return self._found[key]

    def _find(self, importer: PackageScope, path: str) -> PackageScope | None:
        if importer.dir == STANDARD:
            return self.standard_package(path)
        location = self._project.find(importer.dir, path)
        if location is None:
            return None
        if location.kind == "repo":
            packages = self.packages_in(location.dir)
            return packages[0] if packages else None
        if location.kind == "std":
            return self.standard_package(location.import_path)
        if self._read_outside is not None and location.dir not in self._external:
            found = self._read_outside(location, importer.dir)
            if found is not None:
                self._outside[location.dir] = found
        return self.external_package(location.dir)

    def standard_package(self, path: str) -> PackageScope | None:
        """Return a package of the standard library from the shipped index, None if it has none."""
        key = f"std {path}"
        if key not in self._external:
            files = package_files(path)
            package = None
            if files is not None:
                shaped = [ShapedFile(file.path, file.constraint, False, file.shape) for file in files]
                package = build_package(path, path, files[0].shape.package, STANDARD, shaped, True)
            self._external[key] = package
        return self._external[key]

    def external_package(self, directory: str) -> PackageScope | None:
        """Return a package outside the repository by its absolute directory, None if it was not read."""
        if directory not in self._external:
            entry = self._outside.get(directory)
            self._external[directory] = None if entry is None else self._build(entry)
        return self._external[directory]

    def _build(self, entry: CatalogPackage) -> PackageScope:
        shaped = [ShapedFile(file.path, file.constraint, file.test, self._shape_of(file.key)) for file in entry.files]
        # An external package resolves its imports like the repository directory that it is read for.
        return build_package(entry.path, entry.id, entry.name, entry.context, shaped, entry.external)


STANDARD = "\0std"
"""The directory of packages from the standard library index: their imports are looked up in the index, too."""
