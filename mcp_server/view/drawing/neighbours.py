"""Draws a symbol between its neighbours: those that lead to it on the left, those that it leads to on the right.

Resolved edges are solid, candidates dashed, and unresolved uses are one dotted box with their number. Neighbours that
do not fit are one box, and tests are folded into another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from golore.mcp_server.view.drawing.svg import ACCENT, AMBER, BOX, EDGE, LINE, RED, element, link, picture, text
from markupsafe import Markup

_WIDTH: Final = 1240.0
_SIDE: Final = 420.0
_MIDDLE: Final = 250.0
_ROW: Final = 30.0
_BOX: Final = 24.0
_MARGIN: Final = 8.0


class Box(NamedTuple):
    """A neighbour. `style` is `resolved`, `candidate` or `unresolved`; `title` is shown on pointing."""

    name: str
    address: str = ""
    style: str = "resolved"
    title: str = ""


def neighbours_picture(
    name: str, left: Sequence[Box], right: Sequence[Box], below: Sequence[Box], label: str
) -> Markup:
    rows = max(len(left), len(right), 1)
    height = rows * _ROW + 2 * _MARGIN + (70.0 if below else 10.0)
    middle = _MARGIN + rows * _ROW / 2
    return picture(_WIDTH, height, label, _parts(name, left, right, below, rows, middle))


def _parts(
    name: str, left: Sequence[Box], right: Sequence[Box], below: Sequence[Box], rows: int, middle: float
) -> Iterator[Markup]:
    centre = (_WIDTH - _MIDDLE) / 2
    for boxes, x, port in ((left, 0.0, _SIDE), (right, _WIDTH - _SIDE, _WIDTH - _SIDE)):
        top = _MARGIN + (rows - len(boxes)) * _ROW / 2
        end = centre if x == 0.0 else centre + _MIDDLE
        for at, box in enumerate(boxes):
            y = top + at * _ROW
            yield _curve(port, y + _BOX / 2, end, middle, box.style)
            yield _box(box, x, y, _SIDE)
    for at, box in enumerate(below):
        x = (_WIDTH - _SIDE * len(below)) / 2 + at * _SIDE
        y = _MARGIN + rows * _ROW + 30
        yield _curve(_WIDTH / 2, middle + _BOX / 2, x + _SIDE / 2, y, box.style)
        yield _box(box, x + 4, y, _SIDE - 8)
    yield element(
        "g",
        element("rect", x=centre, y=middle - 16, width=_MIDDLE, height=32, rx=6, fill=ACCENT, class_="subject"),
        text(
            _WIDTH / 2,
            middle + 4,
            name,
            _MIDDLE - 16,
            fill="#ffffff",
            text_anchor="middle",
            font_weight=600,
            class_="on",
        ),
    )


def _box(box: Box, x: float, y: float, width: float) -> Markup:
    colour, dashes = _STYLES[box.style]
    title = [element("title", box.title)] if box.title else []
    return link(
        box.address,
        *title,
        element(
            "rect",
            x=x + 0.5,
            y=y + 0.5,
            width=width - 1,
            height=_BOX,
            rx=5,
            fill=BOX,
            stroke=colour if dashes else EDGE,
            stroke_dasharray=dashes,
            class_=f"box {box.style}",
        ),
        text(x + 9, y + 17, box.name, width - 18),
    )


def _curve(x: float, y: float, end_x: float, end_y: float, style: str) -> Markup:
    colour, dashes = _STYLES[style]
    half = (x + end_x) / 2
    path = f"M{x:.1f} {y:.1f} C{half:.1f} {y:.1f} {half:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}"
    return element("path", d=path, fill="none", stroke=colour, stroke_dasharray=dashes, class_=f"edge {style}")


_STYLES: Final = {"resolved": (LINE, ""), "candidate": (AMBER, "5 3"), "unresolved": (RED, "1.5 3")}
