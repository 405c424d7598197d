"""Small diagrams as SVG: boxes in columns, by their distance from the boxes that the diagram is about."""

from __future__ import annotations

from collections import deque
from html import escape
from typing import Final, NamedTuple

from golore.graph.diagrams.diagram import Diagram
from golore.graph.safety.visible_text import visible_line

_WIDTH: Final = 190
_HEIGHT: Final = 34
_GAP_X: Final = 70
_GAP_Y: Final = 10
_MAX_NAME: Final = 28


class _Place(NamedTuple):
    x: int
    y: int


def svg_text(diagram: Diagram) -> str:
    """The diagram as one SVG element. Arrows lead to the right, as far as the columns allow it."""
    places = _places(diagram)
    width = max((place.x for place in places.values()), default=0) + _WIDTH + 2
    height = max((place.y for place in places.values()), default=0) + _HEIGHT + 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="-1 -1 {width} {height}" '
        'font-family="sans-serif" font-size="11" fill="none" stroke="currentColor">'
    ]
    for arrow in diagram.arrows:
        start, end = places[arrow.source], places[arrow.target]
        x1, x2 = start.x + _WIDTH, end.x
        if x2 <= start.x:
            x1, x2 = start.x, end.x + _WIDTH
        y1, y2 = start.y + _HEIGHT // 2, end.y + _HEIGHT // 2
        middle = (x1 + x2) // 2
        dashes = ' stroke-dasharray="4 3"' if arrow.is_dashed else ""
        parts.append(
            f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"{dashes} stroke-opacity="0.6">'
            f"<title>{_text(arrow.label)}</title></path>"
        )
        parts.append(f'<circle cx="{x2}" cy="{y2}" r="3" fill="currentColor"/>')
    for box in diagram.boxes:
        place = places[box.id]
        stroke = 2 if box.is_subject else 1
        parts.append(
            f"<g><title>{_text(f'{box.name} {box.about}'.strip())}</title>"
            f'<rect x="{place.x}" y="{place.y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" stroke-width="{stroke}"/>'
            f'<text x="{place.x + 8}" y="{place.y + 21}" stroke="none" fill="currentColor">{_text(_cut(box.name))}'
            "</text></g>"
        )
    return "".join([*parts, "</svg>"])


def _places(diagram: Diagram) -> dict[str, _Place]:
    columns: dict[int, list[str]] = {}
    for id, column in _columns(diagram).items():
        columns.setdefault(column, []).append(id)
    tallest = max(map(len, columns.values()), default=0)
    left = min(columns, default=0)
    places: dict[str, _Place] = {}
    for column, ids in columns.items():
        top = (tallest - len(ids)) * (_HEIGHT + _GAP_Y) // 2
        for row, id in enumerate(ids):
            places[id] = _Place((column - left) * (_WIDTH + _GAP_X), top + row * (_HEIGHT + _GAP_Y))
    return places


def _columns(diagram: Diagram) -> dict[str, int]:
    """Box → column: 0 for the subjects, and one to the left or right for each arrow on the way to them."""
    neighbours: dict[str, list[tuple[str, int]]] = {box.id: [] for box in diagram.boxes}
    for arrow in diagram.arrows:
        neighbours[arrow.source].append((arrow.target, 1))
        neighbours[arrow.target].append((arrow.source, -1))
    columns = {box.id: 0 for box in diagram.boxes if box.is_subject}
    pending = deque(columns)
    while pending:
        id = pending.popleft()
        for other, step in neighbours[id]:
            if other not in columns:
                columns[other] = columns[id] + step
                pending.append(other)
    return {box.id: columns.get(box.id, 0) for box in diagram.boxes}


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"


def _text(text: str) -> str:
    return escape(visible_line(text))
