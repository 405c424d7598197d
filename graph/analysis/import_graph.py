"""The imports between packages of the repository, as the graph stores them: one for each file that has the import."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from golore.graph.database.store import Store


class PackageEntry(NamedTuple):
    """A package of the repository. `test`: an external test package."""

    id: str
    path: str
    name: str
    dir: str
    module: str
    test: bool


class Import(NamedTuple):
    """A file that imports a package of the repository. `constraint`: the builds that the file is part of."""

    source: str
    target: str
    file: str
    line: int
    test: bool
    constraint: str


class ImportGraph(NamedTuple):
    packages: dict[str, PackageEntry]
    imports: tuple[Import, ...]


def read_imports(store: Store) -> ImportGraph:
    rows = store.rows("MATCH (p:Package) RETURN p.id, p.path, p.name, p.dir, p.module, p.test ORDER BY p.id")
    packages = {row[0]: PackageEntry(*row) for row in rows}
    statement = (
        "MATCH (f:File)-[e:IMPORTS]->(p:Package) "
        "RETURN f.package, p.id, f.path, e.sites, f.test, f.constraint ORDER BY f.path, p.id"
    )
    imports = tuple(
        Import(source, target, file, int(sites.partition(" ")[0] or 0), test, constraint)
        for source, target, file, sites, test, constraint in store.rows(statement)
    )
    return ImportGraph(packages, imports)


def imported(imports: Iterable[Import]) -> dict[str, set[str]]:
    """The packages that each package imports."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in imports:
        found[one.source].add(one.target)
    return dict(found)
