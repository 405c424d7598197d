"""Draws boxes in layers, with curves for the arcs between them. A layer that is too wide is wrapped.

An implied arc has the class `implied`: it is drawn only while one points at a box that it joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from golore.mcp_server.view.drawing.svg import BOX, EDGE, LINE, MUTED, RED, cut, element, link, picture, text
from golore.mcp_server.view.layering import Layering
from markupsafe import Markup

_WIDTH: Final = 1240.0
_BOX_WIDTH: Final = 176.0
_BOX_HEIGHT: Final = 38.0
_PER_ROW: Final = 6
_GAP: Final = 46.0
_WRAP_GAP: Final = 14.0
_MARGIN: Final = 10.0
_SIDE: Final = 70.0
"""Room on the right for arcs against the layers."""

Describe = Callable[[str, str, int], str]
"""The title of an arc: its ends and its value."""


class Node(NamedTuple):
    name: str
    note: str
    address: str


class Point(NamedTuple):
    x: float
    y: float


def layered_picture(
    nodes: Mapping[str, Node], layers: Layering, alone: Sequence[str], describe: Describe, label: str
) -> Markup:
    """`alone` are nodes without arcs, drawn below."""
    places, height = _places([*layers.rows, alone] if alone else layers.rows)
    return picture(_WIDTH, height, label, _parts(nodes, places, layers, describe))


def _places(rows: Sequence[Sequence[str]]) -> tuple[dict[str, Point], float]:
    places: dict[str, Point] = {}
    y = _MARGIN
    for row in rows:
        for start in range(0, len(row), _PER_ROW):
            part = row[start : start + _PER_ROW]
            step = (_WIDTH - _SIDE) / len(part)
            for at, name in enumerate(part):
                places[name] = Point(step * (at + 0.5), y)
            y += _BOX_HEIGHT + _WRAP_GAP
        y += _GAP - _WRAP_GAP
    return places, max(y - _GAP + _MARGIN, _BOX_HEIGHT + 2 * _MARGIN)


def _parts(
    nodes: Mapping[str, Node], places: Mapping[str, Point], layers: Layering, describe: Describe
) -> Iterator[Markup]:
    for kind, found in (("", layers.direct), ("implied", layers.implied), ("against", layers.against)):
        for (source, target), number in found.items():
            yield element(
                "path",
                element("title", describe(source, target, number)),
                d=_curve(places[source], places[target], kind),
                fill="none",
                stroke=RED if kind == "against" else LINE,
                stroke_width=min(4.0, 1 + number / 60),
                visibility="hidden" if kind == "implied" else None,
                data_from=source,
                data_to=target,
                class_=f"edge {kind}".strip(),
            )
    for name, place in places.items():
        node = nodes[name]
        left = place.x - _BOX_WIDTH / 2
        box = link(
            node.address,
            element("title", f"{node.name}: {node.note}"),
            element(
                "rect",
                x=left,
                y=place.y,
                width=_BOX_WIDTH,
                height=_BOX_HEIGHT,
                rx=6,
                fill=BOX,
                stroke=EDGE,
                class_="box",
            ),
            text(left + 9, place.y + 16, node.name, _BOX_WIDTH - 30, font_weight=600),
            element(
                "text",
                cut(node.note, _BOX_WIDTH - 18, 10.5),
                x=left + 9,
                y=place.y + 31,
                font_size=10.5,
                fill=MUTED,
                class_="note",
            ),
        )
        yield element("g", box, data_node=name)


def _curve(source: Point, target: Point, kind: str) -> str:
    if kind == "against":
        return _around(source, target)
    start_y, end_y = source.y + _BOX_HEIGHT, target.y
    bend = (end_y - start_y) * 0.5
    # A long arc is bent outwards, so that it does not run behind the boxes between its ends.
    side = max(0.0, abs(bend) - _BOX_HEIGHT - _GAP) * (-0.5 if source.x + target.x < _WIDTH else 0.5)
    return (
        f"M{source.x:.1f} {start_y:.1f} C{source.x + side:.1f} {start_y + bend:.1f} "
        f"{target.x + side:.1f} {end_y - bend:.1f} {target.x:.1f} {end_y:.1f}"
    )


def _around(source: Point, target: Point) -> str:
    """A path from the right side of one box to the right side of another, outside both."""
    start, end = source.x + _BOX_WIDTH / 2, target.x + _BOX_WIDTH / 2
    outside = max(start, end) + 24 + abs(target.y - source.y) * 0.12
    outside = min(outside, (_WIDTH - 4 - (start + end) / 8) / 0.75)  # the curve goes three quarters of the way
    return (
        f"M{start:.1f} {source.y + _BOX_HEIGHT / 2:.1f} C{outside:.1f} {source.y + _BOX_HEIGHT / 2:.1f} "
        f"{outside:.1f} {target.y + _BOX_HEIGHT / 2:.1f} {end:.1f} {target.y + _BOX_HEIGHT / 2:.1f}"
    )
