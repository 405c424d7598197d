"""Edits the text of a TOML file that somebody else wrote: adds a table `[PARENT.NAME]`, and removes it.

Comments stay, also those in and below the table. The result is read again: if anything but the entry differs from
before, the edit is refused with `TomlEditError`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

import tomlkit
from golore.graph.errors import GoloreError
from golore.mcp_server.install.json_edits import Json
from tomlkit.exceptions import TOMLKitError

_COMMENT: Final = re.compile(r"""^[^#"']*(?:(?:"(?:[^"\\]|\\.)*"|'[^']*')[^#"']*)*(#.*)$""")
"""A line with a comment after values and strings."""


class TomlEditError(GoloreError):
    """The text is not TOML, or has no place for the entry."""


def get(text: str, parent: str, name: str) -> Json:
    """The value of an entry; None if there is none."""
    table = _loads(text).get(parent)
    return cast("dict[str, Json]", table).get(name) if isinstance(table, dict) else None


def insert(text: str, parent: str, name: str, value: Json) -> str:
    wanted = _loads(text)
    table = wanted.setdefault(parent, {})
    if not isinstance(table, dict):
        raise TomlEditError(f"golore's entry needs a table at {parent}. Correct the file and try again.")
    cast("dict[str, Any]", table)[name] = value
    return _first_equal(wanted, parent, name, [lambda: _inserted(text, parent, name, value)])


def remove(text: str, parent: str, name: str) -> str:
    wanted = _loads(text)
    value = wanted[parent].pop(name)
    less = {key: one for key, one in wanted.items() if key != parent or one}
    # A line that looks like the header may be in a string: then the result does not have the wanted values.
    starts = _headers(text, parent, name)
    edits: list[Callable[[], str]] = [partial(_without_table, text, parent, name, value, start) for start in starts]
    edits.append(partial(_deleted, text, parent, name))
    try:
        return _first_equal(wanted, parent, name, edits)
    except TomlEditError:
        return _first_equal(less, parent, name, edits)


def _first_equal(wanted: dict[str, Any], parent: str, name: str, edits: list[Callable[[], str]]) -> str:
    for edit in edits:
        with suppress(TOMLKitError, ValueError, KeyError, TypeError):
            text = edit()
            if tomllib.loads(text) == wanted:
                return text
    raise TomlEditError(f"The entry {parent}.{name} cannot be edited without changing others. Edit it by hand.")


def _inserted(text: str, parent: str, name: str, value: Json) -> str:
    document: Any = tomlkit.parse(text)
    table = document.get(parent)
    if table is None:
        table = tomlkit.table(is_super_table=True)
        document[parent] = table
    table[name] = value
    return tomlkit.dumps(document)


def _deleted(text: str, parent: str, name: str) -> str:
    document: Any = tomlkit.parse(text)
    del document[parent][name]
    if not document[parent]:
        del document[parent]
    return tomlkit.dumps(document)


def _headers(text: str, parent: str, name: str) -> list[int]:
    """The lines that may be the header of the table."""
    header = rf"""[ \t]*\[[ \t]*["']?{re.escape(parent)}["']?[ \t]*\.[ \t]*["']?{re.escape(name)}["']?[ \t]*\].*"""
    return [n for n, line in enumerate(text.splitlines()) if re.fullmatch(header, line)]


def _without_table(text: str, parent: str, name: str, value: Mapping[str, Json], start: int) -> str:
    """The text without the lines of the table's header and of its keys, each of which must be on one line."""
    keys = "|".join(re.escape(key) for key in value)
    lines = text.splitlines(keepends=True)
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    ours = [n for n in range(start, end) if n == start or re.match(rf"""[ \t]*["']?(?:{keys})["']?[ \t]*=""", lines[n])]
    kept = [*lines[:start], *_kept(lines, start, end, ours), *lines[end:]]
    # The blank line before the table came with it, if adding the table to the rest gives it again.
    if start and not lines[start - 1].strip():
        closer = "".join([*kept[: start - 1], *kept[start:]])
        if _inserted(closer, parent, name, dict(value)) == text:
            return closer
    return "".join(kept)


def _kept(lines: list[str], start: int, end: int, ours: list[int]) -> Iterator[str]:
    for n in range(start, end):
        if n not in ours:
            yield lines[n]
        elif match := _COMMENT.match(lines[n].rstrip("\r\n")):
            yield f"{match[1]}\n"


def _loads(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlEditError(f"It is not valid TOML: {error}. Correct the file and try again.") from error
