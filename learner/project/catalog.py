"""Which packages there are, and which files each consists of: the repository's own and those outside that it uses.

A catalog is plain data, small enough to hand to every worker. It is made from the heads of files (`FileHead`); the
facts themselves stay in the cache until somebody needs them.
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
    """What planning needs to know of a file: where its facts are, and how it takes part in its package."""

    key: str
    package: str
    constraint: str
    shape: str
    imports: tuple[ImportSpec, ...]


class CatalogFile(NamedTuple):
    """`path` is repository-relative, or absolute outside; `constraint` includes what the file's name says."""

    path: str
    key: str
    constraint: str
    shape: str
    test: bool
    imports: tuple[str, ...]


class CatalogPackage(NamedTuple):
    """`context` is the directory of the repository on whose behalf an outside package is read."""

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
"""Packages by directory: the proper one first, then its external test, then strays."""


def head_of(key: str, outline: Outline) -> FileHead:
    return FileHead(key, outline.package, outline.constraint, outline.shape, outline.imports)


def head_of_shape(key: str, shape: Shape, digest: str) -> FileHead:
    return FileHead(key, shape.package, shape.constraint, digest, shape.imports)


def whole_constraint(path: str, written: str) -> str:
    """What a file's name and its own lines demand together."""
    named = " && ".join(name_tags(path.rpartition("/")[2]))
    if not named or not written:
        return named or written
    return f"{named} && ({written})"


def repository_catalog(project: Project, heads: Mapping[str, FileHead]) -> dict[str, tuple[CatalogPackage, ...]]:
    """The repository's packages."""
    directories: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(heads):
        directories[path.rpartition("/")[0]].append(path)
    catalog: dict[str, tuple[CatalogPackage, ...]] = {}
    for directory, paths in directories.items():
        constraints = {path: whole_constraint(path, heads[path].constraint) for path in paths}
        listed = [PackageFile(RepoPath(path), heads[path].package, constraints[path]) for path in paths]
        module = project.module_of(directory)
        groups = group_packages(project.import_path(directory), listed, project.id_suffix(directory))
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
                tuple(_file(path, heads[path], constraints[path]) for path in group.files),
            )
            for group in groups
        )
    return catalog


def outside_package(
    import_path: str, directory: str, module: str, context: str, heads: Mapping[str, FileHead]
) -> CatalogPackage | None:
    """A package outside the repository, from the heads of its files by path; None if there are none."""
    files = {path: _file(path, head, whole_constraint(path, head.constraint)) for path, head in sorted(heads.items())}
    if not files:
        return None
    listed = [PackageFile(RepoPath(path), heads[path].package, file.constraint) for path, file in files.items()]
    proper = group_packages(ImportPath(import_path), listed)[0]
    kept = tuple(files[path] for path in proper.files)
    return CatalogPackage(import_path, import_path, proper.name, directory, module, False, True, context, kept)


def _file(path: str, head: FileHead, constraint: str) -> CatalogFile:
    imports = tuple(dict.fromkeys(imported.path for imported in head.imports))
    return CatalogFile(path, head.key, constraint, head.shape, path.endswith("_test.go"), imports)
