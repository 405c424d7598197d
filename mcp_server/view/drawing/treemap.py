"""Draws files as rectangles whose area is their size, inside rectangles of their directories (a squarified treemap).

Files that would be smaller than a few pixels are drawn together, as one rectangle for each shade in a directory. There
are thousands of rectangles, so they are written directly, and those of one shade share its attributes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from golore.mcp_server.view.drawing.svg import INK, cut, element, link, picture
from markupsafe import Markup, escape

_WIDTH: Final = 1320.0
_HEIGHT: Final = 800.0
_TITLE: Final = 15.0
_HERE: Final = "(files here)"
_LABEL_WIDTH: Final = 56.0
_LABEL_HEIGHT: Final = 18.0
"""Sides of the smallest rectangle of a file that has room for its name."""
_SMALLEST: Final = 64.0
"""Square pixels of the smallest rectangle of a file."""
SHADES: Final = ("#e3e8ef", "#c6d9f1", "#93bce9", "#5a95d8", "#1f63b5")
"""From the least to the most."""


class Leaf(NamedTuple):
    """A file. `shade` is an index of `SHADES`."""

    path: str
    size: int
    shade: int


Describe = Callable[[str], tuple[str, str]]
"""The title and the address of a file or directory. Asked only for what is drawn."""


class _Area(NamedTuple):
    x: float
    y: float
    width: float
    height: float


@dataclass(slots=True)
class _Branch:
    path: str
    size: int = 0
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    branches: dict[str, _Branch] = field(default_factory=dict[str, "_Branch"])
    title: str = ""


def treemap_picture(leaves: Sequence[Leaf], parent: str, describe: Describe, label: str) -> Markup:
    root = _tree([leaf for leaf in leaves if leaf.size > 0], parent)
    drawing = _Drawing(describe, tuple([] for _ in SHADES), [])
    if root.size:
        _draw(drawing, root, _Area(0, 0, _WIDTH, _HEIGHT), 0)
    groups = [
        Markup(f'<g fill="{colour}" class="s{shade}">{"".join(drawing.leaves[shade])}</g>')
        for shade, colour in enumerate(SHADES)
    ]
    return picture(_WIDTH, _HEIGHT, label, [*groups, *drawing.titles])


class _Drawing(NamedTuple):
    """What is drawn so far: the rectangles of each shade, and the titles of directories."""

    describe: Describe
    leaves: tuple[list[str], ...]
    titles: list[Markup]


def _tree(leaves: Sequence[Leaf], parent: str) -> _Branch:
    root = _Branch(parent)
    by_directory: defaultdict[str, list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        by_directory[leaf.path.rpartition("/")[0]].append(leaf)
    for directory, found in by_directory.items():
        size = sum(leaf.size for leaf in found)
        branch = root
        branch.size += size
        inner = directory.removeprefix(parent).strip("/")
        for name in inner.split("/") if inner else ():
            known = branch.branches.get(name)
            if known is None:
                known = branch.branches[name] = _Branch(f"{branch.path}/{name}" if branch.path else name)
            branch = known
            branch.size += size
        branch.leaves += found
    if root.branches and root.leaves:
        size = sum(leaf.size for leaf in root.leaves)
        root.branches[""] = _Branch(parent, size, root.leaves, title=_HERE)
        root.leaves = []
    return root


def _draw(drawing: _Drawing, branch: _Branch, area: _Area, depth: int) -> None:
    above = branch.path.rpartition("/")[0]
    # A chain of directories with nothing else in them is one rectangle.
    while depth and len(branch.branches) == 1 and not branch.leaves:
        branch = next(iter(branch.branches.values()))
    inside = area
    if depth and area.width > 40 and area.height > 26:
        name = branch.title or branch.path.removeprefix(above).lstrip("/")
        shown = cut(name, area.width - 8, 11, keeps_start=True)
        title = element("text", shown, x=area.x + 3, y=area.y + 11, font_size=11, fill=INK)
        address = "#files" if branch.title else drawing.describe(branch.path)[1]
        drawing.titles.append(link(address, element("title", branch.title or branch.path), title))
        inside = _Area(area.x + 1, area.y + _TITLE, area.width - 2, area.height - _TITLE - 1)
    if inside.width < 3 or inside.height < 3:
        return
    items = _items(branch, inside.width * inside.height / branch.size)
    for (_, one), place in zip(items, _squarified([size for size, _ in items], inside), strict=True):
        if isinstance(one, Leaf):
            _draw_leaf(drawing, one, place, is_file=one.path != branch.path)
        elif place.width * place.height < _SMALLEST * 3:
            _draw_leaf(drawing, Leaf(one.path, one.size, _common_shade(one)), place, is_file=False)
        else:
            _draw(drawing, one, place, depth + 1)


def _items(branch: _Branch, scale: float) -> list[tuple[int, _Branch | Leaf]]:
    """What is drawn directly inside a directory, the largest first. `scale` is the area of a line."""
    items: list[tuple[int, _Branch | Leaf]] = [(one.size, one) for one in branch.branches.values()]
    small: defaultdict[int, int] = defaultdict(int)
    for leaf in branch.leaves:
        if leaf.size * scale >= _SMALLEST:
            items.append((leaf.size, leaf))
        else:
            small[leaf.shade] += leaf.size
    items += [(size, Leaf(branch.path, size, shade)) for shade, size in small.items()]
    return sorted(items, key=lambda item: (-item[0], item[1].path))


def _common_shade(branch: _Branch) -> int:
    """The shade of most of the lines of a directory that is too small to be divided."""
    sizes: defaultdict[int, int] = defaultdict(int)
    pending = [branch]
    while pending:
        one = pending.pop()
        pending += one.branches.values()
        for leaf in one.leaves:
            sizes[leaf.shade] += leaf.size
    return max(sizes, key=lambda shade: (sizes[shade], -shade))


def _draw_leaf(drawing: _Drawing, leaf: Leaf, area: _Area, *, is_file: bool) -> None:
    title, address = drawing.describe(leaf.path)
    rectangle = (
        f'<rect x="{area.x:.1f}" y="{area.y:.1f}" width="{max(0.5, area.width - 0.8):.1f}" '
        f'height="{max(0.5, area.height - 0.8):.1f}"><title>{escape(title)}</title></rect>'
    )
    if is_file and area.width >= _LABEL_WIDTH and area.height >= _LABEL_HEIGHT:
        name = cut(leaf.path.rpartition("/")[2], area.width - 6, 11, keeps_start=True)
        colour = "#ffffff" if leaf.shade == len(SHADES) - 1 else INK
        rectangle += (
            f'<text x="{area.x + 3:.1f}" y="{area.y + 12:.1f}" font-size="10" fill="{colour}" class="l{leaf.shade}">'
            f"{escape(name)}</text>"
        )
    # Not reached by Tab: thousands of stops would be in the way, and the lists below have the same links.
    written = f'<a href="{escape(address)}" tabindex="-1">{rectangle}</a>' if address else rectangle
    drawing.leaves[leaf.shade].append(written)


def _squarified(sizes: Sequence[int], area: _Area) -> Iterator[_Area]:
    """Areas in proportion to sizes, which are sorted, as square as possible: rows along the shorter side."""
    total = float(sum(sizes))
    start = 0
    while start < len(sizes):
        side = min(area.width, area.height)
        scale = area.width * area.height / total if total else 0.0
        end, row = start + 1, float(sizes[start])
        while end < len(sizes) and _worst(sizes[start], sizes[end], row + sizes[end], side, scale) <= _worst(
            sizes[start], sizes[end - 1], row, side, scale
        ):
            row += sizes[end]
            end += 1
        thickness = row * scale / side if side else 0.0
        at = 0.0
        for size in sizes[start:end]:
            length = size / row * side if row else 0.0
            if area.width >= area.height:
                yield _Area(area.x, area.y + at, thickness, length)
            else:
                yield _Area(area.x + at, area.y, length, thickness)
            at += length
        if area.width >= area.height:
            area = _Area(area.x + thickness, area.y, max(0.0, area.width - thickness), area.height)
        else:
            area = _Area(area.x, area.y + thickness, area.width, max(0.0, area.height - thickness))
        total -= row
        start = end


def _worst(largest: float, smallest: float, row: float, side: float, scale: float) -> float:
    """The worst ratio of sides in a row of rectangles."""
    if not row or not smallest or not side or not scale:
        return float("inf")
    area = row * scale
    return max(side * side * largest * scale / (area * area), area * area / (side * side * smallest * scale))
