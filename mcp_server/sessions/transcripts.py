"""Reads Claude Code's transcripts: what the user typed, what the agent had said and done just before.

A transcript is a file of JSON lines whose format nobody promises: a line that cannot be read or is not known is passed
over. Only what the user typed himself counts as his words: not tool results, text that the program put in, summaries of
compactions, or what an agent told its subagents. Whatever the text says, it is data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

_LARGEST_LINE: Final = 4 << 20
_REFUSED: Final = "the user said:"
"""How the words begin that a user gave along with the refusal of a tool call."""
_AFTER_REFUSAL: Final = "\n\nNote: The user's next message"
_INJECTED: Final = re.compile(r"<(command-|local-command|system-reminder|bash-|user-memory|task-notification)[^>]*>")
_TAGGED: Final = re.compile(r"<([a-z][a-z-]*)>.*?</\1>", re.DOTALL)
_SPOKEN_FOR: Final = ("[Request interrupted", "Caveat: ", "This session is being continued")
_EDITING: Final = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
_PATH_KEYS: Final = ("file_path", "notebook_path", "path", "filePath")
_MOST_FILES: Final = 5


class Words(NamedTuple):
    """Something that the user typed, with what the agent had said and which files it had been at. `is_refusal`: said in
    refusing a tool call."""

    text: str
    said: str
    files: tuple[str, ...]
    session: str
    at: str
    cwd: str
    is_refusal: bool = False


class TranscriptContent(NamedTuple):
    """`lines` is how many there were, `unknown` how many could not be read."""

    words: tuple[Words, ...]
    lines: int
    unknown: int


def read_transcript(path: Path) -> TranscriptContent:
    """Raises `OSError` where the file cannot be read."""
    with path.open("rb") as file:
        return read_lines(file, path.stem)


def read_lines(lines: Iterable[bytes], session: str = "") -> TranscriptContent:
    found: list[Words] = []
    scene = _Scene()
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
                scene.hear(content)
            case "user":
                repository = (
                    _text_of(entry, "sessionId") or session,
                    _text_of(entry, "timestamp"),
                    _text_of(entry, "cwd"),
                )
                found += [Words(text, *scene.before(), *repository, is_refusal=True) for text in _refusals(content)]
                if typed := _typed(entry, content):
                    found.append(Words(typed, *scene.before(), *repository))
                    scene.begin()
            case _:
                pass
    return TranscriptContent(tuple(found), count, unknown)


class _Scene:
    """What the agent has said and done since the user last spoke; of the files, those of the time before, too."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._edited: list[str] = []
        self._read: list[str] = []
        self._earlier: list[str] = []

    def begin(self) -> None:
        self._earlier = self._files() or self._earlier
        self._said, self._edited, self._read = [], [], []

    def hear(self, content: Any) -> None:
        if isinstance(content, str):
            self._said.append(content)
        for block in _blocks(content):
            if block.get("type") == "text":
                self._said.append(_text_of(block, "text"))
            elif block.get("type") == "tool_use":
                self._use(_text_of(block, "name"), block.get("input"))

    def before(self) -> tuple[str, tuple[str, ...]]:
        return "\n".join(filter(None, self._said)), tuple((self._files() or self._earlier)[:_MOST_FILES])

    def _use(self, tool: str, given: Any) -> None:
        if not isinstance(given, dict):
            return
        for key in _PATH_KEYS:
            path = cast("dict[str, Any]", given).get(key)
            if isinstance(path, str) and path:
                (self._edited if tool in _EDITING else self._read).append(path)
                return

    def _files(self) -> list[str]:
        """Edited ones first, the latest of each sort before the others."""
        return list(dict.fromkeys((*reversed(self._edited), *reversed(self._read))))


def _entry(line: bytes) -> dict[str, Any] | None:
    if len(line) > _LARGEST_LINE:
        return None
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None


def _typed(entry: dict[str, Any], content: Any) -> str:
    """What the user typed in this line, nothing if it is not his."""
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return ""
    parts = [content] if isinstance(content, str) else []
    parts += [_text_of(block, "text") for block in _blocks(content) if block.get("type") == "text"]
    kept = [_own(part) for part in parts]
    return "\n".join(part for part in kept if part)


def _own(text: str) -> str:
    if text.startswith(_SPOKEN_FOR) or _INJECTED.match(text.lstrip()):
        return ""
    return _TAGGED.sub("", text).strip()


def _refusals(content: Any) -> Iterator[str]:
    for block in _blocks(content):
        if block.get("type") == "tool_result" and block.get("is_error") is True:
            inside = block.get("content")
            texts = [inside] if isinstance(inside, str) else [_text_of(part, "text") for part in _blocks(inside)]
            for text in texts:
                _, mark, words = text.partition(_REFUSED)
                if mark and "rejected" in text and (said := words.partition(_AFTER_REFUSAL)[0].strip()):
                    yield said


def _blocks(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return []
    return [cast("dict[str, Any]", block) for block in cast("list[Any]", content) if isinstance(block, dict)]


def _text_of(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def inside(root: Path, words: Words) -> tuple[str, ...]:
    """The files in play that lie below a root, relative to it; those that are gone, too."""
    base = f"{root}/"
    found: list[str] = []
    for file in words.files:
        path = os.path.normpath(file if file.startswith("/") else f"{words.cwd or root}/{file}")
        if path.startswith(base):
            found.append(path.removeprefix(base))
    return tuple(found)
