"""The paragraph of a README that says what a project is, as plain text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from golore.graph.safety.regular_file import read_regular

_NAMES: Final = ("README.md", "README.markdown", "README.rst", "README.txt", "README", "readme.md", "Readme.md")
_LIMIT: Final = 1 << 20
_READ: Final = 1 << 16
"""Characters in which the paragraph is looked for."""
_SHORTEST: Final = 50
_LONGEST: Final = 700
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|<!--.*?-->", re.S)
_NOT_PROSE: Final = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|</?[A-Za-z][^>]*>", re.S)
_HEADING: Final = re.compile(
    r"<(h[1-6])\b[^>]{0,400}>.{0,1000}?</\1\s*>|^#{1,6}[ \t][^\n]*$|^[^\n]+\n(?:=+|-+)[ \t]*$", re.S | re.M | re.I
)
_BLOCK: Final = re.compile(
    r"</?(?:blockquote|center|details|div|hr|li|ol|p|section|summary|table|td|th|tr|ul)\b[^>]*>", re.I
)
_LINK: Final = re.compile(r"\[([^\[\]]*)\](?:\([^)]*\)|\[[^\]]*\])?")
_OTHER_BLOCK: Final = re.compile(r"\s*(?:#|[-*+] |\d+\. |>|\||=+\s*$|-+\s*$|    |\t|\[[^\]]+\]:)")
_DEFINES: Final = re.compile(r"\b(?:is|are|provides?|implements?|contains?)\b", re.I)


def readme_of(root: Path) -> tuple[str, str]:
    """The name of the README, and its first paragraph that defines the project, or else its first one; both may be
    empty."""
    for name in _NAMES:
        try:
            text = read_regular(root / name, _LIMIT, follow=True).decode("utf-8", "replace")
        except OSError:
            continue
        found = _paragraphs(text[:_READ])
        chosen = next((one for one in found if _DEFINES.search(one)), found[0] if found else "")
        return name, chosen if len(chosen) <= _LONGEST else f"{chosen[:_LONGEST].rpartition(' ')[0]} …"
    return "", ""


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of prose, without markup."""
    found: list[str] = []
    text = _BLOCK.sub("\n\n", _HEADING.sub("\n\n", _CODE.sub("", text)))
    for block in re.split(r"\n\s*\n", _NOT_PROSE.sub("", text)):
        if not _OTHER_BLOCK.match(block):
            plain = " ".join(re.sub(r"[*`]|\[\]", "", _LINK.sub(r"\1", _LINK.sub(r"\1", block))).split())
            if len(plain) >= _SHORTEST:
                found.append(plain)
    return found
