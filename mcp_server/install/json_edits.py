"""Small changes to the text of a JSON file that somebody else wrote: comments, order and layout stay as they are.

Reads JSON with comments and trailing commas. A change inserts or removes one member or item; the rest of the text is
never written anew. It does not reformat, and refuses what it cannot read.
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


class NotJson(GoloreError):
    """The text is not JSON, not even with comments."""


@dataclass(frozen=True, slots=True)
class _Node:
    start: int
    end: int
    value: Json
    members: tuple[tuple[str, int, _Node], ...] = ()
    """Of an object: key, where the key begins, value."""
    items: tuple[_Node, ...] = ()


def loads(text: str) -> Json:
    return _parsed(text).value


def get(value: Json, path: Path) -> Json:
    """What stands at a path; None where there is nothing."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def insert(text: str, path: Path, value: Json) -> str:
    """Add a member at a path of keys; objects on the way that are missing are made."""
    node, rest = _deepest(_parsed(text), path)
    if not rest:
        raise NotJson(f"There is already something at {_shown(path)}.")
    if not isinstance(node.value, dict) or not isinstance(rest[0], str):
        raise NotJson(f"There is no object at {_shown(path[: len(path) - len(rest)])}, as golore's entry would need.")
    for step in reversed(rest[1:]):
        value = {str(step): value}
    return _added(text, node, f"{json.dumps(rest[0])}: ", value)


def append(text: str, path: Path, value: Json) -> str:
    """Add an item to the array at a path, which is made where it is missing."""
    node, rest = _deepest(_parsed(text), path)
    if rest:
        return insert(text, path, [value])
    if not isinstance(node.value, list):
        raise NotJson(f"There is no array at {_shown(path)}, as golore's entry would need.")
    return _added(text, node, "", value)


def replace(text: str, path: Path, value: Json) -> str:
    """Put a value in the place of another."""
    node, rest = _deepest(_parsed(text), path)
    if rest:
        raise NotJson(f"There is nothing at {_shown(path)}.")
    return text[: node.start] + _rendered(text, value, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """Take a member or an item away, with its comma and the line that it leaves empty."""
    node, rest = _deepest(_parsed(text), path[:-1])
    spans = (
        [(key, at, member.end) for key, at, member in node.members]
        if isinstance(node.value, dict)
        else [(n, item.start, item.end) for n, item in enumerate(node.items)]
    )
    places = [n for n, span in enumerate(spans) if span[0] == path[-1]]
    if rest or not places:
        raise NotJson(f"There is nothing at {_shown(path)}.")
    here = places[-1]
    _, start, end = spans[here]
    comma = _comma_after(text, end)
    if comma >= 0:
        return _without(text, start, comma + 1)
    if here > 0:
        # The last one: the comma before it goes, and what was said between the two stays.
        before = _comma_after(text, spans[here - 1][2])
        return text[:before] + _without(text, start, end)[before + 1 :]
    return _without(text, start, end)


def dumps(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _without(text: str, start: int, end: int) -> str:
    """The text without a span, and without the line if the span was all of it."""
    line = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", end)
    is_first = not text[line:start].strip()
    if is_first and newline >= 0 and not text[end:newline].strip():
        return text[:line] + text[newline + 1 :]
    return text[:start].rstrip(" \t") + text[end:] if is_first else text[:start] + text[end:].lstrip(" ")


def _added(text: str, node: _Node, head: str, value: Json) -> str:
    """The text with something more at the end of an object or array."""
    last = node.members[-1][2] if node.members else node.items[-1] if node.items else None
    close = node.end - 1
    outer = _indent_at(text, node.start)
    if last is None:
        inner = outer + _unit(text)
        body = f"\n{inner}{head}{_rendered(text, value, inner)}"
        kept = text[node.start + 1 : close].rstrip()  # an empty one may hold a comment
        return f"{text[: node.start + 1]}{kept}{body}\n{outer}{text[close:]}"
    comma = _comma_after(text, last.end)
    end = comma + 1 if comma >= 0 else last.end
    tail = _end_of_comment(text, end, close)
    first = node.members[0][1] if node.members else node.items[0].start
    if "\n" not in text[node.start : first]:
        # All on one line: so it stays.
        return f"{text[: last.end]}, {head}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    inner = _indent_at(text, first)
    comma_text = "," if comma < 0 else ""
    closing = "," if comma >= 0 else ""
    body = f"\n{inner}{head}{_rendered(text, value, inner)}{closing}"
    return f"{text[: last.end]}{comma_text}{text[last.end : tail]}{body}{text[tail:]}"


def _end_of_comment(text: str, start: int, stop: int) -> int:
    """Where the rest of a line ends that only holds a comment; `start` itself where it holds more."""
    match = re.compile(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/[ \t]*(?=\n))").match(text, start, stop)
    return match.end() if match else start


def _comma_after(text: str, at: int) -> int:
    """The comma behind a value, -1 if there is none; comments may stand between."""
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
    """What the file indents by: that of its first indented line."""
    match = re.search(r"\n([ \t]+)[\"{\[]", text)
    return match.group(1) if match else "  "


def _deepest(node: _Node, path: Path) -> tuple[_Node, Path]:
    """The last node on a path that is there, and what is left of the path."""
    for n, step in enumerate(path):
        if isinstance(step, str):
            found = next((value for key, _, value in reversed(node.members) if key == step), None)
        else:
            found = node.items[step] if step < len(node.items) else None
        if found is None:
            return node, path[n:]
        node = found
    return node, ()


def _shown(path: Path) -> str:
    return ".".join(map(str, path)) or "the top"


def _parsed(text: str) -> _Node:
    reading = _Reading(text)
    reading.skip()
    node = reading.node()
    reading.skip()
    if reading.at != len(text):
        raise reading.refused("something follows the value")
    return node


class _Reading:
    """One pass over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def refused(self, reason: str) -> NotJson:
        line = self.text.count("\n", 0, self.at) + 1
        return NotJson(f"Line {line} is not JSON: {reason}.")

    def skip(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match and match.lastgroup == "space":
            self.at = match.end()

    def take(self, mark: str) -> bool:
        self.skip()
        if self.text[self.at : self.at + 1] != mark:
            return False
        self.at += 1
        return True

    def node(self) -> _Node:
        self.skip()
        start = self.at
        match = _TOKEN.match(self.text, start)
        if not match:
            raise self.refused("a value is missing" if start >= len(self.text) else "a value cannot begin so")
        if match.lastgroup in ("string", "scalar"):
            self.at = match.end()
            return _Node(start, self.at, self._scalar(match.group()))
        if self.take("{"):
            return self._object(start)
        if self.take("["):
            return self._array(start)
        raise self.refused("a value is missing")

    def _scalar(self, written: str) -> Json:
        try:
            return json.loads(written, strict=False)
        except ValueError:
            raise self.refused("a string is not written as JSON wants it") from None

    def _object(self, start: int) -> _Node:
        members: list[tuple[str, int, _Node]] = []
        while not self.take("}"):
            self.skip()
            at = self.at
            key = self.node().value
            if not isinstance(key, str) or not self.take(":"):
                raise self.refused("a key and a colon are missing")
            members.append((key, at, self.node()))
            if not self.take(",") and self.text[self.at : self.at + 1] != "}":
                raise self.refused("a comma or } is missing")
        return _Node(start, self.at, {key: value.value for key, _, value in members}, members=tuple(members))

    def _array(self, start: int) -> _Node:
        items: list[_Node] = []
        while not self.take("]"):
            items.append(self.node())
            if not self.take(",") and self.text[self.at : self.at + 1] != "]":
                raise self.refused("a comma or ] is missing")
        return _Node(start, self.at, [item.value for item in items], items=tuple(items))
