"""Finds files by the end of their path, and the declarations at lines of a file."""

from __future__ import annotations

from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, symbol_columns, symbol_from
from golore.graph.queries.names.written_names import FileLines

_ENOUGH_PARTS: Final = 2
"""Parts that the path of a file on another machine must have in common with a file here, such as `lease/lessor.go`."""


def files_ending(store: Store, path: str, *, partly: bool) -> list[str]:
    """The files whose path ends in `path`. If there are none and `partly`, those with the longest common end."""
    base = path.rpartition("/")[2]
    statement = "MATCH (f:File) WHERE f.path ENDS WITH $base RETURN f.path ORDER BY f.path"
    parts = path.strip("/").split("/")
    common = {found: _common_end(found.split("/"), parts) for (found,) in store.rows(statement, {"base": base})}
    whole = [found for found, number in common.items() if number == len(parts)]
    if whole or not partly:
        return whole
    most = max(common.values(), default=0)
    return [found for found, number in common.items() if number == most >= _ENOUGH_PARTS]


def declarations_at(store: Store, lines: FileLines) -> tuple[Ref, ...]:
    """The declarations of a file; with lines, those that have some of them. A field or method of a type counts instead
    of the type, unless the first line of the type is among them. A line of a doc comment counts for its declaration."""
    statement = (
        "MATCH (s:Symbol) WHERE s.file = $file "
        f"RETURN {symbol_columns('s')}, s.end_line, size(string_split(s.doc, '\\n')), s.doc <> ''"
    )
    rows = sorted(store.rows(statement, {"file": lines.path}), key=lambda row: by_location(symbol_from(row)))
    if not lines.first:
        return tuple(map(symbol_from, rows))
    found: list[Ref] = []
    commented: list[Ref] = []
    for row in rows:
        symbol = symbol_from(row)
        *_, end_line, doc_lines, has_doc = row
        if symbol.line <= lines.last and end_line >= lines.first:
            found.append(symbol)
        elif has_doc and symbol.line - doc_lines <= lines.last < symbol.line:
            commented.append(symbol)
    owners = {symbol.owner for symbol in found}
    inner = [one for one in found if one.id not in owners or lines.first <= one.line <= lines.last]
    if lines.first == lines.last:  # a type and its members on one line
        inner = [one for one in inner if one.owner not in {outer.id for outer in inner}]
    return tuple(inner) or tuple(commented[:1])


def _common_end(a: list[str], b: list[str]) -> int:
    number = 0
    while number < min(len(a), len(b)) and a[-1 - number] == b[-1 - number]:
        number += 1
    return number
