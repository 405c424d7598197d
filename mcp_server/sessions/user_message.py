"""What the readers of all agents' transcripts give: the messages that the user typed, each with what came before it.

Whatever the text says, it is data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.safety.regular_file import open_regular

_MAX_LINE: Final = 4 << 20
"""Bytes of a line. A longer one is read in parts, none of which is valid."""
MAX_TRANSCRIPT: Final = 256 << 20
"""Bytes of a transcript. What comes after is not read."""
_MAX_FILES: Final = 5
_PATH_KEYS: Final = ("file_path", "notebook_path", "path", "filePath", "absolute_path")
_TAGGED: Final = re.compile(r"<([a-z][a-z_-]*)(?: [^>]*)?>.*?</\1>", re.DOTALL)


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
    """`lines` is the number of lines, or of records, `unknown` the number of those that could not be read."""

    words: tuple[UserMessage, ...]
    lines: int
    unknown: int


class Session(NamedTuple):
    """Where and when something was said. A later record of a transcript may change it."""

    id: str = ""
    at: str = ""
    cwd: str = ""


class AgentTurn:
    """What the agent said, and the files it used, since the user's last message; and the files used before that."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._edited: list[str] = []
        self._read: list[str] = []
        self._earlier: list[str] = []

    def say(self, text: str) -> None:
        if text.strip():
            self._said.append(text)

    def use(self, tool_input: Any, *, is_edit: bool) -> None:
        """Add the file that a tool was called with, if there is one."""
        if isinstance(tool_input, str):
            tool_input = parsed(tool_input)
        if isinstance(tool_input, dict):
            values = cast("Mapping[str, Any]", tool_input)
            path = next((value for key in _PATH_KEYS if isinstance(value := values.get(key), str) and value), "")
            if path:
                self.use_file(path, is_edit=is_edit)

    def use_file(self, path: str, *, is_edit: bool) -> None:
        (self._edited if is_edit else self._read).append(path)

    def message(self, text: str, session: Session, *, is_refusal: bool = False) -> UserMessage:
        """A message typed at this point. Unless it is a refusal, it ends the agent's turn."""
        files = tuple((self._files() or self._earlier)[:_MAX_FILES])
        found = UserMessage(text, "\n".join(self._said), files, session.id, session.at, session.cwd, is_refusal)
        if not is_refusal:
            self._earlier = self._files() or self._earlier
            self._said, self._edited, self._read = [], [], []
        return found

    def _files(self) -> list[str]:
        """Edited files, then those only read; the latest first."""
        return list(dict.fromkeys((*reversed(self._edited), *reversed(self._read))))


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a regular file, cut off at its largest size. Raises `OSError` if it cannot be read."""
    with os.fdopen(open_regular(path, follow=False), "rb") as file:
        left = MAX_TRANSCRIPT
        while left > 0 and (line := file.readline(min(left, _MAX_LINE + 1))):
            left -= len(line)
            yield line


def entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any] | None]:
    """The JSON object in each line; None if there is none."""
    for line in lines:
        yield None if len(line) > _MAX_LINE else mapping(parsed(line))


def first_entry(path: Path) -> dict[str, Any] | None:
    """The JSON object in the first line of a file; None if there is none, or the file cannot be read."""
    try:
        return next(entries(lines_of(path)), None)
    except OSError:
        return None


def parsed(text: bytes | str) -> Any:
    """The value of a JSON text; None if it is not valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def blocks(value: Any) -> list[dict[str, Any]]:
    """The JSON objects in a list; empty for anything else."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", block) for block in cast("list[Any]", value) if isinstance(block, dict)]


def text_of(entry: Mapping[str, Any] | None, key: str) -> str:
    value = entry.get(key) if entry else None
    return value if isinstance(value, str) else ""


def without_tagged_text(text: str) -> str:
    """A message without what programs insert between tags, such as `<environment_context>…</environment_context>`."""
    return _TAGGED.sub("", text).strip()


def files_below(root: Path, words: UserMessage) -> tuple[str, ...]:
    """The files of a message that are below a root, relative to it. They need not exist."""
    base = f"{root}{os.sep}"
    found: list[str] = []
    for file in words.files:
        path = os.path.normpath(Path(words.cwd or root) / file)
        if path.startswith(base):
            found.append(path.removeprefix(base).replace(os.sep, "/"))
    return tuple(found)
