"""Go that is newer than the grammar, rewritten so that it parses, byte for byte in place.

Only tried on files that do not parse as they are. The offsets stay those of the source, so everything that is read by
offset still reads the original text. Two things are known: methods with type parameters (their receiver is blanked
out, and handed back beside the text), and `new` of a value or a
function of one's own called `make` (both get a name that the grammar has no rule for).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_GENERIC_METHOD: Final = re.compile(rb"^func[ \t]*(\([^()\n]*\))[ \t]*\w+[ \t]*\[", re.MULTILINE)
_NEW: Final = re.compile(rb"\b(?:new|make)\((?!\s*(?:\[|\*|(?:map|struct|chan|func|interface)\b))")
_RECEIVER: Final = re.compile(rb"\(\s*(?:(\w+)\s+)?(\*?)\s*(\w+)\s*(?:\[([^\]]*)\])?\s*\)")


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


def rewrite(source: bytes, broken: set[int], starts: list[int]) -> Rewritten | None:
    """The source with newer Go made older; `broken` are the lines that do not parse. None if there is none."""
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
    for line in broken:
        end = starts[line] if line < len(starts) else len(source)
        for match in _NEW.finditer(source, starts[line - 1], end):
            changed[match.start() + 1] ^= 0x20  # a capital letter in its middle: a name like any other
    text = bytes(changed)
    return None if text == source else Rewritten(text, receivers)
