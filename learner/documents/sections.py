"""Splits a document into sections, and each section into pieces that may name code.

Works the same for Markdown, HTML and plain text: a section is a heading and its text up to the next heading. A decision
record is recognized by its directory or by its headings, and has a status if it states one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from golore.learner.checkout.document_names import MARKDOWN, is_about_records, is_among_records, is_log
from golore.learner.documents.html import read_page
from golore.learner.documents.markdown import Block, read_markdown

MAX_SECTION_CHARACTERS: Final = 4_000
"""The maximum number of characters of a section that are stored, in whole lines. The rest is only searched for
mentions."""
_LOG_LEVEL: Final = 2
_STATUS_LINE: Final = re.compile(r"^\W*\**status\**\s*[:|]\s*\**\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_STATUS_WORD: Final = re.compile(
    r"(?i)\b(accepted|approved|proposed|rejected|deprecated|superseded|draft|implemented|withdrawn|done|pending|active)\b"
)
_MAX_STATUS: Final = 80
_MAX_TITLE: Final = 300
_MARKUP: Final = (
    ("[", re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    ("[", re.compile(r"!?\[([^\]]*)\]\[[^\]]*\]"), r"\1"),
    ("<{", re.compile(r"<!--.*?-->|</?[A-Za-z][^>]*>|\{[#:][^}]*\}\s*$"), ""),
    ("`*_~", re.compile(r"`+|\*\*|__|~~"), ""),
    ("\\", re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
"""Each pattern matches only texts that contain one of the characters before it, which is quicker to check."""
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGET: Final = re.compile(
    r"\]\(\s*<?([^)\s>]+)|^\s{0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)|\bhref\s*=\s*[\"']?([^\"'\s>]+)|(https?://[^\s)>\]\"'`]+)",
    re.MULTILINE,
)
_LINK_SIGNS: Final = ("](", "]:", "href", "http")
"""Each match of `_LINK_TARGET` contains one of these, which are quicker to look for."""


class SectionText(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A piece of text that may name code. `kind`: inline `code`, the target of a `link`, `prose`, a code block in `go`
    or any other code `block`."""

    kind: str
    text: str
    line: int


class DocumentSection(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`anchor` is unique in the document, and empty for the text before the first heading."""

    anchor: str
    title: str
    level: int
    line: int
    end_line: int
    text: str
    pieces: tuple[SectionText, ...]


class Page(msgspec.Struct, frozen=True, array_like=True, gc=False):
    sections: tuple[DocumentSection, ...]
    record: bool
    status: str


def read_document(path: str, data: bytes) -> Page:
    """Read a document from any bytes. Invalid UTF-8 is replaced."""
    text = data.decode("utf-8", "replace")
    name = path.rpartition("/")[2]
    front: dict[str, str] = {}
    if name.lower().endswith(MARKDOWN):
        front, blocks, lines = read_markdown(text)
        title = front.get("title", "")
    elif name.lower().endswith(".txt"):
        lines = tuple(text.splitlines())
        title, blocks = "", tuple(_paragraphs(lines))
    else:
        lines = tuple(text.splitlines())
        title, blocks = read_page(text)
    sections = tuple(_sections(blocks, lines, title or name, is_change_log=is_log(path)))
    record = _is_record(path, sections)
    return Page(sections, record, _status(front, sections) if record else "")


def _paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    begin = 0
    for at, line in enumerate((*lines, "")):
        if not line.strip():
            if at > begin:
                yield Block("prose", begin + 1, "\n".join(lines[begin:at]))
            begin = at + 1


def _sections(
    blocks: Sequence[Block], lines: Sequence[str], name: str, *, is_change_log: bool
) -> Iterator[DocumentSection]:
    deepest = _LOG_LEVEL if is_change_log else 6
    starts = [at for at, block in enumerate(blocks) if block.kind == "heading" and block.level <= deepest]
    slug_counts: dict[str, int] = {}
    for nth, begin in enumerate((-1, *starts)):
        end = starts[nth] if nth < len(starts) else len(blocks)
        inner = blocks[begin + 1 : end]
        line = blocks[begin].line if begin >= 0 else (inner[0].line if inner else 1)
        last = blocks[end].line - 1 if end < len(blocks) else len(lines)
        title = plain_text(blocks[begin].text) if begin >= 0 else name
        if not title or (begin < 0 and not inner):
            continue
        pieces = () if is_change_log else tuple(_pieces(blocks[max(begin, 0) : end]))
        text = "\n\n".join(block.text for block in inner)
        level = blocks[begin].level if begin >= 0 else 0
        anchor = _anchor(title, slug_counts) if begin >= 0 else ""
        yield DocumentSection(
            anchor, title, level, line, max(line, _last_text_line(lines, last)), _truncated(text), pieces
        )


def _last_text_line(lines: Sequence[str], last: int) -> int:
    while last > 0 and not lines[last - 1].strip():
        last -= 1
    return last


def plain_text(text: str) -> str:
    """A heading or a line without its markup, at most 300 characters of it."""
    text = text[:_MAX_TITLE]
    for signs, pattern, replacement in _MARKUP:
        for sign in signs:
            if sign in text:
                text = pattern.sub(replacement, text)
                break
    return _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _truncated(text: str) -> str:
    if len(text) <= MAX_SECTION_CHARACTERS:
        return text
    start = text[:MAX_SECTION_CHARACTERS].rpartition("\n")[0] or text[:MAX_SECTION_CHARACTERS]
    return f"{start}\n… {len(text) - len(start):,} more characters"


def _anchor(title: str, slug_counts: dict[str, int]) -> str:
    """The anchor that GitHub gives to a heading. Letters of all scripts are kept."""
    slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    count = slug_counts.get(slug, 0)
    slug_counts[slug] = count + 1
    if not count:
        return slug or "-"
    return _anchor(f"{slug}-{count}", slug_counts)


def _pieces(blocks: Iterable[Block]) -> Iterator[SectionText]:
    for block in blocks:
        if block.kind == "code":
            language = block.info.lower().lstrip("{. ")
            yield SectionText("go" if language.startswith(("go", "golang")) else "block", block.text, block.line)
        else:
            yield from _inline(block)


def _inline(block: Block) -> Iterator[SectionText]:
    text, first = block.text, block.line
    spans = list(_CODE.finditer(text)) if "`" in text else []
    for found in spans:
        yield SectionText("code", _one_line(found[2]), first + text.count("\n", 0, found.start()))
    rest = _blanked(text, spans)
    links = list(_LINK_TARGET.finditer(rest)) if _may_link(rest) else []
    for found in links:
        target = next(filter(None, found.groups()))
        yield SectionText(
            "link", target.rstrip(".,;:!?") if found[4] else target, first + rest.count("\n", 0, found.start())
        )
    rest = _blanked(rest, links)
    if "/" in rest:
        for at, line in enumerate(rest.split("\n")):
            if "/" in line:
                yield SectionText("prose", line, first + at)


def _may_link(text: str) -> bool:
    for sign in _LINK_SIGNS:  # noqa: SIM110  a generator would take longer than the search
        if sign in text:
            return True
    return False


def _blanked(text: str, spans: Sequence[re.Match[str]]) -> str:
    """The text with spaces in place of these parts of it, in order. Line breaks are kept."""
    if not spans:
        return text
    parts: list[str] = []
    end = 0
    for found in spans:
        first, last = found.span()
        hidden = text[first:last]
        parts += (text[end:first], "\n".join([" " * len(line) for line in hidden.split("\n")]))
        end = last
    parts.append(text[end:])
    return "".join(parts)


def _is_record(path: str, sections: Sequence[DocumentSection]) -> bool:
    if is_about_records(path):
        return False
    if is_among_records(path):
        return True
    titles = {re.sub(r"[^a-z ]", "", section.title.lower()).strip() for section in sections}
    return "status" in titles and "decision" in titles and not titles.isdisjoint(("context", "consequences"))


def _status(front: dict[str, str], sections: Sequence[DocumentSection]) -> str:
    """The status of a record: from the front matter, below a heading `Status`, or after `Status:`; empty if none."""
    stated = front.get("status", "")
    if not stated:
        below = (section.text for section in sections if re.sub(r"[^a-z]", "", section.title.lower()) == "status")
        stated = next((line for text in below for line in text.split("\n") if line.strip()), "")
    if not stated:
        found = next(filter(None, (_STATUS_LINE.search(section.text) for section in sections)), None)
        stated = found[1] if found else ""
    stated = plain_text(stated).strip("|*_ .")
    return stated[:_MAX_STATUS] if _STATUS_WORD.search(stated) else ""
