"""Deterministic mutations of bytes: pieces are deleted, doubled, moved, replaced and inserted, and numbers changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

_ODD = (
    b"\0", b"\xff", b"\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b" ", b"{", b"}", b"[", b"]", b"(", b")", b'"',
    b"'", b"`", b"\\", b"/", b"*", b"**", b"//", b"/*", b"!", b"#", b",", b":", b";", b"-1", b"0", b"1e999", b"null",
    b"\\u0000", b"\\ud800", b"9223372036854775808", b"../", b"\xe2\x80\xae", b"\x1b[31m",
)  # fmt: skip
_MOST = 1 << 16


def mutations(seeds: Sequence[bytes], count: int, number: int) -> Iterator[bytes]:
    """`count` mutations of the seeds. The same `number` gives the same mutations."""
    choose = Random(number)
    for _ in range(count):
        yield mutated(choose.choice(seeds), choose, choose.choice(seeds))


def mutated(data: bytes, choose: Random, other: bytes) -> bytes:
    for _ in range(choose.choice((1, 1, 2, 4, 8))):
        start = choose.randrange(len(data) + 1)
        end = min(len(data), start + choose.choice((1, 1, 4, 16, 64)))
        match choose.randrange(7):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:end] + data[start:]
            case 2:
                data = data[:start] + choose.choice(_ODD) + data[start:]
            case 3:
                data = data[:start] + choose.randbytes(end - start) + data[end:]
            case 4:
                at = choose.randrange(len(other) + 1)
                data = data[:start] + other[at : at + 64] + data[start:]
            case 5:
                data = data[:start] + data[start:end] * choose.choice((2, 8, 200)) + data[end:]
            case _:
                changed = bytes((byte ^ 1 << choose.randrange(8)) for byte in data[start : start + 1])
                data = data[:start] + changed + data[start + 1 :]
    return data[:_MOST]
