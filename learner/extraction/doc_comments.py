"""Reads comments as Go does: their text without markers and directives, and the marks of deprecated and generated code.

Works on the bytes of comments; `declarations` finds the comment group of a declaration.
"""

from __future__ import annotations

import re
from typing import Final

_DIRECTIVE: Final = re.compile(rb"(?:line |extern |export |[a-z0-9]+:[a-z0-9])")
_GENERATED: Final = re.compile(rb"^// Code generated .* DO NOT EDIT\.\r?$", re.MULTILINE)
_GENERATOR: Final = re.compile(rb"^// Code generated (.*?)[.;,]? *DO NOT EDIT\.\r?$", re.MULTILINE)
_SOURCE: Final = re.compile(rb"^//\s*[Ss]ource: *(\S+)\r?$", re.MULTILINE)
_FROM: Final = re.compile(r" from (\S*[\w/]\.\w+)$")
_LONGEST_ORIGIN: Final = 120
_DEPRECATED: Final = re.compile(r"(?:\A|\n\n)Deprecated: ")


def comment_text(comments: list[bytes]) -> str:
    """Return the text of a comment group, without markers and directives, with runs of blank lines reduced to one."""
    lines: list[str] = []
    for comment in comments:
        if comment.startswith(b"//"):
            content = comment[2:]
            if content[:1] == b" ":
                content = content[1:]
            elif _DIRECTIVE.match(content):
                continue
        else:
            content = comment[2:-2]
        for line in content.decode("utf-8", "replace").split("\n"):
            line = line.rstrip(" \t\r\n")
            if line or (lines and lines[-1]):
                lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines)


def is_deprecated(doc: str) -> bool:
    return "Deprecated: " in doc and _DEPRECATED.search(doc) is not None


def is_generated(header: bytes) -> bool:
    """Whether the text before the package clause has Go's standard marker of generated code."""
    return b"// Code generated " in header and _GENERATED.search(header) is not None


def origin_of(header: bytes) -> str:
    """What generated a file, from what, as the text before its package clause says: "by protoc-gen-go from rpc.proto".

    A source that the header does not name as such is recognized as the last word of the command, if that is a path.
    """
    marker = _GENERATOR.search(header)
    if marker is None:
        return ""
    text = marker[1].decode("utf-8", "replace").replace('"', "").strip()
    source = _SOURCE.search(header)
    if source is not None:
        text = f"{_FROM.sub('', text)} from {source[1].decode('utf-8', 'replace')}"
    elif text.startswith("by ") and " from " not in text:
        *command, last = text.split(" ")
        if len(command) > 1 and "/" in last and "." in last.rpartition("/")[2] and not last.endswith(".go"):
            text = f"{' '.join(command)} from {last}"
    return text if len(text) <= _LONGEST_ORIGIN else f"{text[: _LONGEST_ORIGIN - 1]}…"
