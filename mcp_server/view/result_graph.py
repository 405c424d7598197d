"""The rows of a query as a small graph: the nodes and edges that they contain, or the names that they put side by side.

Works on values as the query process returns them: a node is an object with `_LABEL`, an edge one with `_SRC` and
`_DST`, a path one with `_NODES` and `_RELS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from golore.graph.analysis.feedback_arcs import Arc
from golore.mcp_server.view.drawing.layered import Node

MOST: Final = 80

Named = Callable[[object], tuple[str, str]]
"""The text of a value, and the address of the page of what it names; empty if it names nothing."""


class ResultGraph(NamedTuple):
    """`labels`: how an edge is named. `left_out`: nodes beyond the first 80, which are left out with their edges."""

    nodes: dict[str, Node]
    arcs: dict[Arc, int]
    labels: dict[Arc, str]
    left_out: int


def result_graph(rows: Iterable[Mapping[str, Any]], named: Named) -> ResultGraph | None:
    """None if the rows have no edges, nor two names side by side."""
    nodes: dict[str, Node] = {}
    arcs: Counter[Arc] = Counter()
    labels: dict[Arc, str] = {}
    for row in rows:
        parts = [part for value in row.values() for part in _parts(value)]
        edges = [part for part in parts if "_SRC" in part]
        for part in parts:
            if "_SRC" not in part:
                text, address = named(part)
                nodes.setdefault(_key(part["_ID"]), Node(text, str(part["_LABEL"]), address))
        for edge in edges:
            arc = _key(edge["_SRC"]), _key(edge["_DST"])
            arcs[arc] += 1
            labels[arc] = str(edge["_LABEL"])
        if not parts:
            pair = [(text, address) for value in row.values() for text, address in (named(value),) if address][:2]
            nodes.update({address: Node(text, "", address) for text, address in pair})
            if len(pair) == 2 and pair[0][1] != pair[1][1]:
                arcs[pair[0][1], pair[1][1]] += 1
    # An edge may be returned without its ends, and a cut list of nodes may lack some.
    shown = dict(list(nodes.items())[:MOST])
    drawn = {arc: number for arc, number in arcs.items() if arc[0] != arc[1] and shown.keys() >= set(arc)}
    return ResultGraph(shown, drawn, labels, len(nodes) - len(shown)) if drawn else None


def _parts(value: object) -> Iterator[dict[str, Any]]:
    """The nodes and edges in a value."""
    if isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _parts(one)
    elif isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        if "_NODES" in found and "_RELS" in found:
            yield from _parts([*found["_NODES"], *found["_RELS"]])
        elif "_LABEL" in found and ("_SRC" in found or "_ID" in found):
            yield found


def _key(id: object) -> str:
    """The id of a node, which the engine gives as a table and an offset."""
    return str(id)
