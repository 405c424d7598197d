"""Sorts the files of one directory into Go packages, as the `go` command would see them.

A directory has one package proper; its external test package (`x_test`) is another; files of any other package name,
such as a `package main` that is only run by hand, are strays, and each such name is a package of its own. The caller
passes the import path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from golore.graph.model.entities import ImportPath, PackageId, RepoPath
from golore.learner.go_rules.build_constraints import satisfied


class Role(IntEnum):
    PROPER = 0
    EXTERNAL_TEST = 1
    STRAY = 2


class PackageFile(NamedTuple):
    path: RepoPath
    package_name: str
    constraint: str = ""

    @property
    def is_test(self) -> bool:
        return self.path.endswith("_test.go")


class GoPackage(NamedTuple):
    id: PackageId
    import_path: ImportPath
    name: str
    test: bool
    """An external test package."""
    files: tuple[RepoPath, ...]


def group_packages(import_path: ImportPath, files: Iterable[PackageFile], id_suffix: str = "") -> tuple[GoPackage, ...]:
    """The packages of one directory: the package proper, then its external test, then strays by name.

    Files without a package name (broken ones) belong to the package proper. `id_suffix` distinguishes directories that
    share an import path.
    """
    ordered = sorted(files)
    primary = primary_name(ordered)
    groups: defaultdict[tuple[Role, str], list[RepoPath]] = defaultdict(list)
    for file in ordered:
        groups[role_of(file, primary), file.package_name or primary].append(file.path)
    packages: list[GoPackage] = []
    for (role, name), paths in sorted(groups.items()):
        suffix = f" [{name}]" if role is Role.STRAY else "_test" if role is Role.EXTERNAL_TEST else ""
        identity = PackageId(f"{import_path}{suffix}{id_suffix}")
        packages.append(GoPackage(identity, import_path, name, role is Role.EXTERNAL_TEST, tuple(paths)))
    return tuple(packages)


def role_of(file: PackageFile, primary: str) -> Role:
    """The role of a file in a directory whose package proper is called `primary`."""
    if file.package_name in ("", primary):
        return Role.PROPER
    if file.is_test and file.package_name == f"{primary}_test":
        return Role.EXTERNAL_TEST
    return Role.STRAY


def primary_name(files: Iterable[PackageFile]) -> str:
    """The name of the package proper: the most frequent one in the default build, else in other builds, else in tests.

    Files of `package documentation` count only if there are no others, because Go ignores them.
    """
    votes: defaultdict[str, tuple[int, int, int, int]] = defaultdict(lambda: (0, 0, 0, 0))
    for file in files:
        name = file.package_name
        if file.is_test:
            name = name.removesuffix("_test")
        if not name:
            continue
        built = satisfied(file.constraint) and name != "documentation"
        code, elsewhere, tests, all_files = votes[name]
        votes[name] = (
            code + (built and not file.is_test),
            elsewhere + (not built and not file.is_test and not _has_ignore_tag(file) and name != "documentation"),
            tests + (file.is_test and not _has_ignore_tag(file)),
            all_files + 1,
        )
    return max(sorted(votes), key=lambda name: (votes[name], name != "main"), default="")


def _has_ignore_tag(file: PackageFile) -> bool:
    """Whether the conventional tag `ignore` keeps a file out of every build."""
    return "ignore" in file.constraint.split(" && ")
