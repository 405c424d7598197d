"""Formats the source text of a type or signature on one line, as gofmt would, without comments.

gofmt keeps the author's line breaks. Here there are none, so the fields of a struct and the elements of an interface
are separated by semicolons. Text that is already on one line is assumed to be formatted by gofmt: in unformatted code,
the spacing inside a line stays as written.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|`[^`]*`|'(?:[^'\\]|\\.)+'|\w+|\.\.\.|<-|.""", re.DOTALL
)
_UNTIDY: Final = re.compile(rb"[\n/\t\r]|  ")
_TIGHT_BEFORE: Final = frozenset(",;)].")
_TIGHT_AFTER: Final = frozenset("([.") | {"...", "~"}
_NOT_AT_LINE_END: Final = frozenset(",;([{.|~*=") | {"...", "<-", "func", "struct", "interface", "map", "chan"}


def one_line(text: bytes) -> str:
    line = text.decode("utf-8", "replace")
    if _UNTIDY.search(text):
        return " ".join(_join_lines(line).split(" "))
    return line


def _join_lines(text: str) -> str:
    parts: list[str] = []
    open_braces: list[bool] = []
    previous = ""
    gap = newline = False
    for token in _TOKEN.findall(text):
        if token.isspace() or token.startswith(("//", "/*")):
            gap = True
            newline = newline or "\n" in token
            continue
        if newline and open_braces and token != "}" and previous not in _NOT_AT_LINE_END:
            parts.append(";")
            previous = ";"
        if (newline and previous == "," and token in ")]") or (previous == ";" and token == "}"):
            parts.pop()
            previous = parts[-1] if parts else ""
        if previous and _is_spaced(previous, token, gap):
            parts.append(" ")
        if token == "{":
            open_braces.append(True)
        elif token == "}" and open_braces:
            open_braces.pop()
        parts.append(token)
        previous = token
        gap = newline = False
    return "".join(parts)


def _is_spaced(previous: str, token: str, gap: bool) -> bool:
    """Whether to put a space between two tokens. `gap`: the source has space or a comment there."""
    if token in _TIGHT_BEFORE or previous in _TIGHT_AFTER:
        return False
    if previous in ",;":
        return True
    if token == "{":
        return previous not in ("struct", "interface") and gap
    if previous == "{":
        return token != "}"
    if token == "}":
        return True
    if token == "<-" and previous == "chan":
        return False
    return gap
