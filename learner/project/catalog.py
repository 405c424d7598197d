"""The catalog: the packages of the repository and the external packages it uses, with the files of each.

A catalog is plain data, small enough to pass to every worker. It is made from the heads of files (`FileHead`); the
facts themselves stay in the cache until they are needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from golore.graph.model.entities import ImportPath, RepoPath
from golore.learner.extraction.facts import ImportSpec, Outline, Shape
from golore.learner.go_rules.build_constraints import name_tags
from golore.learner.project.package_files import PackageFile, group_packages
from golore.learner.project.project import Project


class FileHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What planning needs to know about a file: the cache key of its facts, and its part in its package."""

    key: str
    package: str
    constraint: str
    shape: str
    imports: tuple[ImportSpec, ...]


class CatalogFile(NamedTuple):
    """`path` is relative to the repository, or absolute for an external file; `constraint` includes the tags that the
    file's name implies."""

    path: str
    key: str
    constraint: str
    shape: str
    test: bool
    imports: tuple[str, ...]


class CatalogPackage(NamedTuple):
    """`context` is the directory of the repository for which the imports of an external package are looked up."""

    id: str
    path: str
    name: str
    dir: str
    module: str
    test: bool
    external: bool
    context: str
    files: tuple[CatalogFile, ...]


Catalog = Mapping[str, tuple[CatalogPackage, ...]]
"""Packages by directory: the package proper, then its external test, then strays (see `package_files`)."""


def head_of(key: str, outline: Outline) -> FileHead:
    return FileHead(key, outline.package, outline.constraint, outline.shape, outline.imports)


def head_of_shape(key: str, shape: Shape, digest: str) -> FileHead:
    return FileHead(key, shape.package, shape.constraint, digest, shape.imports)


def full_constraint(path: str, written: str) -> str:
    """The constraint that a file's name implies and the `written` one, combined."""
    from_name = " && ".join(name_tags(path.rpartition("/")[2]))
    if not from_name or not written:
        return from_name or written
    return f"{from_name} && ({written})"


def repository_catalog(project: Project, heads: Mapping[str, FileHead]) -> dict[str, tuple[CatalogPackage, ...]]:
    """The packages of the repository by directory."""
    directories: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(heads):
        directories[path.rpartition("/")[0]].append(path)
    catalog: dict[str, tuple[CatalogPackage, ...]] = {}
    for directory, paths in directories.items():
        constraints = {path: full_constraint(path, heads[path].constraint) for path in paths}
        package_files = [PackageFile(RepoPath(path), heads[path].package, constraints[path]) for path in paths]
        module = project.module_of(directory)
        groups = group_packages(project.import_path(directory), package_files, project.id_suffix(directory))
        catalog[directory] = tuple(
            CatalogPackage(
                group.id,
                group.import_path + ("_test" if group.test else ""),
                group.name,
                directory,
                module.path if module else "",
                group.test,
                False,
                directory,
                tuple(_catalog_file(path, heads[path], constraints[path]) for path in group.files),
            )
            for group in groups
        )
    return catalog


def external_package(
    import_path: str, directory: str, module: str, context: str, heads: Mapping[str, FileHead]
) -> CatalogPackage | None:
    """An external package, from the heads of its files by path; None if there are none."""
    files = {
        path: _catalog_file(path, head, full_constraint(path, head.constraint)) for path, head in sorted(heads.items())
    }
    if not files:
        return None
    package_files = [PackageFile(RepoPath(path), heads[path].package, file.constraint) for path, file in files.items()]
    proper = group_packages(ImportPath(import_path), package_files)[0]
    proper_files = tuple(files[path] for path in proper.files)
    return CatalogPackage(import_path, import_path, proper.name, directory, module, False, True, context, proper_files)


def _catalog_file(path: str, head: FileHead, constraint: str) -> CatalogFile:
    imports = tuple(dict.fromkeys(imported.path for imported in head.imports))
    return CatalogFile(path, head.key, constraint, head.shape, path.endswith("_test.go"), imports)
