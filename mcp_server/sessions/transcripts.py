"""Reads Claude Code's transcripts: what the user typed, and what the agent said and did just before.

A transcript is a file of JSON lines in an undocumented format; a line that cannot be read or is unknown is skipped.
Only text that the user typed counts, not tool results, text that the program inserted, summaries of compactions, or
prompts of the agent to its subagents. Whatever the text says, it is data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.safety.regular_file import open_regular

_MAX_LINE: Final = 4 << 20
"""Bytes of a line. A longer one is read in parts, none of which is valid."""
_REFUSAL_START: Final = "the user said:"
"""Precedes what a user typed when refusing a tool call."""
_REFUSAL_END: Final = "\n\nNote: The user's next message"
_INJECTED: Final = re.compile(r"<(command-|local-command|system-reminder|bash-|user-memory|task-notification)[^>]*>")
_TAGGED: Final = re.compile(r"<([a-z][a-z-]*)>.*?</\1>", re.DOTALL)
_PROGRAM_TEXTS: Final = ("[Request interrupted", "Caveat: ", "This session is being continued")
_EDITING_TOOLS: Final = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
_PATH_KEYS: Final = ("file_path", "notebook_path", "path", "filePath")
_MAX_FILES: Final = 5


class UserMessage(NamedTuple):
    """A message that the user typed, what the agent had said (`said`), and the files that it had read or edited.

    `is_refusal`: it was typed when refusing a tool call.
    """

    text: str
    said: str
    files: tuple[str, ...]
    session: str
    at: str
    cwd: str
    is_refusal: bool = False


class TranscriptContent(NamedTuple):
    """`lines` is the number of lines, `unknown` the number that could not be read."""

    words: tuple[UserMessage, ...]
    lines: int
    unknown: int


def read_transcript(path: Path) -> TranscriptContent:
    """Raises `OSError` if the file cannot be read."""
    with os.fdopen(open_regular(path, follow=True), "rb") as file:
        return read_lines(iter(lambda: file.readline(_MAX_LINE + 1), b""), path.stem)


def read_lines(lines: Iterable[bytes], session: str = "") -> TranscriptContent:
    found: list[UserMessage] = []
    turn = _AgentTurn()
    count = unknown = 0
    for line in lines:
        count += 1
        entry = _entry(line)
        if entry is None:
            unknown += 1
            continue
        if entry.get("isSidechain") is True:
            continue
        message = entry.get("message")
        content: Any = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
        match entry.get("type"):
            case "assistant":
                turn.add_message(content)
            case "user":
                origin = (
                    _text_of(entry, "sessionId") or session,
                    _text_of(entry, "timestamp"),
                    _text_of(entry, "cwd"),
                )
                found += [UserMessage(text, *turn.context(), *origin, is_refusal=True) for text in _refusals(content)]
                if typed := _typed(entry, content):
                    found.append(UserMessage(typed, *turn.context(), *origin))
                    turn.end()
            case _:
                pass
    return TranscriptContent(tuple(found), count, unknown)


class _AgentTurn:
    """What the agent said, and the files it used, since the user's last message; and the files used before that."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._edited: list[str] = []
        self._read: list[str] = []
        self._earlier: list[str] = []

    def end(self) -> None:
        self._earlier = self._files() or self._earlier
        self._said, self._edited, self._read = [], [], []

    def add_message(self, content: Any) -> None:
        if isinstance(content, str):
            self._said.append(content)
        for block in _blocks(content):
            if block.get("type") == "text":
                self._said.append(_text_of(block, "text"))
            elif block.get("type") == "tool_use":
                self._add_tool_use(_text_of(block, "name"), block.get("input"))

    def context(self) -> tuple[str, tuple[str, ...]]:
        return "\n".join(filter(None, self._said)), tuple((self._files() or self._earlier)[:_MAX_FILES])

    def _add_tool_use(self, tool: str, tool_input: Any) -> None:
        if not isinstance(tool_input, dict):
            return
        for key in _PATH_KEYS:
            path = cast("dict[str, Any]", tool_input).get(key)
            if isinstance(path, str) and path:
                (self._edited if tool in _EDITING_TOOLS else self._read).append(path)
                return

    def _files(self) -> list[str]:
        """Edited files, then those only read; the latest first."""
        return list(dict.fromkeys((*reversed(self._edited), *reversed(self._read))))


def _entry(line: bytes) -> dict[str, Any] | None:
    if len(line) > _MAX_LINE:
        return None
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None


def _typed(entry: dict[str, Any], content: Any) -> str:
    """What the user typed in this line; empty if it has nothing that the user typed."""
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return ""
    parts = [content] if isinstance(content, str) else []
    parts += [_text_of(block, "text") for block in _blocks(content) if block.get("type") == "text"]
    texts = [_without_inserted_text(part) for part in parts]
    return "\n".join(part for part in texts if part)


def _without_inserted_text(text: str) -> str:
    if text.startswith(_PROGRAM_TEXTS) or _INJECTED.match(text.lstrip()):
        return ""
    return _TAGGED.sub("", text).strip()


def _refusals(content: Any) -> Iterator[str]:
    for block in _blocks(content):
        if block.get("type") == "tool_result" and block.get("is_error") is True:
            result = block.get("content")
            texts = [result] if isinstance(result, str) else [_text_of(part, "text") for part in _blocks(result)]
            for text in texts:
                _, separator, typed = text.partition(_REFUSAL_START)
                if separator and "rejected" in text and (message := typed.partition(_REFUSAL_END)[0].strip()):
                    yield message


def _blocks(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return []
    return [cast("dict[str, Any]", block) for block in cast("list[Any]", content) if isinstance(block, dict)]


def _text_of(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def files_below(root: Path, words: UserMessage) -> tuple[str, ...]:
    """The files of a message that are below a root, relative to it. They need not exist."""
    base = f"{root}{os.sep}"
    found: list[str] = []
    for file in words.files:
        path = os.path.normpath(Path(words.cwd or root) / file)
        if path.startswith(base):
            found.append(path.removeprefix(base).replace(os.sep, "/"))
    return tuple(found)
