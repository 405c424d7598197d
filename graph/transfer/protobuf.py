"""Writes the wire format of protocol buffers: the few kinds of fields that SCIP needs, without a schema or a library.

A message is the concatenation of its fields. Values that are zero or empty are left out, as proto3 does.
"""

from __future__ import annotations

from collections.abc import Iterable

_BYTES = 2


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    if number < 0x80:
        return bytes((number,))
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def message(field: int, content: bytes) -> bytes:
    """A message inside another one, also if it is empty."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    return message(field, value.encode("utf-8", "replace")) if value else b""


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def numbers(field: int, values: Iterable[int]) -> bytes:
    """A repeated number, packed."""
    return message(field, b"".join(map(varint, values)))
