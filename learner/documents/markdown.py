"""Reads Markdown into blocks: headings, prose and code, each with its line. Covers only the part of CommonMark needed.

Recognizes ATX and setext headings, fenced and indented code, lists, block quotes, HTML blocks, comments and front
matter. Content of lists and quotes is prose or code; a heading there does not begin a section. Emphasis, tables and
references stay as they are written: nothing is rendered. No library is used, because a parser that renders takes a
second per megabyte, and a repository may have a dozen megabytes of changelogs.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Block(NamedTuple):
    """`kind` is `heading`, `prose` or `code`. `line` is the line of the first line of `text`, `level` the level of a
    heading, and `info` the language of a fenced code block, if given."""

    kind: str
    line: int
    text: str
    level: int = 0
    info: str = ""


class MarkdownDocument(NamedTuple):
    """`front` are the simple key-value pairs of the front matter."""

    front: dict[str, str]
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]


_LINES: Final = re.compile(r"\r\n|\n|\r")
_ATX: Final = re.compile(r"(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT: Final = re.compile(r"(=+|-+)[ \t]*$")
_RULE: Final = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE: Final = re.compile(r"(`{3,})[ \t]*([^`]*)$|(~{3,})[ \t]*(.*)$")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:([ \t]+)|$)")
_EMPTY_ITEM: Final = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]*)+(?:$|#{1,6}(?:[ \t]|$))")
_FRONT: Final = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*[:=][ \t]*(.+?)[ \t]*$")
_FRONT_LINES: Final = 200
_SPECIAL_START: Final = frozenset("#`~<>=-*_+0123456789 \t")
"""First characters of lines that may be more than prose. A line with any other one continues its paragraph."""
_VERBATIM: Final = re.compile(r"<(?:script|pre|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_VERBATIM_END: Final = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_BLOCK_TAG: Final = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title"
    r"|tr|track|ul)(?:\s|/?>|$)",
    re.IGNORECASE,
)
_ANY_TAG: Final = re.compile(
    r"(?:<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*\s*/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*\s*>)\s*$"
)
_BLANK: Final = re.compile(r"^\s*$")


def read_markdown(text: str) -> MarkdownDocument:
    """The blocks of a document in order. Accepts any text."""
    text = text.removeprefix("\ufeff")
    lines = tuple(_LINES.split(text) if "\r" in text else text.split("\n"))
    front, begin = _front_matter(lines)
    scanner = _Scanner()
    for number in range(begin, len(lines)):
        scanner.take(number + 1, lines[number])
    return MarkdownDocument(front, scanner.end(), lines)


def _front_matter(lines: tuple[str, ...]) -> tuple[dict[str, str], int]:
    """The front matter, and the index of the first line after it."""
    fence = lines[0].rstrip()
    if fence not in ("---", "+++"):
        return {}, 0
    for at, line in enumerate(lines[1:_FRONT_LINES], 1):
        if line.rstrip() in (fence, "..." if fence == "---" else fence):
            found = [_FRONT.match(one) for one in lines[1:at]]
            return {match[1].lower(): match[2].strip("'\"") for match in found if match}, at + 1
    return {}, 0


class _Scanner:
    """Takes the lines one by one. `_blocks` has the finished blocks."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._kind = ""
        """The kind of the open block: `prose`, `code`, or "" if none is open."""
        self._open_lines: list[str] = []
        self._line = 0
        self._info = ""
        self._fence = ""
        self._fence_indent = 0
        self._is_top_level = False
        """Whether the open paragraph is outside of lists and quotes, so that an underline can make it a heading."""
        self._html: re.Pattern[str] | None = None
        """The end condition of the open HTML block."""
        self._is_hidden = False
        self._item_offset = 0
        """The indentation of the content of the open list item; 0 outside of lists."""
        self._is_after_blank = True
        self._is_empty_item = False
        """Whether the last line was a list item without content, which a blank line ends."""

    def end(self) -> tuple[Block, ...]:
        self._close()
        return tuple(self._blocks)

    def take(self, number: int, line: str) -> None:
        if self._fence:
            self._take_fenced(number, line)
            return
        if self._html is not None:
            self._take_html(number, line)
            return
        if self._kind == "prose" and line and line[0] not in _SPECIAL_START:
            self._open_lines.append(line)
            return
        if "\t" in line:
            line = line.expandtabs(4)
        content = line.lstrip(" ")
        if not content.strip():
            self._take_blank(line)
            return
        self._take_content(number, line, content, len(line) - len(content))
        self._is_after_blank = False

    def _take_blank(self, line: str) -> None:
        if self._kind == "code":
            self._open_lines.append(line)
        else:
            self._close()
        if self._is_empty_item:
            self._item_offset, self._is_empty_item = 0, False
        self._is_after_blank = True

    def _take_content(self, number: int, line: str, content: str, indent: int) -> None:
        self._is_empty_item = False
        # Only a paragraph may continue with less indentation.
        is_over = self._is_after_blank or self._kind != "prose" or content[0] in "<>"
        if is_over and indent < self._item_offset and not _ITEM.match(content):
            self._item_offset = 0
        inner = indent - self._item_offset if indent >= self._item_offset else indent
        if inner >= 4 and self._kind != "prose":
            self._add("code", number, line[self._item_offset + 4 :])
            return
        if self._kind == "code":
            self._close()
        if inner < 4 and self._begins_other(number, content, indent):
            return
        is_list_item = self._begins_item(content, indent) if inner < 4 else False
        is_quote = content.startswith(">")
        if self._kind != "prose" or is_list_item or (is_quote and self._is_top_level):
            self._close()
            self._is_top_level = not (self._item_offset or is_list_item or is_quote)
        self._add("prose", number, content if is_quote or is_list_item else line)
        self._is_empty_item = (
            is_list_item and content.rstrip()[-1] in "-*+.)" and _EMPTY_ITEM.match(content) is not None
        )
        if is_list_item and _EMPTY_ITEM.match(content):
            self._close()

    def _begins_other(self, number: int, content: str, indent: int) -> bool:
        """Handle a heading, a rule, or the start of a code fence or HTML block. Returns whether the line is one."""
        is_inside = 0 < self._item_offset <= indent
        if self._kind == "prose" and self._is_top_level and not is_inside and _SETEXT.match(content):
            title = "\n".join(self._open_lines)
            self._kind, self._open_lines = "", []
            self._blocks.append(Block("heading", self._line, title, 1 if content[0] == "=" else 2))
            return True
        if content[0] == "#" and (found := _ATX.match(content)):
            self._close()
            if is_inside:
                self._add("prose", number, found[2] or "")
                self._close()
            else:
                self._item_offset = 0
                self._blocks.append(Block("heading", number, found[2] or "", len(found[1])))
            return True
        if content[0] in "`~" and (found := _FENCE.match(content)):
            self._close()
            self._item_offset = self._item_offset if is_inside else 0
            self._fence, self._fence_indent = found[1] or found[3], indent
            self._kind, self._line, self._info = "code", number + 1, (found[2] or found[4] or "").strip()
            return True
        if content[0] in "-*_" and _RULE.match(content):
            self._close()
            self._item_offset = self._item_offset if is_inside else 0
            return True
        return content[0] == "<" and self._begins_html(number, content)

    def _begins_html(self, number: int, content: str) -> bool:
        ends: re.Pattern[str] | None = None
        self._is_hidden = False
        if content.startswith("<!--"):
            ends, self._is_hidden = re.compile("-->"), True
        elif _VERBATIM.match(content):
            ends, self._is_hidden = _VERBATIM_END, content[1:2].lower() == "s"
        elif content.startswith("<?"):
            ends, self._is_hidden = re.compile(r"\?>"), True
        elif content.startswith("<!") and content[2:3].isalpha():
            ends, self._is_hidden = re.compile(">"), True
        elif _BLOCK_TAG.match(content) or (self._kind != "prose" and _ANY_TAG.match(content)):
            ends = _BLANK
        if ends is None:
            return False
        self._close()
        self._html = ends
        self._take_html(number, content)
        return True

    def _take_html(self, number: int, line: str) -> None:
        ends = self._html
        assert ends is not None
        is_over = ends.search(line) is not None
        if not self._is_hidden and not (is_over and ends is _BLANK):
            self._add("prose", number, line)
        if is_over:
            self._close()
            self._html = None
            self._is_after_blank = ends is _BLANK

    def _take_fenced(self, number: int, line: str) -> None:
        content = line.strip()
        is_end = content.startswith(self._fence) and not content.strip(self._fence[0])
        if is_end and len(line) - len(line.lstrip()) < self._fence_indent + 4:
            self._fence = ""
            self._close()
            return
        if (
            self._item_offset
            and content
            and len(line) - len(line.lstrip()) < min(self._item_offset, self._fence_indent)
        ):
            # The line is indented less than the list item: the item ends, and the open fence with it.
            self._fence = ""
            self._close()
            self.take(number, line)
            return
        taken = line[: self._fence_indent].lstrip(" ") + line[self._fence_indent :]
        self._open_lines.append(taken)

    def _begins_item(self, content: str, indent: int) -> bool:
        found = _ITEM.match(content)
        if found is None:
            return False
        is_first = not self._item_offset or indent < self._item_offset
        interrupts = self._kind == "prose" and self._is_top_level
        if interrupts and (
            not content[found.end() :].strip() or (content[0].isdigit() and content[0:2] not in ("1.", "1)"))
        ):
            return False
        if is_first:
            spaces = len(found[1] or " ")
            self._item_offset = indent + found.end() - (spaces - 1 if spaces > 4 else 0)
            if not found[1]:
                self._item_offset += 1
        return True

    def _add(self, kind: str, number: int, line: str) -> None:
        if self._kind != kind:
            self._close()
            self._kind, self._line = kind, number
        self._open_lines.append(line)

    def _close(self) -> None:
        if self._kind:
            while self._open_lines and not self._open_lines[-1].strip():
                self._open_lines.pop()
            if self._open_lines:
                self._blocks.append(Block(self._kind, self._line, "\n".join(self._open_lines), 0, self._info))
        self._kind, self._open_lines, self._info = "", [], ""
