"""Declarations that nothing reaches from the roots: `main` and `init`, on request tests and exported API.

The answer has three values. *Dead*: not reached, whatever reflection, directives or unresolved code do. *Uncertain*:
reached only by such means, which are named. All others are reached. Only packages that a root links are judged: what no
program imports is listed as packages, not as declarations. Fields, the methods of interfaces, and methods that only
mark their type as belonging to an interface are not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from golore.graph.analysis.code_graph import CodeGraph, Declared, read_code_graph
from golore.graph.analysis.hidden_uses import hidden_uses
from golore.graph.analysis.program_candidates import programs
from golore.graph.analysis.reachability import Reachability
from golore.graph.database.store import Store
from golore.graph.model.test_names import is_test_name

_JUDGED: Final = frozenset(("func", "method", "struct", "interface", "type", "alias", "const", "var"))


@dataclass(frozen=True, slots=True)
class Roots:
    """What the search started from. `exported`: the exported API of packages that other modules can import."""

    programs: tuple[str, ...]
    tests: int
    exported: bool
    elsewhere: int = 0
    """Declarations that other repositories use, if these were asked."""


@dataclass(frozen=True, slots=True)
class DeadDeclaration:
    """`reason`: the means by which alone it is reached, empty if it is dead. `satisfies`: the interfaces that its type
    is used as and that require it: it cannot be removed alone."""

    id: str
    kind: str
    qualified_name: str
    file: str
    line: int
    reason: str
    satisfies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeadCode:
    roots: Roots
    judged: int
    dead: tuple[DeadDeclaration, ...]
    uncertain: tuple[DeadDeclaration, ...]
    unlinked: tuple[str, ...]
    """Packages that no root links."""


@dataclass(frozen=True, slots=True)
class OutsideUses:
    """What other repositories use: names, and everything exported of some packages, of which that is not known."""

    names: frozenset[str]
    packages: frozenset[str]


def find_dead_code(
    store: Store, root: Path, below: str, *, tests: bool, exported: bool, outside: OutsideUses | None = None
) -> DeadCode:
    """The dead code below a directory. A repository without programs is a library: its exported API counts, unless it
    is known which part of it others use (`outside`)."""
    graph = read_code_graph(store)
    mains = programs(graph)
    exported = exported or (not mains and outside is None)
    search = Reachability(graph)
    search.reach(mains)
    if exported:
        search.reach(_exported(graph))
    used = _used_outside(graph, outside) if outside is not None else []
    search.reach(used)
    started = reach_tests(search) if tests else 0
    certain = frozenset(search.reached)
    search.assume(hidden_uses(root, graph, search.packages))
    judged = [number for number in _judged(graph, search, below) if tests or not graph.declared[number].test]
    judged = [number for number in judged if number in certain or not is_marker(graph, number)]
    found = [_described(search, number) for number in judged if number not in certain]
    return DeadCode(
        Roots(tuple(graph.declared[number].package for number in mains), started, exported, len(used)),
        len(judged),
        tuple(one for one in found if not one.reason),
        tuple(one for one in found if one.reason),
        tuple(_unlinked(graph, search, below, tests=tests)),
    )


def _exported(graph: CodeGraph) -> list[int]:
    """What other modules can use: the exported declarations and members of packages that they can import."""
    return [
        number
        for number, one in enumerate(graph.declared)
        if one.exported and not one.test and is_importable(graph, one.package)
    ]


def _used_outside(graph: CodeGraph, outside: OutsideUses) -> list[int]:
    unknown = {
        number for number in _exported(graph) if graph.packages[graph.declared[number].package].path in outside.packages
    }
    named = {
        number for number, one in enumerate(graph.declared) if one.qualified_name in outside.names and not one.test
    }
    return sorted(unknown | named)


def is_importable(graph: CodeGraph, package: str) -> bool:
    entry = graph.packages[package]
    return entry.name != "main" and not entry.test and "internal" not in entry.path.split("/")


def reach_tests(search: Reachability) -> int:
    """Continue from all tests, and return how many there are."""
    graph = search.graph
    roots = [
        number
        for number, one in enumerate(graph.declared)
        if one.test and one.kind == "func" and (is_test_name(one.name) or one.name == "TestMain")
    ]
    for package in sorted({one.package for one in graph.declared if one.test}):
        search.link_tests(package)
    search.reach(roots)
    return len(roots)


def is_marker(graph: CodeGraph, number: int) -> bool:
    """Whether a method only marks its type: unexported, bare, and also a method of an interface of its package."""
    one = graph.declared[number]
    if one.kind != "method" or one.exported or not one.signature.endswith("()"):
        return False
    named = (graph.declared[other] for other in graph.methods_by_name[one.name])
    return any(other.kind == "imethod" and other.package == one.package for other in named)


def _judged(graph: CodeGraph, search: Reachability, below: str) -> Iterator[int]:
    for package in sorted(search.packages):
        if _is_below(graph, package, below):
            for number in graph.by_package.get(package, ()):
                one = graph.declared[number]
                if one.kind in _JUDGED and one.name != "_" and not _is_root(graph, one):
                    yield number


def _is_root(graph: CodeGraph, one: Declared) -> bool:
    return one.kind == "func" and (
        one.name == "init" or (one.name == "main" and graph.packages[one.package].name == "main")
    )


def _is_below(graph: CodeGraph, package: str, below: str) -> bool:
    directory = graph.packages[package].dir
    return not below or directory == below or directory.startswith(below + "/")


def _described(search: Reachability, number: int) -> DeadDeclaration:
    one = search.graph.declared[number]
    reason = search.reached.get(number, "")
    satisfies = tuple(_required_by(search, number)) if one.kind == "method" else ()
    return DeadDeclaration(one.id, one.kind, one.qualified_name, one.file, one.line, reason, satisfies)


def _required_by(search: Reachability, method: int) -> Iterable[str]:
    graph = search.graph
    one = graph.declared[method]
    for interface in graph.implements[one.owner] if one.owner >= 0 else ():
        if interface in search.reached and one.name in graph.method_set(interface):
            yield graph.declared[interface].qualified_name


def _unlinked(graph: CodeGraph, search: Reachability, below: str, *, tests: bool) -> Iterator[str]:
    for id in sorted(graph.packages.keys() - search.packages):
        if _is_below(graph, id, below) and (tests or not graph.packages[id].test):
            yield id
