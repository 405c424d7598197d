"""Edits the text of a JSON file that somebody else wrote, and keeps its comments, order and layout.

Reads JSON with comments and trailing commas. An edit inserts, replaces or removes one member or item and does not
touch the rest of the text. It does not reformat, and raises `JsonEditError` for text that it cannot parse.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from golore.graph.errors import GoloreError

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
Path = tuple[str | int, ...]

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*|/\*.*?\*/)+)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<scalar>true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"""
    r"""|(?P<mark>[{}\[\],:])""",
    re.DOTALL,
)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class JsonEditError(GoloreError):
    """The text is not JSON with comments, or does not have the structure that an edit needs."""


@dataclass(frozen=True, slots=True)
class _Node:
    start: int
    end: int
    value: Json
    members: tuple[tuple[str, int, _Node], ...] = ()
    """Of an object: key, offset of the key, value."""
    items: tuple[_Node, ...] = ()


def loads(text: str) -> Json:
    return _parse(text).value


def get(value: Json, path: Path) -> Json:
    """The value at a path; None if there is none."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def insert(text: str, path: Path, value: Json) -> str:
    """Add a member at a path of keys. Missing objects on the path are created."""
    node, rest = _deepest(_parse(text), path)
    if not rest:
        raise JsonEditError(f"{_path_text(path)} exists already.")
    if not isinstance(node.value, dict) or not isinstance(rest[0], str):
        raise JsonEditError(
            f"golore's entry needs an object at {_path_text(path[: len(path) - len(rest)])}. "
            "Correct the file and try again."
        )
    for step in reversed(rest[1:]):
        value = {str(step): value}
    return _with_added(text, node, f"{json.dumps(rest[0])}: ", value)


def append(text: str, path: Path, value: Json) -> str:
    """Add an item to the array at a path, which is created if it is missing."""
    node, rest = _deepest(_parse(text), path)
    if rest:
        return insert(text, path, [value])
    if not isinstance(node.value, list):
        raise JsonEditError(f"golore's entry needs an array at {_path_text(path)}. Correct the file and try again.")
    return _with_added(text, node, "", value)


def replace(text: str, path: Path, value: Json) -> str:
    """Replace the value at a path."""
    node, rest = _deepest(_parse(text), path)
    if rest:
        raise JsonEditError(f"There is nothing at {_path_text(path)}.")
    return text[: node.start] + _rendered(text, value, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """Remove a member or an item, with its comma, and its line if nothing else is on it. Comments in it stay."""
    node, rest = _deepest(_parse(text), path[:-1])
    spans = (
        [(key, at, member.end) for key, at, member in node.members]
        if isinstance(node.value, dict)
        else [(n, item.start, item.end) for n, item in enumerate(node.items)]
    )
    positions = [n for n, span in enumerate(spans) if span[0] == path[-1]]
    if rest or not positions:
        raise JsonEditError(f"There is nothing at {_path_text(path)}.")
    position = positions[-1]
    _, start, end = spans[position]
    comma = _comma_after(text, end)
    stop = comma + 1 if comma >= 0 else end
    if comments := _comments(text[start:stop]):
        # Each comment gets a line of its own, because a comment with // ends with its line.
        indent = _indent_at(text, start)
        lines = "".join(f"{comment}\n{indent}" for comment in comments)
        return remove(f"{text[:start]}{lines}{_without_comments(text[start:stop])}{text[stop:]}", path)
    if comma >= 0:
        return _without(text, start, comma + 1)
    if position > 0:
        # The last one: remove the comma before it, and keep what is between the two.
        before = _comma_after(text, spans[position - 1][2])
        return text[:before] + _without(text, start, end)[before + 1 :]
    return _without(text, start, end)


def has_comments(text: str) -> bool:
    return bool(_comments(text))


def dumps(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _comments(text: str) -> list[str]:
    """The comments in a part of a JSON text, which begins and ends between tokens."""
    return [
        comment.rstrip()
        for token in _TOKEN.finditer(text)
        if token.lastgroup == "space"
        for comment in _COMMENT.findall(token.group())
    ]


def _without_comments(text: str) -> str:
    return "".join(
        _COMMENT.sub("", token.group()) if token.lastgroup == "space" else token.group()
        for token in _TOKEN.finditer(text)
    )


def _without(text: str, start: int, end: int) -> str:
    """The text without a span, and without the line if nothing else is on it."""
    line = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", end)
    is_first = not text[line:start].strip()
    if is_first and newline >= 0 and not text[end:newline].strip():
        return text[:line] + text[newline + 1 :]
    return text[:start].rstrip(" \t") + text[end:] if is_first else text[:start] + text[end:].lstrip(" ")


def _with_added(text: str, node: _Node, head: str, value: Json) -> str:
    """The text with a value added at the end of an object or array. `head` is the key of a member."""
    last = node.members[-1][2] if node.members else node.items[-1] if node.items else None
    close = node.end - 1
    outer = _indent_at(text, node.start)
    if last is None:
        inner = outer + _unit(text)
        body = f"\n{inner}{head}{_rendered(text, value, inner)}"
        comments = text[node.start + 1 : close].rstrip()  # an empty object may contain a comment
        return f"{text[: node.start + 1]}{comments}{body}\n{outer}{text[close:]}"
    comma = _comma_after(text, last.end)
    end = comma + 1 if comma >= 0 else last.end
    tail = _end_of_comment(text, end, close)
    first = node.members[0][1] if node.members else node.items[0].start
    if "\n" not in text[node.start : first]:
        # All on one line: keep it on one line.
        return f"{text[: last.end]}, {head}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    inner = _indent_at(text, first)
    comma_text = "," if comma < 0 else ""
    closing = "," if comma >= 0 else ""
    body = f"\n{inner}{head}{_rendered(text, value, inner)}{closing}"
    return f"{text[: last.end]}{comma_text}{text[last.end : tail]}{body}{text[tail:]}"


def _end_of_comment(text: str, start: int, stop: int) -> int:
    """The end of a comment that is the rest of the line; `start` if the rest is something else."""
    match = re.compile(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/[ \t]*(?=\n))").match(text, start, stop)
    return match.end() if match else start


def _comma_after(text: str, at: int) -> int:
    """Offset of the comma after a value, with comments in between; -1 if there is none."""
    match = _TOKEN.match(text, at)
    if match and match.lastgroup == "space":
        match = _TOKEN.match(text, match.end())
    return match.start() if match and match.group() == "," else -1


def _rendered(text: str, value: Json, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """The indentation of the first indented line, two spaces if there is none."""
    match = re.search(r"\n([ \t]+)[\"{\[]", text)
    return match.group(1) if match else "  "


def _deepest(node: _Node, path: Path) -> tuple[_Node, Path]:
    """The last node on a path that exists, and the rest of the path."""
    for n, step in enumerate(path):
        if isinstance(step, str):
            found = next((value for key, _, value in reversed(node.members) if key == step), None)
        else:
            found = node.items[step] if step < len(node.items) else None
        if found is None:
            return node, path[n:]
        node = found
    return node, ()


def _path_text(path: Path) -> str:
    return ".".join(map(str, path)) or "the top level"


def _parse(text: str) -> _Node:
    parser = _Parser(text)
    parser.skip()
    try:
        node = parser.node()
    except RecursionError:
        raise parser.error("it is nested too deeply") from None
    parser.skip()
    if parser.at != len(text):
        raise parser.error("there is text after the value")
    return node


class _Parser:
    """A parser that keeps the offsets of all nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def error(self, reason: str) -> JsonEditError:
        line = self.text.count("\n", 0, self.at) + 1
        return JsonEditError(f"Line {line} is not JSON: {reason}. Correct the file and try again.")

    def skip(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match and match.lastgroup == "space":
            self.at = match.end()

    def take(self, character: str) -> bool:
        self.skip()
        if self.text[self.at : self.at + 1] != character:
            return False
        self.at += 1
        return True

    def node(self) -> _Node:
        self.skip()
        start = self.at
        match = _TOKEN.match(self.text, start)
        if not match:
            raise self.error("a value is missing" if start >= len(self.text) else "a value cannot begin like this")
        if match.lastgroup in ("string", "scalar"):
            self.at = match.end()
            return _Node(start, self.at, self._scalar(match.group()))
        if self.take("{"):
            return self._object(start)
        if self.take("["):
            return self._array(start)
        raise self.error("a value is missing")

    def _scalar(self, token: str) -> Json:
        try:
            return json.loads(token, strict=False)
        except ValueError:
            raise self.error("a string is not valid") from None

    def _object(self, start: int) -> _Node:
        members: list[tuple[str, int, _Node]] = []
        while not self.take("}"):
            self.skip()
            at = self.at
            key = self.node().value
            if not isinstance(key, str) or not self.take(":"):
                raise self.error("a key and a colon are missing")
            members.append((key, at, self.node()))
            if not self.take(",") and self.text[self.at : self.at + 1] != "}":
                raise self.error("a comma or } is missing")
        return _Node(start, self.at, {key: value.value for key, _, value in members}, members=tuple(members))

    def _array(self, start: int) -> _Node:
        items: list[_Node] = []
        while not self.take("]"):
            items.append(self.node())
            if not self.take(",") and self.text[self.at : self.at + 1] != "]":
                raise self.error("a comma or ] is missing")
        return _Node(start, self.at, [item.value for item in items], items=tuple(items))
