"""Results as HTML, for notebooks: a title, a drawing of the first rows, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from golore.graph.diagrams.diagram import Diagram
from golore.graph.diagrams.svg import svg_text
from golore.graph.safety.visible_text import visible_block, visible_line

SHOWN: Final = 20
"""Rows of a table, and boxes of a drawing."""


def result_html(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], diagram: Diagram | None = None
) -> str:
    """A result as HTML without scripts, styles or links. Rows beyond `SHOWN` are counted; a larger diagram is left
    out."""
    parts = [f"<div><p><strong>{_text(title)}</strong></p>"]
    if diagram is not None and 1 < len(diagram.boxes) <= SHOWN:
        parts.append(svg_text(diagram))
    if rows:
        parts += ["<table><thead>", _row("th", header), "</thead><tbody>"]
        parts += [_row("td", row) for row in rows[:SHOWN]]
        parts.append("</tbody></table>")
    if len(rows) > SHOWN:
        parts.append(f"<p>and {len(rows) - SHOWN:,} more</p>")
    return "".join([*parts, "</div>"])


def text_html(title: str, text: str) -> str:
    """A text as it is, such as a card."""
    return f"<div><p><strong>{_text(title)}</strong></p><pre>{escape(visible_block(text))}</pre></div>"


def _row(tag: str, cells: Iterable[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(str(cell))}</{tag}>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return escape(visible_line(text))
