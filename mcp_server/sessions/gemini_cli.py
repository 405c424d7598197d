"""Reads Gemini CLI's transcripts, `~/.gemini/tmp/PROJECT/chats/session-*`: JSON lines, before 2026 one document.

In the lines, a message that has the id of an earlier one replaces it, and `$set` replaces properties of the session.
When a chat is resumed or compressed, `$set` has its messages again, with other times; none is forgotten here. The
directory of the project is in `.project_root` beside the chats; before, the name of its directory was a hash of it.
Chats of subagents do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from golore.graph.safety.regular_file import read_regular
from golore.mcp_server.sessions.user_message import (
    AgentTurn,
    Session,
    TranscriptContent,
    UserMessage,
    blocks,
    entries,
    mapping,
    parsed,
    text_of,
    without_tagged_text,
)

_MAX_PATH: Final = 4_096
_EDITING_TOOLS: Final = frozenset(("replace", "write_file", "edit", "smart_edit"))


def transcripts_of(root: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Transcripts of projects at or below a root, sorted by path."""
    own = environ.get("GEMINI_CLI_HOME", "").strip()
    projects = (Path(own).expanduser() if own else home) / ".gemini" / "tmp"
    found: list[Path] = []
    for chats in projects.glob("*/chats"):
        directory = project_directory(chats, root)
        if directory == str(root) or directory.startswith(f"{root}/"):
            found += [*chats.glob("session-*.json"), *chats.glob("session-*.jsonl")]
    return sorted(found)


def project_directory(chats: Path, root: Path) -> str:
    """The directory that a project's chats are about, empty if unknown. A hash can only be compared with a root."""
    try:
        return read_regular(chats.parent / ".project_root", _MAX_PATH).decode("utf-8", "replace").strip()
    except OSError:
        return str(root) if chats.parent.name == sha256(str(root).encode()).hexdigest() else ""


def read_lines(lines: Iterable[bytes], session: str = "", cwd: str = "") -> TranscriptContent:
    """The messages of a chat in JSON lines."""
    about: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    count = unknown = 0
    for entry in entries(lines):
        count += 1
        if entry is None:
            unknown += 1
        elif (changed := mapping(entry.get("$set"))) is not None:
            about |= changed
            for message in blocks(changed.get("messages")):
                _add(messages, message)
        elif "sessionId" in entry:
            about |= entry
        elif "id" in entry:
            _add(messages, entry)
        elif "$rewindTo" not in entry:
            unknown += 1
    return _content(about, messages.values(), session, cwd, count, unknown)


def read_document(data: bytes, session: str = "", cwd: str = "") -> TranscriptContent:
    """The messages of a chat in one JSON document."""
    document = mapping(parsed(data))
    if document is None:
        return TranscriptContent((), 1, 1)
    messages = blocks(document.get("messages"))
    return _content(document, messages, session, cwd, len(messages), 0)


def _add(messages: dict[str, dict[str, Any]], message: dict[str, Any]) -> None:
    id = text_of(message, "id")
    first = messages.get(id, message)
    messages[id] = {**message, "timestamp": first.get("timestamp")}


def _content(
    about: dict[str, Any],
    messages: Iterable[dict[str, Any]],
    session: str,
    cwd: str,
    count: int,
    unknown: int,
) -> TranscriptContent:
    found: list[UserMessage] = []
    if about.get("kind", "main") == "main":
        turn = AgentTurn()
        where = Session(text_of(about, "sessionId") or session, "", cwd)
        for message in messages:
            match message.get("type"):
                case "gemini":
                    turn.say(_text(message.get("content")))
                    for call in blocks(message.get("toolCalls")):
                        _add_call(turn, call)
                    for part in blocks(message.get("content")):
                        _add_call(turn, mapping(part.get("functionCall")) or {})
                case "user":
                    if typed := without_tagged_text(_text(message.get("content"))):
                        found.append(turn.message(typed, where._replace(at=text_of(message, "timestamp"))))
                case _:
                    pass
    return TranscriptContent(tuple(found), count, unknown)


def _add_call(turn: AgentTurn, call: Mapping[str, Any]) -> None:
    turn.use(call.get("args"), is_edit=text_of(call, "name") in _EDITING_TOOLS)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text_of(part, "text") for part in blocks(content))))
