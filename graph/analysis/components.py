"""Strongly connected components of a directed graph, and a shortest cycle in one of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

Graph = Mapping[str, Iterable[str]]
"""The successors of each node. A successor that is no key has none itself."""


def cyclic_components(graph: Graph) -> list[tuple[str, ...]]:
    """The components that contain a cycle, sorted: several nodes, or one that is its own successor."""
    found = (sorted(component) for component in _components(graph))
    return sorted(tuple(part) for part in found if len(part) > 1 or part[0] in graph.get(part[0], ()))


def _components(graph: Graph) -> Iterator[list[str]]:
    """Tarjan's algorithm without recursion, because chains of imports may be longer than Python's stack."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    for start in graph:
        if start in order:
            continue
        order[start] = lowest[start] = len(order)
        waiting.append(start)
        is_waiting.add(start)
        walk = [(start, iter(graph.get(start, ())))]
        while walk:
            node, successors = walk[-1]
            following = next(successors, None)
            if following is None:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    first = waiting.index(node)
                    component = waiting[first:]
                    del waiting[first:]
                    is_waiting.difference_update(component)
                    yield component
            elif following not in order:
                order[following] = lowest[following] = len(order)
                waiting.append(following)
                is_waiting.add(following)
                walk.append((following, iter(graph.get(following, ()))))
            elif following in is_waiting:
                lowest[node] = min(lowest[node], order[following])


def shortest_cycle(graph: Graph, members: Iterable[str]) -> list[str]:
    """The nodes of a shortest cycle among these, each a successor of the one before. The first is the smallest."""
    allowed = set(members)
    cycles = [path for node in sorted(allowed) if (path := shortest_path(graph, node, node, allowed))]
    shortest = min(cycles, key=len)[:-1] if cycles else []
    first = shortest.index(min(shortest)) if shortest else 0
    return shortest[first:] + shortest[:first]


def shortest_path(graph: Graph, source: str, target: str, allowed: set[str] | None = None) -> list[str]:
    """The nodes of a shortest path of at least one step, both ends included; empty if there is none."""
    before: dict[str, str] = {}
    pending = deque([source])
    while pending:
        node = pending.popleft()
        for following in sorted(graph.get(node, ())):
            if following == target:
                path = [target, node]
                while node != source:
                    node = before[node]
                    path.append(node)
                return path[::-1]
            if following != source and following not in before and (allowed is None or following in allowed):
                before[following] = node
                pending.append(following)
    return []
