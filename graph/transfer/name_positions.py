"""Where in a line a name is: the graph knows the lines of definitions and uses, and other formats need columns.

Columns count bytes. A name that is once on its line is found for certain. Of several, those in strings and comments do
not count, nor those that what is known about the use excludes; if more than one is left, the range covers all of them.
If the name is not on the line, as with a field that a literal sets by its position, the range is the whole line.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

MEMBER: Final = "member"
"""A member of a type comes after a dot."""
KEY: Final = "key"
"""A field that a literal sets comes before a colon."""
QUALIFIED: Final = "qualified"
"""A name of another package comes after a dot, in a file that imports no package with one."""
UNKNOWN: Final = ""
BARE: Final = "bare"
"""A name of the same package never comes after a dot."""
_QUOTED: Final = re.compile(rb'"(?:\\.|[^"\\])*"|`[^`]*`|\'(?:\\.|[^\'\\])*\'|//.*|/\*.*?(?:\*/|$)')
_RECEIVER: Final = re.compile(rb"\s*func\s*\([^)]*\)\s*")


def use_columns(
    line: bytes,
    name: str,
    *,
    is_call: bool,
    after: str,
    above: bytes = b"",
    defined: Collection[tuple[int, int]] = (),
) -> tuple[int, int]:
    """The columns of a use: first and end. `after`: how the name is written (see `MEMBER`). `above` is the line before.
    `defined`: the columns of names that are declared on the line, which are not uses."""
    found = _found(line, name)
    if len(found) > 1:
        found = [one for one in found if one not in defined] or found
    if len(found) > 1 and is_call:
        found = [one for one in found if line[one[1] : one[1] + 1] in (b"(", b"[")] or found
    if len(found) > 1:
        found = [one for one in found if _is_written(line, one, after, above)] or found
    return _covering(line, found)


def _is_written(line: bytes, place: tuple[int, int], after: str, above: bytes) -> bool:
    before = line[: place[0]].rstrip() or _QUOTED.sub(b"", above).rstrip()
    has_dot = before.endswith(b".")
    if after == KEY:
        return not has_dot and line[place[1] :].lstrip().startswith(b":")
    return not after or has_dot == (after != BARE)


def definition_columns(line: bytes, name: str, kind: str) -> tuple[int, int]:
    """The columns of the name in the line that declares it: the first one, and for a method the one after the receiver.
    The name of an embedded field is the last part of its type."""
    receiver = _RECEIVER.match(line) if kind == "method" else None
    start = receiver.end() if receiver is not None else 0
    found = [one for one in _found(line, name) if one[0] >= start]
    return found[0] if found else _covering(line, [])


def _found(line: bytes, name: str) -> list[tuple[int, int]]:
    found = [match.span() for match in _pattern(name).finditer(line)]
    if len(found) > 1:
        quoted = [match.span() for match in _QUOTED.finditer(line)]
        found = [one for one in found if not any(start <= one[0] < end for start, end in quoted)] or found
    return found


def _covering(line: bytes, found: list[tuple[int, int]]) -> tuple[int, int]:
    if found:
        return found[0][0], found[-1][1]
    end = len(line.rstrip())
    return end - len(line.strip()), end


@lru_cache(maxsize=10_000)
def _pattern(name: str) -> re.Pattern[bytes]:
    """The name as a whole word. All bytes beyond ASCII count as letters, because identifiers may have them."""
    return re.compile(rb"(?<![\w\x80-\xff])" + re.escape(name.encode("utf-8", "replace")) + rb"(?![\w\x80-\xff])")
