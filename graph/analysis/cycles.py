"""Cycles: of imports, which Go does not build, and of directories, with the fewest imports to remove.

A directory depends on another if a package below it imports a package below the other. Directories are compared with
their neighbours: two packages count for the directories at which their paths part. Packages never form a cycle in code
that builds, but the directories above them may, and then neither can be understood or moved without the other.

Whether the files of an import cycle can be in one build is not decided; their constraints are part of the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from golore.graph.analysis.components import cyclic_components, shortest_cycle, shortest_path
from golore.graph.analysis.feedback_arcs import Arc, fewest_cuts
from golore.graph.analysis.import_graph import Import, ImportGraph, imported, read_imports
from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import USES

HERE: Final = "."
"""The package in the common directory itself, among the directories below it."""
MOST_EXPLAINED: Final = 20
"""Imports of one cut whose uses are read."""


@dataclass(frozen=True, slots=True)
class ImportStep:
    """One import of a cycle: the first file that has it."""

    source: str
    target: str
    file: str
    line: int
    constraint: str


@dataclass(frozen=True, slots=True)
class ImportCycle:
    """Packages that import each other; `steps` are a shortest cycle. `in_test`: only a package's own tests close it."""

    packages: tuple[str, ...]
    steps: tuple[ImportStep, ...]
    in_test: bool


@dataclass(frozen=True, slots=True)
class Use:
    """What an imported symbol is used by, with the lines."""

    user: str
    symbol: str
    how: str
    sites: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ImportReason:
    """A file that has the import, and what it uses of the package; nothing if it is imported for its effects."""

    file: str
    line: int
    package: str
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class DirectoryCut:
    """The imports from one directory to another that must be removed. `reasons` may be fewer than `imports`."""

    source: str
    target: str
    imports: int
    reasons: tuple[ImportReason, ...]


@dataclass(frozen=True, slots=True)
class DirectoryCycle:
    """Directories below `parent` that depend on each other. `exact`: no other cuts remove fewer imports."""

    parent: str
    directories: tuple[str, ...]
    imports: int
    cuts: tuple[DirectoryCut, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Cycles:
    imports: tuple[ImportCycle, ...]
    directories: tuple[DirectoryCycle, ...]
    packages: int


class _Dependency(NamedTuple):
    parent: str
    arc: Arc


def find_cycles(store: Store, below: str = "", *, tests: bool = False) -> Cycles:
    """The cycles among the packages below a directory. `tests`: test files count for directories, too."""
    graph = read_imports(store)
    packages = {id: one for id, one in graph.packages.items() if _is_below(one.dir, below)}
    inside = tuple(one for one in graph.imports if one.source in packages and one.target in packages)
    part = ImportGraph(packages, inside)
    return Cycles(_import_cycles(part), tuple(_directory_cycles(store, part, tests=tests)), len(packages))


def _is_below(directory: str, top: str) -> bool:
    return not top or directory == top or directory.startswith(f"{top}/")


def _import_cycles(graph: ImportGraph) -> tuple[ImportCycle, ...]:
    code = _first_imports(one for one in graph.imports if not one.test)
    tests = _first_imports(one for one in graph.imports if one.test)
    production = imported(code.values())
    found = [
        ImportCycle(component, _steps(shortest_cycle(production, component), code), in_test=False)
        for component in cyclic_components(production)
    ]
    cyclic = {package for cycle in found for package in cycle.packages}
    for (source, target), one in sorted(tests.items()):
        # An external test package (`x_test`) is imported by none, so only tests inside a package close cycles.
        if source in cyclic or (source, target) in code:
            continue
        back = [source] if target == source else shortest_path(production, target, source)
        if back:
            cyclic.add(source)
            steps = (_step(one), *_steps(back, code))
            found.append(ImportCycle(tuple(sorted({source, *back})), steps, in_test=True))
    return tuple(found)


def _first_imports(imports: Iterable[Import]) -> dict[Arc, Import]:
    first: dict[Arc, Import] = {}
    for one in imports:
        first.setdefault((one.source, one.target), one)
    return first


def _steps(cycle: list[str], first: Mapping[Arc, Import]) -> tuple[ImportStep, ...]:
    """The imports from each package to the next, and from the last to the first if it has that import."""
    arcs = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    return tuple(_step(first[arc]) for arc in arcs if arc in first)


def _step(one: Import) -> ImportStep:
    return ImportStep(one.source, one.target, one.file, one.line, one.constraint)


def _directory_cycles(store: Store, graph: ImportGraph, *, tests: bool) -> Iterator[DirectoryCycle]:
    by_parent: defaultdict[str, defaultdict[Arc, list[Import]]] = defaultdict(lambda: defaultdict(list))
    for one in graph.imports:
        if tests or not one.test:
            found = _dependency(graph.packages[one.source].dir, graph.packages[one.target].dir)
            if found is not None:
                by_parent[found.parent][found.arc].append(one)
    for parent, arcs in sorted(by_parent.items()):
        successors: defaultdict[str, set[str]] = defaultdict(set)
        for source, target in arcs:
            successors[source].add(target)
        for component in cyclic_components(successors):
            members = set(component)
            inner = {arc: len(imports) for arc, imports in arcs.items() if members.issuperset(arc)}
            cut = fewest_cuts(component, inner)
            yield DirectoryCycle(
                parent,
                component,
                sum(inner.values()),
                tuple(_cut(store, arc, arcs[arc]) for arc in cut.arcs),
                cut.exact,
            )


def _dependency(source: str, target: str) -> _Dependency | None:
    """The directories at which two paths part, and their parent; None for two packages of one directory."""
    first, last = source.split("/") if source else [], target.split("/") if target else []
    depth = 0
    while depth < min(len(first), len(last)) and first[depth] == last[depth]:
        depth += 1
    if first == last:
        return None
    names = [parts[depth] if depth < len(parts) else HERE for parts in (first, last)]
    return _Dependency("/".join(first[:depth]), (names[0], names[1]))


def _cut(store: Store, arc: Arc, imports: list[Import]) -> DirectoryCut:
    reasons = tuple(
        ImportReason(one.file, one.line, one.target, tuple(_uses(store, one))) for one in imports[:MOST_EXPLAINED]
    )
    return DirectoryCut(*arc, len(imports), reasons)


def _uses(store: Store, one: Import) -> Iterator[Use]:
    """What the declarations of a file use of the package that it imports, most uses first."""
    found: list[Use] = []
    for label in USES:
        statement = (
            f"MATCH (f:File {{id: $file}})-[:CONTAINS]->(a:Symbol)-[e:{label}]->(b:Symbol) WHERE b.package = $package "
            "RETURN a.qualified_name, b.qualified_name, e.sites"
        )
        for user, symbol, sites in store.rows(statement, {"file": one.file, "package": one.target}):
            found.append(Use(user, symbol, label.lower(), tuple(map(int, sites.split()))))
    yield from sorted(found, key=lambda use: (-len(use.sites), use.user, use.symbol, use.how))
