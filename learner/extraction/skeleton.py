"""Finds the parts of a file that its skeleton leaves out: the contents of functions and of large values.

Most of a file is bodies, and they account for most of the cost of a syntax tree. In a declaration formatted by gofmt,
the body ends at the first `}` at the start of a line, outside of strings and comments, before the next declaration; one
regular expression finds it. A body that ends elsewhere stays in the skeleton. With other formatting the skeleton may
be unbalanced; it does not parse then, and the caller reads the whole file instead. `token_encoder` reads the bodies.
"""

from __future__ import annotations

import re
from typing import Final

# Repeated groups are atomic, `(?>(?:…)*)`, not possessive, `(?:…)*+`: in Python 3.11.2 (Debian 12) the match position
# is wrong after a possessive group fails.
_TEXT: Final = (
    rb"""[^`"'/\n]++|`[^`]*+`|"(?>(?:[^"\\\n]++|\\[^\n])*)"|'(?>(?:[^'\\\n]++|\\[^\n])*)'"""
    rb"""|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)\*/|/(?![/*])"""
)
_PLAIN: Final = rb"[^\n`\"'/]*"
_NOT_A_TYPE: Final = rb"(?<!struct)(?<!interface)(?<!struct )(?<!interface )(?<!\t)(?<!  )"
"""Precedes an opening brace that does not begin a struct or interface type."""
_BODY: Final = re.compile(
    rb"\n(?:func\b(?>(?:"
    + _PLAIN
    + rb"\(\n(?>(?:[ \t][^\n]*\n|\n)*)\))*)"
    + _PLAIN
    + rb"|var\b"
    + _PLAIN
    + rb"|\})"
    + _NOT_A_TYPE
    + rb"(\{)(?=\n)(?>(?:"
    + _TEXT
    + rb"|\n(?!\}|(?:func|type|var|const)\b))*)\n(\})"
)
"""Begins with a line end instead of `^`: a character is quicker to find, and no body begins in the first line."""
_BETWEEN: Final = re.compile(rb"(?>(?:" + _TEXT + rb"|\n)*)")


def find_cuts(source: bytes) -> dict[int, int]:
    """Return the pairs of braces whose contents can be left out: offset of the opening brace → of the closing one.

    Returns no pairs if what looks like a body may be inside a string or comment.
    """
    cuts: dict[int, int] = {}
    at = 0
    for match in _BODY.finditer(source):
        start = match.start(1)
        if _BETWEEN.fullmatch(source, at, start) is None:
            return {}
        at = cuts[start] = match.start(2)
    return cuts
