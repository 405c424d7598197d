"""Reads OpenCode's sessions from its SQLite database, `~/.local/share/opencode/opencode.db`, as version 1.18 writes it.

Older versions kept files of JSON, which newer ones move to the database. Sessions of subagents do not count.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.safety.regular_file import open_regular
from golore.mcp_server.sessions.user_message import (
    AgentTurn,
    Session,
    TranscriptContent,
    UserMessage,
    mapping,
    parsed,
    text_of,
    without_tagged_text,
)

_MAX_PART: Final = 4 << 20
"""Characters of a part of a message. A longer one is unknown."""
_MAX_PARTS: Final = 2_000_000
_EDITING_TOOLS: Final = frozenset(("edit", "write", "patch", "multiedit", "apply_patch"))
_PARTS: Final = """
SELECT session.id, session.directory, message.id, message.time_created,
       CASE WHEN length(message.data) <= :longest THEN message.data END,
       CASE WHEN length(part.data) <= :longest THEN part.data END
FROM session JOIN message ON message.session_id = session.id JOIN part ON part.message_id = message.id
WHERE session.parent_id IS NULL
  AND (:root = '' OR session.directory = :root OR substr(session.directory, 1, length(:root) + 1) = :root || '/')
ORDER BY session.time_created, session.id, message.time_created, message.id, part.id LIMIT :most
"""


class _Part(NamedTuple):
    session: str
    directory: str
    message: str
    created: Any
    about: dict[str, Any] | None
    data: dict[str, Any] | None


def databases_of(home: Path, environ: Mapping[str, str]) -> list[Path]:
    own = environ.get("XDG_DATA_HOME", "").strip()
    path = (Path(own) if own else home / ".local" / "share") / "opencode" / "opencode.db"
    return [path] if path.is_file() else []


def read_database(path: Path, root: Path | None) -> TranscriptContent:
    """The messages of all sessions, or of those at or below a root. Raises `OSError` if it cannot be read."""
    os.close(open_regular(path))  # SQLite would follow a link
    found: list[UserMessage] = []
    count = unknown = 0
    turn = AgentTurn()
    session = message = ""
    for part in _parts(path, root):
        count += 1
        if part.session != session:
            session, turn = part.session, AgentTurn()
        if part.about is None or part.data is None:
            unknown += 1
            continue
        if part.about.get("role") == "assistant":
            _add_part(turn, part.data)
        elif part.about.get("role") == "user" and (typed := _typed(part.data)):
            if part.message == message:
                found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{typed}")
            else:
                found.append(turn.message(typed, Session(session, _time(part.created), part.directory)))
            message = part.message
    return TranscriptContent(tuple(found), count, unknown)


def _parts(path: Path, root: Path | None) -> Iterator[_Part]:
    values = {"longest": _MAX_PART, "root": str(root or ""), "most": _MAX_PARTS}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)) as connection:
            for id, directory, message, created, about, data in connection.execute(_PARTS, values):
                yield _Part(str(id), str(directory), str(message), created, _json(about), _json(data))
    except sqlite3.Error as failure:
        raise OSError(f"it is not a database of OpenCode that golore can read ({failure})") from failure


def _json(text: Any) -> dict[str, Any] | None:
    return mapping(parsed(text)) if isinstance(text, str | bytes) else None


def _add_part(turn: AgentTurn, data: dict[str, Any]) -> None:
    if data.get("type") == "text":
        turn.say(text_of(data, "text"))
    elif data.get("type") == "tool":
        state = mapping(data.get("state"))
        turn.use(state.get("input") if state else None, is_edit=text_of(data, "tool") in _EDITING_TOOLS)


def _typed(data: dict[str, Any]) -> str:
    """The text that the user typed; empty for any other part. `opencode run` puts quotation marks around it."""
    if data.get("type") != "text" or data.get("synthetic") is True or data.get("ignored") is True:
        return ""
    text = text_of(data, "text").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return without_tagged_text(text)


def _time(milliseconds: Any) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
