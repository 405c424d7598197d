"""Prints answers: aligned text for people, coloured only on a terminal, and JSON for programs.

Everything that a command prints goes through this module, except exports: it escapes characters that would control the
terminal (see `visible_text`). The linter refuses `print` elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Self, TextIO, cast

from golore.graph.errors import UsageError
from golore.graph.safety.visible_text import visible_block, visible_json, visible_line
from golore.mcp_server.text.pager import is_terminal, show_in_pager

_WIDTH = 100
_MIN_WIDTH = 60
_LONGEST_TITLE = 40
"""The engine calls the column of `label(e)` by the whole expression that it computes, of 300 characters."""
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def to_json_value(value: object) -> Any:
    """Convert a value for JSON: records become objects, tuples and sets become lists, other types become strings."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
    if names := getattr(value, "_fields", None) or getattr(value, "__struct_fields__", None):
        return {name: to_json_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_value(item) for item in cast("Iterable[object]", value)]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def require_one_form(*, as_json: bool, diagram: str | None, markdown: bool = False) -> None:
    """Raise `UsageError` if an answer should be printed in two forms at once."""
    if as_json and diagram:
        raise UsageError("Give --json or --format, not both.")
    if markdown and diagram:
        raise UsageError("Give --markdown or --format, not both.")


def print_json(value: object) -> None:
    print(visible_json(json.dumps(to_json_value(value), indent=2, ensure_ascii=False)))


def print_json_line(value: object) -> None:
    """Print a value as one line of JSON, at once."""
    print(visible_json(json.dumps(to_json_value(value))), flush=True)


def has_colours(stream: TextIO) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def line_width() -> int:
    """The width of the terminal; without one, that of the longest line which is easy to read."""
    return max(_MIN_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)


def shortened(line: str, width: int) -> str:
    """The line, cut to a width."""
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


class StyledLine(str):
    """A line that is printed as it is: a styled text, and texts added to it, which are escaped."""

    __slots__ = ()

    def __add__(self, text: str) -> Self:
        return type(self)(f"{self}{_as_line(text)}")

    def __radd__(self, text: str) -> Self:
        return type(self)(f"{_as_line(text)}{self}")


def styled(text: str, style: str) -> str:
    """The text in a style, or unchanged if standard output has no colours. Append to it with `+`: in an f-string, the
    style would be escaped as any other control character is."""
    return StyledLine(f"\x1b[{_STYLES[style]}m{_as_line(text)}\x1b[0m") if has_colours(sys.stdout) else text


def columns(rows: Sequence[Sequence[str]], indent: int = 2) -> list[str]:
    """Lines with each column as wide as its widest cell; the last column is not padded."""
    if not rows:
        return []
    rows = [[cell_text(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append((" " * indent + "  ".join([*cells, row[-1]])).rstrip())
    return lines


def fitted_columns(rows: Sequence[Sequence[str]], width: int, indent: int = 2) -> list[str]:
    """Like `columns`, but the last cell of a row that does not fit into the width is put on a line of its own."""
    lines: list[str] = []
    for row, line in zip(rows, columns(rows, indent), strict=True):
        if len(line) <= width or len(row) < 2 or not row[-1]:
            lines.append(line)
        else:
            short = [*columns([row[:-1]], indent), f"{' ' * (indent + 4)}{cell_text(row[-1])}"]
            lines += short
    return lines


def wrapped(line: str, width: int) -> list[str]:
    """The line, broken between words where it is wider than a terminal, with the rest indented."""
    if len(line) <= width:
        return [line]
    import textwrap

    spaces = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.lstrip(), width, initial_indent=spaces, subsequent_indent=f"{spaces}  ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows as a table whose first line has the names of the columns."""
    if not rows:
        return ["No rows."]
    names = list(rows[0])
    titles = [shortened(name, _LONGEST_TITLE) for name in names]
    return columns([titles, *([" ".join(str(row[name]).split()) for name in names] for row in rows)], indent=0)


def cell_text(text: str) -> str:
    """The text as a cell of a row."""
    return visible_line(text.replace("\t", " "))


def print_lines(lines: Iterable[str]) -> None:
    """Print each text on one line: a line break in it is escaped, because names may contain one."""
    print("\n".join(map(_as_line, lines)))


def print_answer(lines: Iterable[str]) -> None:
    """Print each text on one line, as `print_lines` does; in a pager if the answer is longer than the terminal."""
    shown = list(map(_as_line, lines))
    if not show_in_pager(shown):
        print("\n".join(shown))


def print_block(text: str) -> None:
    """Print a text that may have several lines."""
    print(visible_block(text))


def print_message(text: str, end: str = "\n") -> None:
    """Print a text to standard error."""
    print(visible_block(text), end=end, file=sys.stderr, flush=True)


def print_question(text: str) -> None:
    """Print a question that is answered on the same line."""
    print(_as_line(text), end="", flush=True)


def _as_line(text: str) -> str:
    return text if isinstance(text, StyledLine) else visible_line(text, kept="\t")


def as_utf8(stream: TextIO) -> TextIO:
    """Make a stream write UTF-8 and Unix line ends on every machine. Returns the stream."""
    match stream:
        case io.TextIOWrapper():
            stream.reconfigure(encoding="utf-8", newline="\n")
        case _:
            pass
    return stream
