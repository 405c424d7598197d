"""Puts the nodes of a directed graph into layers, so that arcs lead downwards.

The fewest arcs that must be ignored for that (see `graph.analysis.feedback_arcs`, also used by `golore cycles`) go
against the layers. Of the others, those that follow from a chain of others are *implied*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from golore.graph.analysis.components import cyclic_components
from golore.graph.analysis.feedback_arcs import Arc, fewest_cuts


class Layering(NamedTuple):
    """`rows` are names, the top layer first. Arcs keep their values."""

    rows: tuple[tuple[str, ...], ...]
    direct: dict[Arc, int]
    implied: dict[Arc, int]
    against: dict[Arc, int]


def layered(arcs: Mapping[Arc, int]) -> Layering:
    """The layers of the nodes that have arcs."""
    against = _against(arcs)
    forward = {arc: number for arc, number in arcs.items() if arc not in against}
    names = sorted({end for arc in arcs for end in arc})
    reduced = _reduced(names, forward)
    return Layering(
        _ordered(names, _depths(names, forward), forward),
        {arc: number for arc, number in forward.items() if arc in reduced},
        {arc: number for arc, number in forward.items() if arc not in reduced},
        against,
    )


def _against(arcs: Mapping[Arc, int]) -> dict[Arc, int]:
    """The fewest arcs, by value, without which there is no cycle."""
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
