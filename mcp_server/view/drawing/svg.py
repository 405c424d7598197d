"""Writes SVG elements. Attribute values and texts are escaped.

Colours are presentation attributes, so that a saved picture looks the same without the stylesheet; the stylesheet
overrides them in a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from markupsafe import Markup, escape

FONT: Final = "system-ui, sans-serif"
INK: Final = "#1c2128"
MUTED: Final = "#57606a"
LINE: Final = "#8c959f"
BOX: Final = "#eef2f8"
EDGE: Final = "#c3cad5"
ACCENT: Final = "#0a5bc4"
AMBER: Final = "#8a5a00"
RED: Final = "#b3261e"


def element(name: str, *content: Markup | str, **attributes: object) -> Markup:
    """An element. An underscore in the name of an attribute stands for a hyphen, one at its end for nothing."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return Markup(f"<{name}{written}>{''.join(str(escape(part)) for part in content)}</{name}>")


def picture(width: float, height: float, label: str, content: Iterable[Markup]) -> Markup:
    """The whole picture. `label` is its name for those who cannot see it."""
    return element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="group",
        aria_label=label,
        font_family=FONT,
        font_size=12,
        class_="picture",
    )


def link(address: str, *content: Markup) -> Markup:
    """The content as a link; without an address, only as a group."""
    return element("a", *content, href=address) if address else element("g", *content)


def text(x: float, y: float, content: str, room: float, **attributes: object) -> Markup:
    """A line of text, cut to the room."""
    return element("text", cut(content, room), x=x, y=y, **{"fill": INK, **attributes})


def cut(content: str, room: float, size: float = 12, *, keeps_start: bool = False) -> str:
    """A text that is about as wide as the room. Its beginning is left out: the end of a qualified name says most. For
    other names, `keeps_start` leaves out the end."""
    most = max(3, int(room / (size * 0.56)))
    if len(content) <= most:
        return content
    return f"{content[: most - 1]}…" if keeps_start else f"…{content[-(most - 1) :]}"


def _number(value: object) -> object:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
