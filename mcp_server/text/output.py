"""Prints answers: aligned text for people, coloured only on a terminal, and JSON for programs."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TextIO, cast

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def to_json_value(value: object) -> Any:
    """Convert a value for JSON: records become objects, tuples and sets become lists, other types become strings."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
    if names := getattr(value, "_fields", None):
        return {name: to_json_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_value(item) for item in cast("Iterable[object]", value)]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def print_json(value: object) -> None:
    print(json.dumps(to_json_value(value), indent=2, ensure_ascii=False))


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def has_colours(stream: TextIO) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """The text in a style, or unchanged if standard output has no colours."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if has_colours(sys.stdout) else text


def columns(rows: Sequence[Sequence[str]], indent: int = 2) -> list[str]:
    """Lines with each column as wide as its widest cell; the last column is not padded."""
    if not rows:
        return []
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append((" " * indent + "  ".join([*cells, row[-1]])).rstrip())
    return lines


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows as a table whose first line has the names of the columns."""
    if not rows:
        return ["No rows."]
    names = list(rows[0])
    return columns([names, *([" ".join(str(row[name]).split()) for name in names] for row in rows)], indent=0)


def print_lines(lines: Iterable[str]) -> None:
    print("\n".join(lines))


def as_utf8(stream: TextIO) -> TextIO:
    """Make a stream write UTF-8 and Unix line ends on every machine. Returns the stream."""
    match stream:
        case io.TextIOWrapper():
            stream.reconfigure(encoding="utf-8", newline="\n")
        case _:
            pass
    return stream
