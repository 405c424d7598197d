"""Reads HTML into the same blocks as Markdown: headings, prose and code. Links and inline code become Markdown.

Scripts, styles and comments are skipped. Layout, tables and forms are not interpreted. Tags are found in one pass over
the text, because a full HTML parser needs more than linear time for some texts.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from golore.learner.documents.markdown import Block

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_SKIPPED: Final = frozenset(("script", "style", "head", "template", "svg"))
_BREAKS: Final = frozenset(
    "address article aside blockquote body br dd details div dl dt fieldset figure footer form header hr li main nav "
    "ol p section summary table tbody td tfoot th thead tr ul".split()
)
_TITLE: Final = re.compile(r"<title[^<>]*>([^<>]*)</title>", re.IGNORECASE)
_TOKEN: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:[\s/][^<>]*)?)>|[^<]+|<")
_LINK: Final = re.compile(r"\bhref\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_SPACES: Final = re.compile(r"\s+")


def read_page(text: str) -> tuple[str, tuple[Block, ...]]:
    """The title of a page, and its blocks in order. Accepts any text."""
    page = _Page()
    without_comments = _without_comments(text)
    line = 1
    for token in _TOKEN.finditer(without_comments):
        if token[2]:
            page.handle_tag(line, token[2].lower(), token[3], is_end=bool(token[1]))
        else:
            page.add_text(line, unescape(token[0]))
        line += token[0].count("\n")
    page.end_block()
    found = _TITLE.search(text)
    return _SPACES.sub(" ", unescape(found[1])).strip() if found else "", tuple(page.blocks)


def _without_comments(text: str) -> str:
    """The text without comments. Their line breaks stay, so that line numbers do not change."""
    parts: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts += [text[at:begin], "\n" * text.count("\n", begin, end)]
        at = end + 3
    return "".join((*parts, text[at:]))


class _Page:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._line = 0
        self._kind = "prose"
        self._level = 0
        self._hidden = ""
        """The tag of the open element whose content is skipped."""
        self._links: list[str] = []

    def handle_tag(self, line: int, tag: str, rest: str, *, is_end: bool) -> None:
        if self._hidden:
            self._hidden = "" if is_end and tag == self._hidden else self._hidden
        elif tag in _SKIPPED:
            self._hidden = "" if is_end else tag
        elif tag in _HEADINGS or tag == "pre":
            self.end_block()
            if not is_end:
                self._kind, self._level = ("code", 0) if tag == "pre" else ("heading", _HEADINGS[tag])
        elif self._kind == "code":
            return
        elif tag in _BREAKS:
            if self._kind == "prose":
                self.end_block()
        elif tag == "code":
            self.add_text(line, "`")
        elif tag == "a" and self._kind == "prose":
            self._handle_link(line, rest, is_end=is_end)

    def _handle_link(self, line: int, rest: str, *, is_end: bool) -> None:
        if not is_end:
            found = _LINK.search(rest)
            self._links.append(unescape(found[1]) if found else "")
            self.add_text(line, "[")
        elif self._links:
            self.add_text(line, f"]({self._links.pop()})")

    def add_text(self, line: int, text: str) -> None:
        if self._hidden or not (self._text or text.strip()):
            return
        if not self._text:
            rest = text.lstrip("\r\n") if self._kind == "code" else text.lstrip()
            self._line = line + text[: len(text) - len(rest)].count("\n")
            text = rest
        self._text.append(text)

    def end_block(self) -> None:
        text = "".join(self._text)
        if self._kind != "code":
            text = "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n")).strip("\n")
        if text.strip():
            self.blocks.append(Block(self._kind, self._line, text.strip("\n"), self._level))
        self._text, self._kind, self._level = [], "prose", 0
