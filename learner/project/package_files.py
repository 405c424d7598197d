"""Sorts the files of one directory into Go packages, as the `go` command would see them.

A directory holds one package proper; its external test package (`x_test`) is another; files of any other name beside
it, such as a `package main` that is only ever run by hand, are strays and each name is a package of its own. Import
paths are given, not found out: that is `project`'s affair.
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
    """The packages of one directory: the one proper first, then its external test, then strays by name.

    Files without a package name (broken ones) go with the package proper. `id_suffix` tells apart directories that
    share an import path.
    """
    ordered = sorted(files)
    primary = primary_name(ordered)
    groups: defaultdict[tuple[Role, str], list[RepoPath]] = defaultdict(list)
    for file in ordered:
        groups[role_of(file, primary), file.package_name or primary].append(file.path)
    packages: list[GoPackage] = []
    for (role, name), paths in sorted(groups.items()):
        mark = f" [{name}]" if role is Role.STRAY else "_test" if role is Role.EXTERNAL_TEST else ""
        identity = PackageId(f"{import_path}{mark}{id_suffix}")
        packages.append(GoPackage(identity, import_path, name, role is Role.EXTERNAL_TEST, tuple(paths)))
    return tuple(packages)


def role_of(file: PackageFile, primary: str) -> Role:
    """What a file is in a directory whose package proper has the given name."""
    if file.package_name in ("", primary):
        return Role.PROPER
    if file.is_test and file.package_name == f"{primary}_test":
        return Role.EXTERNAL_TEST
    return Role.STRAY


def primary_name(files: Iterable[PackageFile]) -> str:
    """The name of the package proper: that of most files in an ordinary build, before those only found elsewhere.

    Go takes `package documentation` for prose, and a directory of tests only is named by them.
    """
    votes: defaultdict[str, tuple[int, int, int, int]] = defaultdict(lambda: (0, 0, 0, 0))
    for file in files:
        name = file.package_name
        if file.is_test:
            name = name.removesuffix("_test")
        if not name:
            continue
        built = satisfied(file.constraint) and name != "documentation"
        code, elsewhere, tests, prose = votes[name]
        votes[name] = (
            code + (built and not file.is_test),
            elsewhere + (not built and not file.is_test and not _by_hand(file) and name != "documentation"),
            tests + (file.is_test and not _by_hand(file)),
            prose + 1,
        )
    return max(sorted(votes), key=lambda name: (votes[name], name != "main"), default="")


def _by_hand(file: PackageFile) -> bool:
    """Kept out of every build by the conventional tag."""
    return "ignore" in file.constraint.split(" && ")
