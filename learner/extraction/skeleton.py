"""What can be left out of a file for its skeleton: the insides of its functions and large values.

Most of a file is bodies, and most of the price of a syntax tree is paid for them. Where a declaration is laid out as
gofmt does it, its body ends at the first `}` that begins a line, outside of strings and comments, and before the next
declaration; finding that takes one regular expression. A body that ends otherwise is left in. Code laid out in stranger
ways comes out unbalanced, and then does not parse: the caller reads the whole file instead.
Nothing here knows what the bodies say; `bodies` does.
"""

from __future__ import annotations

import re
from typing import Final

# Groups are atomic instead of possessive: Python 3.11.2, as Debian 12 has it, loses its place where one of those fails.
_TEXT: Final = (
    rb"""[^`"'/\n]++|`[^`]*+`|"(?>(?:[^"\\\n]++|\\[^\n])*)"|'(?>(?:[^'\\\n]++|\\[^\n])*)'"""
    rb"""|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)\*/|/(?![/*])"""
)
_PLAIN: Final = rb"[^\n`\"'/]*"
_NOT_A_TYPE: Final = rb"(?<!struct)(?<!interface)(?<!struct )(?<!interface )(?<!\t)(?<!  )"
"""Before a brace: it does not open a struct or an interface."""
_BODY: Final = re.compile(
    rb"^(?:func\b(?>(?:"
    + _PLAIN
    + rb"\(\n(?>(?:[ \t][^\n]*\n|\n)*)\))*)"
    + _PLAIN
    + rb"|var\b"
    + _PLAIN
    + rb"|\})"
    + _NOT_A_TYPE
    + rb"(\{)(?=\n)(?>(?:"
    + _TEXT
    + rb"|\n(?!\}|(?:func|type|var|const)\b))*)\n(\})",
    re.MULTILINE,
)
_BETWEEN: Final = re.compile(rb"(?>(?:" + _TEXT + rb"|\n)*)")


def cuts_of(source: bytes) -> dict[int, int]:
    """The braces whose insides can be left out: the offsets of the closing ones by those of the opening ones.

    There are none where what looks like code may stand in a string or comment.
    """
    cuts: dict[int, int] = {}
    at = 0
    for match in _BODY.finditer(source):
        start = match.start(1)
        if _BETWEEN.fullmatch(source, at, start) is None:
            return {}
        at = cuts[start] = match.start(2)
    return cuts
