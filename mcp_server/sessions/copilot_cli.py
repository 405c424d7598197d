"""Reads Copilot CLI's transcripts, `~/.copilot/session-state/SESSION/events.jsonl`, as written by its version 1.0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from golore.mcp_server.sessions.user_message import (
    AgentTurn,
    Session,
    TranscriptContent,
    UserMessage,
    blocks,
    entries,
    first_entry,
    mapping,
    text_of,
    without_tagged_text,
)

_EDITING_TOOLS: Final = frozenset(("edit", "create", "str_replace", "insert", "str_replace_editor", "apply_patch"))


def transcripts_of(root: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Transcripts of sessions that were started at or below a root, sorted by path."""
    own = environ.get("COPILOT_HOME", "").strip()
    directory = (Path(own).expanduser() if own else home / ".copilot") / "session-state"
    return sorted(path for path in directory.glob("*/events.jsonl") if _is_at(root, path))


def _is_at(root: Path, path: Path) -> bool:
    first = first_entry(path)
    data = mapping(first.get("data")) if first else None
    cwd = text_of(mapping(data.get("context")), "cwd") if data else ""
    return cwd == str(root) or cwd.startswith(f"{root}/")


def read_lines(lines: Iterable[bytes], session: str = "") -> TranscriptContent:
    found: list[UserMessage] = []
    turn = AgentTurn()
    where = Session(session)
    count = unknown = 0
    for entry in entries(lines):
        count += 1
        data = mapping(entry.get("data")) if entry else None
        if entry is None or data is None:
            unknown += 1
            continue
        if text_of(data, "parentToolCallId"):
            continue  # of a subagent
        where = where._replace(at=text_of(entry, "timestamp"))
        match entry.get("type"):
            case "session.start" | "session.resume":
                cwd = text_of(mapping(data.get("context")), "cwd")
                where = where._replace(id=text_of(data, "sessionId") or where.id, cwd=cwd or where.cwd)
            case "assistant.message":
                turn.say(text_of(data, "content"))
                for call in blocks(data.get("toolRequests")):
                    turn.use(call.get("arguments"), is_edit=text_of(call, "name") in _EDITING_TOOLS)
            case "user.message":
                # The program's own messages have a source.
                typed = without_tagged_text(text_of(data, "content"))
                if typed and text_of(data, "source") in ("", "user"):
                    found.append(turn.message(typed, where))
            case _:
                pass
    return TranscriptContent(tuple(found), count, unknown)
