"""Go that the grammar does not know, rewritten so that it parses, byte for byte in place.

Only tried on files that do not parse as they are, and kept only where less stays broken. The offsets stay those of
the source, so everything that is read by offset still reads the original text. Known are: methods with type parameters
(their receiver is blanked out, and handed back beside the text), `new` of a value and functions of one's own called
`new` or `make` (they get a name that the grammar has no rule for), and what Go's parser takes and its type checker
refuses: `[...]T` outside of literals, and `~` before an operand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_GAP: Final = rb"(?:\s|/\*[^*]{0,200}\*/)*"
_GENERIC_METHOD: Final = re.compile(rb"^func[ \t]*(\([^()\n]*\))[ \t]*\w+[ \t]*\[", re.MULTILINE)
_RECEIVER: Final = re.compile(rb"\(\s*(?:(\w+)\s+)?(\*?)\s*(\w+)\s*(?:\[([^\]]*)\])?\s*\)")
_TYPE: Final = rb"(?:<-|\[|\*|(?:map|struct|chan|func|interface)\b)"
_NEW: Final = re.compile(rb"\b(?:new|make)(?=\((?!\s*" + _TYPE + rb"|[^()\n]*\[" + _TYPE + rb"))")
_NEW_VALUE: Final = re.compile(rb"\bnew\((?:[\"'`\d-]|(?:true|false)\)|\w+\([^()\n]*\)\))")
_ANY_NEW: Final = re.compile(rb"\b(?:new|make)(?=" + _GAP + rb"\()")
_AUTO_LENGTH: Final = re.compile(rb"(?<=\[)(" + _GAP + rb")\.\.\.(?=" + _GAP + rb"\])")
_TILDE: Final = re.compile(rb"(=" + _GAP + rb")~")


class Receiver(NamedTuple):
    """The receiver of a method that was rewritten as a function."""

    name: bytes
    pointer: bool
    base: str
    type_parameters: tuple[str, ...]


class Rewritten(NamedTuple):
    source: bytes
    receivers: dict[int, Receiver]
    """By the offset where the method's declaration begins."""


def with_new_renamed(source: bytes) -> bytes:
    """The source, rewritten before the first try where it has a `new` of a value, which is sure not to parse."""
    if b"new(" in source and _NEW_VALUE.search(source) is not None:
        return _NEW.sub(_renamed, source)
    return source


def rewrites(source: bytes, broken: set[int], starts: list[int]) -> Iterator[Rewritten]:
    """The source with newer Go made older, the likeliest way first; `broken` are the lines that do not parse."""
    first = _without_receivers(source)
    yield Rewritten(_NEW.sub(_renamed, first.source), first.receivers)
    yield Rewritten(_on_lines(source, broken, starts, _ANY_NEW, _renamed), {})
    yield Rewritten(_on_lines(source, broken, starts, _AUTO_LENGTH, _lengthened), {})
    yield Rewritten(_TILDE.sub(_complemented, source), {})


def _without_receivers(source: bytes) -> Rewritten:
    changed = bytearray(source)
    receivers: dict[int, Receiver] = {}
    for match in _GENERIC_METHOD.finditer(source):
        parsed = _RECEIVER.fullmatch(match[1])
        if parsed is None:
            continue
        parameters = tuple(p.strip().decode("utf-8", "replace") for p in (parsed[4] or b"").split(b",") if p.strip())
        receivers[match.start()] = Receiver(
            parsed[1] or b"", bool(parsed[2]), parsed[3].decode("utf-8", "replace"), parameters
        )
        changed[match.start(1) : match.end(1)] = b" " * len(match[1])
    return Rewritten(bytes(changed), receivers)


def _on_lines(
    source: bytes,
    lines: set[int],
    starts: list[int],
    pattern: re.Pattern[bytes],
    change: Callable[[re.Match[bytes]], bytes],
) -> bytes:
    changed = bytearray(source)
    for line in lines:
        end = starts[line] if line < len(starts) else len(source)
        for match in pattern.finditer(source, starts[line - 1], end):
            changed[match.start() : match.end()] = change(match)
    return bytes(changed)


def _renamed(match: re.Match[bytes]) -> bytes:
    """With a capital letter in its middle it is a name like any other."""
    text = match[0]
    return text[:1] + text[1:2].upper() + text[2:]


def _lengthened(match: re.Match[bytes]) -> bytes:
    return match[1] + b"0  "


def _complemented(match: re.Match[bytes]) -> bytes:
    return match[1] + b"^"
