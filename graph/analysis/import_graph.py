"""The imports between packages of the repository, as the graph stores them: one for each file that has the import."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

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


Importers = dict[tuple[str, bool], set[str]]
"""The directories whose packages import the package of a directory; True: only in tests."""

_last: Final[dict[Path, tuple[str, Importers]]] = {}
"""The importers of each store, with the generation of its graph."""


def read_importers(store: Store) -> Importers:
    """Without files, lines and constraints, which take several times as long to read."""
    generation = store.generation
    known = _last.get(store.directory)
    if known is not None and known[0] == generation:
        return known[1]
    packages = {id: (dir, test) for id, dir, test in store.rows("MATCH (p:Package) RETURN p.id, p.dir, p.test")}
    importers: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    statement = "MATCH (f:File)-[:IMPORTS]->(p:Package) RETURN DISTINCT f.package, p.id, f.test"
    for source, target, is_test in store.rows(statement):
        directory, is_test_package = packages[source]
        importers[packages[target][0], is_test or is_test_package].add(directory)
    _last[store.directory] = (generation, dict(importers))
    return _last[store.directory][1]


def imported(imports: Iterable[Import]) -> dict[str, set[str]]:
    """The packages that each package imports."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in imports:
        found[one.source].add(one.target)
    return dict(found)
