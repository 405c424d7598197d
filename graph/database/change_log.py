"""Logs which nodes each change of the graph affected, so that data derived from the whole graph stays valid for the
other nodes.

The file `touched` has one line per change: the generation of the graph before and after it, the nodes that were added
or changed or are at an end of an added or removed edge, and the nodes that were removed. Losing a line costs only time:
the affected nodes are then unknown, and everything is derived again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from golore.graph.model.edge_kinds import STEPS

if TYPE_CHECKING:
    from golore.graph.model.delta import GraphDelta

_LOG_NAME: Final = "touched"
_MAX_BYTES: Final = 4 << 20
"""Size after which the file is started again: by then it is time to derive everything from the whole graph."""
_MAX_NODES: Final = 20_000
"""A change of more nodes is not logged, and the log is deleted: deriving everything again is no more work."""
_LABELS: Final = ("Symbol", "External")


class ChangedNodes(NamedTuple):
    """Ids of nodes that were added, changed or connected differently, and of nodes that were removed at some point."""

    changed: frozenset[str]
    removed: frozenset[str]


NO_CHANGES: Final = ChangedNodes(frozenset(), frozenset())


def nodes_changed_by(delta: GraphDelta) -> ChangedNodes:
    changed: set[str] = set()
    gone: set[str] = set()
    for label in _LABELS:
        gone.update(delta.nodes_removed.get(label, ()))
        for rows in (delta.nodes_added, delta.nodes_changed):
            changed.update(node[0] for node in rows.get(label, ()))
    for kind in delta.edges_removed.keys() | delta.edges_added.keys():
        if kind.label in STEPS and kind.source in _LABELS:
            for ends in (*delta.edges_removed.get(kind, ()), *delta.edges_added.get(kind, ())):
                changed.update(ends[:2])
    return ChangedNodes(frozenset(changed), frozenset(gone))


def record_changed_nodes(directory: Path, before: str, after: str, nodes: ChangedNodes) -> None:
    """`before` and `after` are generations of the graph (see `Store.generation`). A failed write is ignored."""
    path = directory / _LOG_NAME
    if len(nodes.changed) + len(nodes.removed) > _MAX_NODES:
        path.unlink(missing_ok=True)
        return
    line = json.dumps([before, after, sorted(nodes.changed), sorted(nodes.removed)], ensure_ascii=False) + "\n"
    with suppress(OSError):
        is_long = path.exists() and path.stat().st_size > _MAX_BYTES
        with path.open("w" if is_long else "a", encoding="utf-8") as file:
            file.write(line)


def changed_nodes_since(directory: Path, before: str, now: str) -> ChangedNodes | None:
    """The nodes affected between two generations of the graph; None if they are unknown."""
    if before == now:
        return NO_CHANGES
    changed: set[str] = set()
    gone: set[str] = set()
    generation = before
    try:
        with (directory / _LOG_NAME).open(encoding="utf-8") as lines:
            for line in lines:
                first, last, changed_ids, gone_ids = json.loads(line)
                if first == generation:
                    generation = last
                    changed.update(changed_ids)
                    gone.update(gone_ids)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return ChangedNodes(frozenset(changed), frozenset(gone)) if generation == now else None
