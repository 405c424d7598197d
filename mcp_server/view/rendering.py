"""Renders pages. Every value that a template prints is escaped here: as HTML by Jinja, and hidden characters by
`visible_text`. Only `Markup`, which this package makes itself, is printed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from golore.graph.phrases import counted
from golore.graph.safety.visible_text import visible_block
from golore.mcp_server.view.links import Links
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

DATA: Final = Path(__file__).parent / "data"
_WRAPPED: Final = re.compile(r"(?<=\S)\n(?=[^\s*#+-])")
"""The end of a line that a comment wraps only to be short: not before an indented line, an item of a list, or a marker
such as `+build`."""
_NAMED: Final = re.compile(r"([\w./@+-]*[\w-]\.\w+)(?::(\d+))?")
_PLACE: Final = re.compile(r"([\w./@+-]*[\w-]\.go)(?::(\d+))?")


@dataclass(frozen=True, slots=True)
class Page:
    """A page before it is rendered. `section` is the entry of the navigation that it belongs to."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    section: str = ""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds every page: the repository's name, the state of the graph, and what to know about it. `home`: the
    address of the list of all repositories, if there are several."""

    repository: str
    state: str
    notices: tuple[str, ...] = ()
    home: str = ""


def render(page: Page, links: Links, frame: Frame) -> str:
    template = _environment().get_template(page.template)
    return template.render(
        page.values, page=page, links=links, frame=frame, linked=partial(linked, links=links), counted=counted
    )


def linked(text: str, links: Links) -> Markup:
    """Text in which files and lines of the repository, such as `store/store.go:18`, are links."""
    parts: list[str] = []
    end = 0
    for found in _PLACE.finditer(text):
        address = links.file(found[1], int(found[2] or 0))
        if (address and "/" in found[1]) or found[2]:
            parts += [_escaped(text[end : found.start()]), f'<a href="{escape(address)}">{_escaped(found[0])}</a>']
            end = found.end()
    return Markup("".join((*parts, _escaped(text[end:]))))


def linked_paths(text: str, links: Links, known: Mapping[str, str]) -> Markup:
    """Text in which the names of `known` files (name → path), with or without a line, are links."""
    parts: list[str] = []
    end = 0
    for found in _NAMED.finditer(text):
        address = links.file(known[found[1]], int(found[2] or 0)) if found[1] in known else ""
        if address:
            parts += [_escaped(text[end : found.start()]), f'<a href="{escape(address)}">{_escaped(found[0])}</a>']
            end = found.end()
    return Markup("".join((*parts, _escaped(text[end:]))))


def _escaped(text: str) -> str:
    return str(escape(visible_block(text)))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(DATA / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
        auto_reload=False,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.filters["unwrapped"] = partial(_WRAPPED.sub, " ")
    return environment


def _visible(value: object) -> object:
    """Escapes hidden characters. `Markup` was escaped where it was made."""
    return visible_block(value) if isinstance(value, str) and not isinstance(value, Markup) else value
