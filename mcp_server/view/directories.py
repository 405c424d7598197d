"""The directories below one directory, in layers: what imports others is above them.

Packages never import each other in a circle, but directories may: some imports then go against the layers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final, NamedTuple

from golore.graph.analysis.feedback_arcs import Arc
from golore.mcp_server.view.layering import Layering, layered
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
    """The value of an arc is the number of files with such an import."""

    directories: tuple[Directory, ...]
    layering: Layering
    alone: tuple[str, ...]
    """directories without imports among these"""


def layers_below(overview: Overview, parent: str) -> Layers:
    directories = _directories(overview, parent)
    drawn = {one.name for one in sorted(directories, key=lambda one: (-one.lines, one.name))[:MOST]}
    arcs = _arcs(overview, parent, drawn)
    names = {end for arc in arcs for end in arc}
    shown = [one.name for one in directories if one.name in drawn] + ([REST] if len(directories) > MOST else [])
    return Layers(tuple(directories), layered(arcs), tuple(name for name in shown if name not in names))


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
