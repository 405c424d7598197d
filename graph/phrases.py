"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,200 entries`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}es" if noun.endswith(("s", "x")) else f"{number:,} {noun}s"


def joined(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def listed(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`: the first `most` names, and how many there are besides."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
