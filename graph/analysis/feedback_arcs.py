"""The edges to cut so that a graph has no cycle: as few as possible, by weight.

Removing the edges that point backwards in some order of the nodes breaks all cycles, so the best order is searched. For
up to `EXACT` nodes, all orders are compared through their prefixes; otherwise a greedy order is improved by moving
single nodes until no move helps, then arcs that close no cycle are kept; the result may not be the smallest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from golore.graph.analysis.components import shortest_path

EXACT: Final = 12
"""Nodes up to which the result is exact: 4,096 prefixes."""
Arc = tuple[str, str]


class Cut(NamedTuple):
    """The arcs to remove, sorted, and whether fewer could not be enough."""

    arcs: tuple[Arc, ...]
    exact: bool


def fewest_cuts(nodes: Sequence[str], weights: Mapping[Arc, int]) -> Cut:
    """The arcs with the smallest total weight whose removal leaves no cycle among the nodes. No arc joins a node to
    itself."""
    ordered = sorted(nodes)
    position = {node: at for at, node in enumerate(ordered)}
    matrix = [[0] * len(ordered) for _ in ordered]
    for (source, target), weight in weights.items():
        matrix[position[source]][position[target]] = weight
    exact = len(ordered) <= EXACT
    order = _best_order(matrix) if exact else _improved(matrix, _greedy_order(matrix))
    place = {ordered[index]: at for at, index in enumerate(order)}
    backward = [arc for arc in weights if place[arc[0]] > place[arc[1]]]
    return Cut(tuple(sorted(backward if exact else _needed(backward, weights))), exact)


def _needed(arcs: list[Arc], weights: Mapping[Arc, int]) -> list[Arc]:
    """Those of the arcs to cut without which a cycle would be left; the lightest, if there is a choice."""
    kept: dict[str, set[str]] = {}
    for source, target in weights.keys() - set(arcs):
        kept.setdefault(source, set()).add(target)
    needed: list[Arc] = []
    for source, target in sorted(arcs, key=lambda arc: (-weights[arc], arc)):
        if shortest_path(kept, target, source):
            needed.append((source, target))
        else:
            kept.setdefault(source, set()).add(target)
    return needed


def _best_order(matrix: list[list[int]]) -> list[int]:
    """The order with the least weight of arcs that point backwards, by dynamic programming over sets of first nodes."""
    count = len(matrix)
    costs = [0] * (1 << count)
    last = [0] * (1 << count)
    for chosen in range(1, 1 << count):
        best = -1
        for node in range(count):
            if not chosen >> node & 1:
                continue
            others = chosen & ~(1 << node)
            row = matrix[node]
            cost = costs[others] + sum(row[other] for other in range(count) if others >> other & 1)
            if best < 0 or cost < best:
                best, last[chosen] = cost, node
        costs[chosen] = best
    order: list[int] = []
    chosen = (1 << count) - 1
    while chosen:
        order.append(last[chosen])
        chosen &= ~(1 << last[chosen])
    return order[::-1]


def _greedy_order(matrix: list[list[int]]) -> list[int]:
    """The order of Eades, Lin and Smyth: sinks last, sources first, otherwise the node that gives most and takes least
    comes first."""
    left = set(range(len(matrix)))
    first: list[int] = []
    last: list[int] = []
    while left:
        outgoing = {node: sum(matrix[node][other] for other in left) for node in left}
        incoming = {node: sum(matrix[other][node] for other in left) for node in left}
        node = min(left, key=lambda one: (outgoing[one] > 0, incoming[one] > 0, incoming[one] - outgoing[one], one))
        left.remove(node)
        if outgoing[node]:
            first.append(node)
        else:
            last.append(node)
    return first + last[::-1]


def _improved(matrix: list[list[int]], order: list[int]) -> list[int]:
    """Move single nodes to better positions until no move reduces the weight of arcs that point backwards."""
    is_better = True
    while is_better:
        is_better = False
        for node in order:
            at = order.index(node)
            rest = order[:at] + order[at + 1 :]
            change = best_change = 0
            best = at
            for step in (-1, 1):
                change = 0
                positions = range(at - 1, -1, -1) if step < 0 else range(at, len(rest))
                for position in positions:
                    passed = rest[position]
                    gain = matrix[node][passed] - matrix[passed][node]
                    change += -gain if step < 0 else gain
                    if change < best_change:
                        best_change, best = change, position if step < 0 else position + 1
            if best_change < 0:
                order = [*rest[:best], node, *rest[best:]]
                is_better = True
    return order
