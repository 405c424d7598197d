"""Diagrams as Mermaid flowcharts, which GitHub and many editors draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from golore.graph.diagrams.diagram import Diagram
from golore.graph.safety.visible_text import visible_line

_SPECIAL: Final = str.maketrans({sign: f"#{ord(sign)};" for sign in '#"&<>`\\|;'})
"""Mermaid has entity codes for what would end a text, begin Markdown or be taken as HTML."""


def mermaid_lines(diagram: Diagram) -> Iterator[str]:
    numbers = diagram.numbers
    yield "flowchart LR"
    if diagram.remark:
        yield f"  %% {_text(diagram.remark)}"
    for box in diagram.boxes:
        about = f"<br/>{_text(box.about)}" if box.about else ""
        open_, close = ("([", "])") if box.is_subject else ("[", "]")
        yield f'  n{numbers[box.id]}{open_}"{_text(box.name)}{about}"{close}'
    for arrow in diagram.arrows:
        label = f'|"{_text(arrow.label)}"|' if arrow.label else ""
        line = "-.->" if arrow.is_dashed else "-->"
        yield f"  n{numbers[arrow.source]} {line}{label} n{numbers[arrow.target]}"


def _text(text: str) -> str:
    return visible_line(text).translate(_SPECIAL)
