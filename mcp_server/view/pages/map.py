"""The map: the directories below one directory in layers, or all files below it by size; and the package in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from math import log1p
from typing import Any, Final

from golore.graph.cards.card_store import open_card_store
from golore.graph.errors import UsageError
from golore.graph.phrases import counted
from golore.graph.queries.edges import symbol_columns, symbol_from
from golore.mcp_server.services.knowledge.current_summary import written_summary
from golore.mcp_server.view.card_sections import card_parts
from golore.mcp_server.view.directories import REST, Layers, layers_below
from golore.mcp_server.view.drawing.layered import Node, layered_picture
from golore.mcp_server.view.drawing.treemap import SHADES, Leaf, treemap_picture
from golore.mcp_server.view.overview import FileNumbers, Overview
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit, parent_directories

TREEMAP: Final = "treemap"
COLOURS: Final = {
    "importance": "how much depends on the file",
    "changes": "how often the file changed recently",
    "tests": "share of functions that tests call, directly or through helpers",
    "summaries": "quality of the summary",
}
_TOP_SHADE: Final = len(SHADES) - 1
_LISTED: Final = 60


def map_page(visit: Visit, overview: Overview, directory: str, show: str, colour: str) -> Page:
    directory = directory.strip("/")
    files = [one for one in overview.files if not directory or one.path.startswith(f"{directory}/")]
    if not files:
        raise UsageError(f"There is no Go file below {directory}.")
    links = visit.links
    colour = colour if colour in COLOURS else "importance"
    is_treemap = show == TREEMAP
    layers = layers_below(overview, directory)
    if is_treemap:
        picture = _treemap(visit, overview, files, directory, colour)
    else:
        picture = _layered(visit, layers, directory)
    values: dict[str, Any] = {
        "directory": directory,
        "parents": [(name, links.map(path)) for name, path in parent_directories(directory)],
        "is_treemap": is_treemap,
        "layers_address": links.map(directory),
        "treemap_address": links.map(directory, show=TREEMAP),
        "colours": [(name, text, links.map(directory, show=TREEMAP, colour=name)) for name, text in COLOURS.items()],
        "colour": colour,
        "picture": picture,
        "has_layers": len(layers.directories) > 1,
        "layers": layers,
        "rows": [
            (one, links.map(one.path)) for one in sorted(layers.directories, key=lambda one: (-one.lines, one.name))
        ],
        "numbers": {"files": len(files), "lines": sum(one.lines for one in files)},
        "against": sorted(layers.layering.against.items(), key=lambda item: (-item[1], item[0])),
        "files": _files(visit, files, directory),
        "unresolved": overview.unresolved,
        "missing": overview.missing,
        **_package(visit, overview, directory),
    }
    return Page("map.html", directory or visit.repository_name, values, "map")


def _layered(visit: Visit, layers: Layers, directory: str) -> str:
    nodes = {
        one.name: Node(
            one.name if one.name != "." else "(files here)",
            f"{counted(one.packages, 'package')}, {one.lines:,} lines",
            visit.links.map(one.path) if one.path != directory else "#files",
        )
        for one in layers.directories
    }
    nodes[REST] = Node("smaller directories", "listed below", "#directories")
    label = f"Directories in layers: {len(nodes) - 1}"
    return layered_picture(nodes, layers.layering, layers.alone, _imports, label)


def _imports(source: str, target: str, number: int) -> str:
    return f"{source} → {target}: {'1 file imports' if number == 1 else f'{number:,} files import'} it"


def _treemap(visit: Visit, overview: Overview, files: list[FileNumbers], directory: str, colour: str) -> str:
    shade_of = _shade(colour, overview)
    leaves = [Leaf(one.path, one.lines, shade_of(one)) for one in files]
    by_path = {one.path: one for one in files}

    def describe(path: str) -> tuple[str, str]:
        one = by_path.get(path)
        if one is None:
            return f"{path}: several files", visit.links.map(path, show=TREEMAP, colour=colour)
        return _title(one), visit.links.file(path)

    return treemap_picture(leaves, directory, describe, f"{len(files):,} files by size and {COLOURS[colour]}")


def _shade(colour: str, overview: Overview) -> Callable[[FileNumbers], int]:
    # Ranks of most files are far below the highest one: their logarithms are compared.
    most_rank = max((log1p(20 * one.rank) for one in overview.files), default=0.0) or 1.0
    most_busy = max((log1p(one.busy) for one in overview.files), default=0.0) or 1.0
    qualities = {"structural": 0, "draft": 2, "reviewed": _TOP_SHADE}

    def shade(one: FileNumbers) -> int:
        if colour == "summaries":
            return qualities.get(one.quality, 0)
        if colour == "tests":
            return round(_TOP_SHADE * one.tested / one.functions) if one.functions else 0
        share = log1p(20 * one.rank) / most_rank if colour == "importance" else log1p(one.busy) / most_busy
        return min(_TOP_SHADE, round(_TOP_SHADE * share))

    return shade


def _title(one: FileNumbers) -> str:
    reach = f", tests reach {one.tested:,} of {one.functions:,} functions" if one.functions and not one.test else ""
    commits = f", {counted(one.commits, 'commit')}" if one.commits else ""
    return f"{one.path}: {one.lines:,} lines, importance {one.rank:.1f} (average 1){commits}{reach}, {one.quality}"


def _files(visit: Visit, files: list[FileNumbers], directory: str) -> list[tuple[FileNumbers, str, str]]:
    """The files of the directory itself: numbers, name and address, the most important first."""
    own = [one for one in files if one.path.rpartition("/")[0] == directory]
    own.sort(key=lambda one: (one.test, -one.rank, one.path))
    return [(one, one.path.rpartition("/")[2], visit.links.file(one.path)) for one in own]


def _package(visit: Visit, overview: Overview, directory: str) -> dict[str, Any]:
    """The package of the directory: its documentation, card and exported declarations."""
    package = next((one for one in overview.packages.values() if one.dir == directory), None)
    if package is None:
        return {"package": None, "doc": None, "card": [], "summary": None, "exported": [], "more_exported": 0}
    card = ""
    card_store = open_card_store(visit.opened.repository.store, write=False)
    if card_store is not None:
        with closing(card_store):
            found = card_store.card(f"{directory or '.'}/")
            card = found.text if found is not None else ""
    exported = _exported(visit, package.id)
    return {
        "package": package,
        "doc": package.doc.partition("\n\n")[::2] if package.doc else None,
        "card": card_parts(visit, card, directory),
        "summary": written_summary(visit.store, "package", package.id),
        "exported": exported[:_LISTED],
        "more_exported": max(0, len(exported) - _LISTED),
    }


def _exported(visit: Visit, package: str) -> list[tuple[str, str, str, int]]:
    """The exported declarations of a package: kind, name, address and number of users, the most used first."""
    # Conditions on the symbols, or an optional match, would scan all of them: 110 ms instead of 8 at 200,000.
    contained = "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File)-[:CONTAINS]->(s:Symbol)"
    given = {"id": package}
    rows = visit.store.rows(f"{contained} RETURN {symbol_columns('s')}, s.exported, f.test", given)
    symbols = [symbol_from(row[:8]) for row in rows if row[8] and not row[9] and row[1] not in ("method", "field")]
    users = Counter(dict(visit.store.rows(f"{contained}<-[:CALLS|REFERENCES]-(:Symbol) RETURN s.id, count(*)", given)))
    found = [(symbol, users[symbol.id]) for symbol in symbols]
    found.sort(key=lambda item: (-item[1], item[0].name))
    return [(one.kind, one.name, visit.links.symbol(one.id), users) for one, users in found]
