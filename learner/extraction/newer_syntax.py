"""Rewrites Go that the grammar does not know so that it parses, without changing the length of the text.

A rewrite is tried on files that do not parse, and used only if less of the file stays broken. Only a `new` of a value
is renamed before the first parse of a whole file. Offsets stay the same, so reading by offset gives the original text.
Rewritten are:

- methods with type parameters: the receiver is replaced by blanks and returned separately;
- `new` of a value, and user-defined functions named `new` or `make`: they get a name that has no grammar rule;
- code that Go's parser accepts and its type checker rejects: `[...]T` outside of literals, and `~` before an operand.
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
_NEW_VALUE: Final = re.compile(rb"new\((?<!\wnew\()(?:[\"'`\d-]|(?:true|false)\)|\w+\([^()\n]*\)\))")
"""Like `\\bnew\\(…`, but it begins with characters, which are quick to find."""
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
    """By the offset of the method's declaration."""


def with_new_renamed(source: bytes) -> bytes:
    """Rename `new` and `make` if the source has a `new` of a value, which never parses; otherwise change nothing."""
    if b"new(" in source and _NEW_VALUE.search(source) is not None:
        return _NEW.sub(_renamed, source)
    return source


def rewrites(source: bytes, broken: set[int], starts: list[int]) -> Iterator[Rewritten]:
    """Yield rewritten versions of the source, the likeliest to help first; `broken` are the lines that do not parse."""
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
    """Capitalize the second letter (`nEw`, `mAke`), which makes it an ordinary name."""
    text = match[0]
    return text[:1] + text[1:2].upper() + text[2:]


def _lengthened(match: re.Match[bytes]) -> bytes:
    return match[1] + b"0  "


def _complemented(match: re.Match[bytes]) -> bytes:
    return match[1] + b"^"
