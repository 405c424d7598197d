"""HTML → the same blocks as Markdown: headings, prose and code; a link and a piece of code as Markdown writes them.

Scripts and styles are left out. What a page looks like, its tables and its forms, is not known here.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

from golore.learner.markdown import Block

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LEFT_OUT: Final = frozenset(("script", "style", "head", "template", "svg"))
_BREAKS: Final = frozenset(
    "address article aside blockquote body br dd details div dl dt fieldset figure footer form header hr li main nav "
    "ol p section summary table tbody td tfoot th thead tr ul".split()
)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_SPACES: Final = re.compile(r"\s+")


def read_page(text: str) -> tuple[str, tuple[Block, ...]]:
    """The title of a page, and its blocks in their order. No text is refused."""
    page = _Page()
    page.feed(text)
    page.close()
    page.end_block()
    found = _TITLE.search(text)
    return _SPACES.sub(" ", found[1]).strip() if found else "", tuple(page.blocks)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._line = 0
        self._kind = "prose"
        self._level = 0
        self._hidden = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _LEFT_OUT:
            self._hidden += 1
        elif tag in _HEADINGS:
            self.end_block()
            self._kind, self._level = "heading", _HEADINGS[tag]
        elif tag == "pre":
            self.end_block()
            self._kind = "code"
        elif tag in _BREAKS and self._kind == "prose":
            self.end_block()
        elif tag == "code" and self._kind != "code":
            self._add("`")
        elif tag == "a":
            self._links.append(next((value or "" for name, value in attrs if name == "href"), ""))
            self._add("[" if self._kind == "prose" else "")

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _HEADINGS or tag == "pre" or (tag in _BREAKS and self._kind == "prose"):
            self.end_block()
        elif tag == "code" and self._kind != "code":
            self._add("`")
        elif tag == "a" and self._links:
            to = self._links.pop()
            self._add(f"]({to})" if self._kind == "prose" else "")

    def handle_data(self, data: str) -> None:
        self._add(data)

    def end_block(self) -> None:
        text = "".join(self._text)
        if self._kind != "code":
            text = "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n")).strip("\n")
        if text.strip():
            self.blocks.append(Block(self._kind, self._line, text.strip("\n"), self._level))
        self._text, self._kind, self._level = [], "prose", 0

    def _add(self, text: str) -> None:
        if self._hidden or not text:
            return
        if not "".join(self._text).strip():
            empty = text[: len(text) - len(text.lstrip())]
            self._line = self.getpos()[0] + empty.count("\n")
            text = text.lstrip("\n") if self._kind == "code" else text.lstrip()
            self._text = []
        self._text.append(text)
