"""The directories below one directory, in layers: what imports others is above them.

Packages never import each other in a circle, but directories may. The fewest imports that must be ignored to have
layers (see `graph.analysis.feedback_arcs`, also used by `golore cycles`) go against the layers. Of the others, those
that follow from a chain of others are *implied*.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from golore.graph.analysis.components import cyclic_components
from golore.graph.analysis.feedback_arcs import Arc, fewest_cuts
from golore.mcp_server.view.overview import FileNumbers, Overview

HERE: Final = "."
"""The files of the directory itself, among the directories below it."""
MOST: Final = 79
"""Directories that are drawn. The smallest others are one box."""
REST: Final = "…"


class Directory(NamedTuple):
    """A directory below the one that is shown. `path` is relative to the root."""

    name: str
    path: str
    packages: int
    files: int
    lines: int
    functions: int
    tested: int
    rank: float


class Layers(NamedTuple):
    """`rows` are names, the top layer first. An arc leads from the importing directory; its value is the number of
    files with such an import."""

    directories: tuple[Directory, ...]
    rows: tuple[tuple[str, ...], ...]
    alone: tuple[str, ...]
    """directories without imports among these"""
    direct: dict[Arc, int]
    implied: dict[Arc, int]
    against: dict[Arc, int]


def layers_below(overview: Overview, parent: str) -> Layers:
    directories = _directories(overview, parent)
    drawn = {one.name for one in sorted(directories, key=lambda one: (-one.lines, one.name))[:MOST]}
    arcs = _arcs(overview, parent, drawn)
    against = _against(arcs)
    forward = {arc: number for arc, number in arcs.items() if arc not in against}
    names = sorted({end for arc in arcs for end in arc})
    reduced = _reduced(names, forward)
    depth = _depths(names, forward)
    rows = _ordered(names, depth, forward)
    shown = [one.name for one in directories if one.name in drawn] + ([REST] if len(directories) > MOST else [])
    return Layers(
        tuple(directories),
        rows,
        tuple(name for name in shown if name not in names),
        {arc: number for arc, number in forward.items() if arc in reduced},
        {arc: number for arc, number in forward.items() if arc not in reduced},
        against,
    )


def below(directory: str, parent: str) -> str | None:
    """The name of the directory directly below `parent` that contains a directory; None if it is elsewhere."""
    if directory == parent:
        return HERE
    inner = directory.removeprefix(f"{parent}/") if parent else directory
    return inner.partition("/")[0] if inner != directory or not parent else None


def _directories(overview: Overview, parent: str) -> list[Directory]:
    files: defaultdict[str, list[FileNumbers]] = defaultdict(list)
    for one in overview.files:
        name = below(one.path.rpartition("/")[0], parent)
        if name is not None:
            files[name].append(one)
    packages = Counter(below(one.dir, parent) for one in overview.packages.values())
    return [
        Directory(
            name,
            (f"{parent}/{name}" if parent else name) if name != HERE else parent,
            packages[name],
            len(found),
            sum(one.lines for one in found),
            sum(one.functions for one in found if not one.test),
            sum(one.tested for one in found if not one.test),
            max(one.rank for one in found),
        )
        for name, found in sorted(files.items())
    ]


def _arcs(overview: Overview, parent: str, drawn: set[str]) -> dict[Arc, int]:
    arcs: Counter[Arc] = Counter()
    names = {id: below(one.dir, parent) for id, one in overview.packages.items()}
    for id, package in overview.packages.items():
        source = names[id]
        if source is None:
            continue
        for imported, number in package.imports.items():
            target = names.get(imported)
            if target is not None and target != source:
                arcs[source if source in drawn else REST, target if target in drawn else REST] += number
    return {arc: number for arc, number in sorted(arcs.items()) if arc[0] != arc[1]}


def _against(arcs: Mapping[Arc, int]) -> dict[Arc, int]:
    successors: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in arcs:
        successors[source].add(target)
    found: dict[Arc, int] = {}
    for component in cyclic_components(successors):
        members = set(component)
        inner = {arc: number for arc, number in arcs.items() if members.issuperset(arc)}
        found.update({arc: inner[arc] for arc in fewest_cuts(component, inner).arcs})
    return found


def prepare() -> None:
    """Load networkx, which takes half a second: after the first page was shown, which does not need it."""
    import networkx as nx

    nx.DiGraph()


def _reduced(names: list[str], forward: Mapping[Arc, int]) -> set[Arc]:
    """The arcs that do not follow from others."""
    import networkx as nx  # not at the top: see `prepare`

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(forward)
    return set(nx.transitive_reduction(graph).edges())


def _depths(names: list[str], forward: Mapping[Arc, int]) -> dict[str, int]:
    """The layer of each directory: the longest way from one that nothing here imports."""
    importers: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in forward:
        importers[target].append(source)
    depth: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in depth:
            depth[name] = max((of(one) + 1 for one in importers[name]), default=0)
        return depth[name]

    for name in names:
        of(name)
    return depth


def _ordered(names: list[str], depth: Mapping[str, int], forward: Mapping[Arc, int]) -> tuple[tuple[str, ...], ...]:
    """The layers, each ordered by the mean position of what imports its directories."""
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        rows[depth[name]].append(name)
    position: dict[str, float] = {}
    for row in rows:
        ordered = sorted(row, key=lambda name: (_mean(name, position, forward), name))
        for at, name in enumerate(ordered):
            position[name] = (at + 0.5) / len(ordered)
        row[:] = ordered
    return tuple(tuple(row) for row in rows)


def _mean(name: str, position: Mapping[str, float], forward: Mapping[Arc, int]) -> float:
    found = [position[source] for source, target in forward if target == name and source in position]
    return sum(found) / len(found) if found else 0.5
