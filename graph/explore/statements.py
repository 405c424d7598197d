"""The statements of a Go declaration, as a tree of lines: which lines belong together, and which may be left out.

Found from brackets, strings and comments; the code is not parsed. Lines inside parentheses, and lines after one that
ends in an operator, belong to the statement before. A statement with blocks, such as `if … else …`, keeps the lines
that open and close them. Text that does not balance is a flat list of lines.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/|[(){}\[\]\n]', re.DOTALL
)
_CONTINUES: Final = re.compile(r"(?:[-+*/%&|^<>=!.,]|:=)\s*$")
_LABEL: Final = re.compile(r"(?:case\b.*|default\s*):(?:\s*//.*)?$")
_MAX_DEPTH: Final = 100


class Statement(NamedTuple):
    """Lines that are shown or left out together, counted from 0. `own` are those of the statement itself, among them
    those that open and close its blocks; the lines between belong to `inner`."""

    own: list[int]
    inner: list[Statement]


class _Line(NamedTuple):
    """The brackets that are open before and after a line, the fewest that are open in it, and its code."""

    before: str
    after: str
    fewest: int
    is_inside_text: bool
    code: str


def statements_of(text: str) -> list[Statement]:
    """The statements of a text, usually one: a whole declaration."""
    lines = _scanned(text)
    if any(len(line.after) > _MAX_DEPTH for line in lines) or lines[-1].after:
        return [Statement([number], []) for number in range(len(lines))]
    found: list[Statement] = []
    at = 0
    while at < len(lines):
        statement, at = _statement(lines, at)
        found.append(statement)
    return found


def _statement(lines: list[_Line], at: int) -> tuple[Statement, int]:
    """The statement that begins at a line, and the line after it."""
    found = Statement([], [])
    depth = len(lines[at].before)
    while True:
        found.own.append(at)
        line = lines[at]
        at += 1
        if at == len(lines):
            return found, at
        if len(line.after) <= depth:
            if _is_continued(line, lines[at]):
                continue
            return found, at
        if line.after[-1] == "{":
            at = _block(lines, at, len(line.after), found)
            if at == len(lines):
                return found, at


def _block(lines: list[_Line], at: int, depth: int, outer: Statement) -> int:
    """Add the statements of a block to `outer`. Returns the line that closes the block."""
    label: Statement | None = None
    while at < len(lines) and lines[at].fewest >= depth:
        is_label = bool(_LABEL.match(lines[at].code.strip()))
        statement, at = _statement(lines, at)
        if is_label:
            label = statement
            outer.inner.append(statement)
        else:
            (label or outer).inner.append(statement)
    return at


def _is_continued(line: _Line, following: _Line) -> bool:
    is_comment = not line.code.strip() and not line.is_inside_text
    return following.is_inside_text or (not is_comment and bool(_CONTINUES.search(line.code)))


def _scanned(text: str) -> list[_Line]:
    lines: list[_Line] = []
    before = stack = ""
    fewest, start, is_inside = 0, 0, False
    code: list[str] = []
    for token in _TOKEN.finditer(text):
        found = token[0]
        code.append(text[start : token.start()])
        start = token.end()
        if found == "\n":
            lines.append(_Line(before, stack, fewest, is_inside, "".join(code)))
            code.clear()
            before, fewest, is_inside = stack, len(stack), False
        elif found in "([{":
            stack += found
            code.append(found)
        elif found in ")]}":
            stack = stack[:-1]
            fewest = min(fewest, len(stack))
            code.append(found)
        else:
            if not found.startswith("/"):
                code.append('""')
            for _ in range(found.count("\n")):
                lines.append(_Line(before, stack, fewest, is_inside, "".join(code)))
                code.clear()
                before, fewest, is_inside = stack, len(stack), True
    code.append(text[start:])
    lines.append(_Line(before, stack, fewest, is_inside, "".join(code)))
    return lines
