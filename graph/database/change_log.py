"""Notes what each change of the graph touched, so that what was derived from all of it stays good for the rest.

A line for each change: the graph's name before and after it, the nodes that are gone, and those that are new, changed
or at the end of an edge that is. Losing a line costs time and nothing else: then nothing is known of what was touched.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import STEPS

_NAME: Final = "touched"
_LONGEST: Final = 4 << 20
"""Bytes after which the notes begin anew: by then it is time to derive again from all of the graph."""
_MOST: Final = 20_000
"""Nodes of one change beyond which nothing is noted: it is no less work to derive everything again."""
_LABELS: Final = ("Symbol", "External")


class ChangedNodes(NamedTuple):
    """Ids of nodes that are not what they were, and of those that were removed at some time."""

    changed: frozenset[str]
    gone: frozenset[str]


NOTHING: Final = ChangedNodes(frozenset(), frozenset())


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


def record_changed_nodes(directory: Path, before: str, after: str, touched: ChangedNodes) -> None:
    """`before` and `after` name the graph (see `Store.generation`)."""
    path = directory / _NAME
    if len(touched.changed) + len(touched.gone) > _MOST:
        path.unlink(missing_ok=True)
        return
    line = json.dumps([before, after, sorted(touched.changed), sorted(touched.gone)], ensure_ascii=False) + "\n"
    with suppress(OSError):
        is_long = path.exists() and path.stat().st_size > _LONGEST
        with path.open("w" if is_long else "a", encoding="utf-8") as file:
            file.write(line)


def changed_nodes_since(directory: Path, before: str, now: str) -> ChangedNodes | None:
    """What was touched between two states of the graph; None where that is not known."""
    if before == now:
        return NOTHING
    changed: set[str] = set()
    gone: set[str] = set()
    at = before
    try:
        with (directory / _NAME).open(encoding="utf-8") as lines:
            for line in lines:
                first, last, some, removed = json.loads(line)
                if first == at:
                    at = last
                    changed.update(some)
                    gone.update(removed)
    except (OSError, ValueError):
        return None
    return ChangedNodes(frozenset(changed), frozenset(gone)) if at == now else None
