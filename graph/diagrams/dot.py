"""Diagrams in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from golore.graph.diagrams.diagram import Diagram
from golore.graph.safety.visible_text import visible_line


def dot_lines(diagram: Diagram) -> Iterator[str]:
    numbers = diagram.numbers
    yield "digraph golore {"
    yield "  rankdir=LR; node [shape=box, fontname=Helvetica]; edge [fontname=Helvetica];"
    if diagram.remark:
        yield f"  // {visible_line(diagram.remark)}"
    for box in diagram.boxes:
        label = _text(box.name) + (f"\\n{_text(box.about)}" if box.about else "")
        style = ", style=bold" if box.is_subject else ""
        yield f'  n{numbers[box.id]} [label="{label}"{style}];'
    for arrow in diagram.arrows:
        style = ", style=dashed" if arrow.is_dashed else ""
        yield f'  n{numbers[arrow.source]} -> n{numbers[arrow.target]} [label="{_text(arrow.label)}"{style}];'
    yield "}"


def _text(text: str) -> str:
    """A text inside double quotes. A backslash is doubled, because DOT has escapes of its own, such as \\N."""
    return visible_line(text).replace("\\", "\\\\").replace('"', '\\"')
