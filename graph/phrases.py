"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,200 entries`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{with_commas(number)} {noun[:-1]}ies"
    return f"{with_commas(number)} {noun}es" if noun.endswith(("s", "x")) else f"{with_commas(number)} {noun}s"


def with_commas(number: int) -> str:
    """`1,200`. Most numbers have no comma, and formatting takes several times as long as `str`."""
    return str(number) if -1000 < number < 1000 else f"{number:,}"


def joined(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def listed(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`: the first `most` names, and how many there are besides."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def amount(size: int) -> str:
    """A rough number of bytes, such as `8.1 MB`."""
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{ceil(size / 1e3)} kB"


def duration(seconds: float) -> str:
    """A rough time, such as `about 12 s`."""
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {max(1, ceil(seconds))} s"
