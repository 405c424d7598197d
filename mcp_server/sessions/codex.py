"""Reads Codex's transcripts, `~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl`, tried with version 0.169.

What the user typed is in events. The messages for the model also have text that the program inserted, so they are used
only in transcripts without such events. Sessions of subagents do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

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

_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$", re.MULTILINE)
_REQUEST: Final = "## My request for Codex:"
"""Precedes what the user typed in an editor, after text about its state."""
_PROGRAM_TEXTS: Final = ("# AGENTS.md instructions", "# Context from my IDE")


class _Typed(NamedTuple):
    text: str
    session: Session
    is_event: bool


class _Said(NamedTuple):
    text: str


class _Used(NamedTuple):
    path: str
    is_edit: bool


def transcripts_of(root: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Transcripts of sessions that were started at or below a root, sorted by path."""
    own = environ.get("CODEX_HOME", "").strip()
    directory = Path(own).expanduser() if own else home / ".codex"
    paths = [*directory.glob("sessions/*/*/*/rollout-*.jsonl"), *directory.glob("archived_sessions/rollout-*.jsonl")]
    return sorted(path for path in paths if _is_at(root, path))


def _is_at(root: Path, path: Path) -> bool:
    first = first_entry(path)
    cwd = text_of(mapping(first.get("payload")), "cwd") if first else ""
    return cwd == str(root) or cwd.startswith(f"{root}/")


def read_lines(lines: Iterable[bytes], session: str = "") -> TranscriptContent:
    steps: list[_Typed | _Said | _Used] = []
    where = Session(session)
    count = unknown = 0
    is_subagent = False
    for entry in entries(lines):
        count += 1
        payload = mapping(entry.get("payload")) if entry else None
        if entry is None or payload is None:
            unknown += 1
            continue
        where = where._replace(at=text_of(entry, "timestamp"))
        match entry.get("type"):
            case "session_meta":
                is_subagent = isinstance(payload.get("source"), dict) or payload.get("thread_source") == "subagent"
                where = where._replace(id=text_of(payload, "id") or where.id, cwd=text_of(payload, "cwd"))
            case "turn_context":
                where = where._replace(cwd=text_of(payload, "cwd") or where.cwd)
            case "event_msg":
                steps += _event_steps(payload, where)
            case "response_item":
                steps += _item_steps(payload, where)
            case _:
                pass
    words = () if is_subagent else _messages(steps)
    return TranscriptContent(words, count, unknown)


def _event_steps(payload: dict[str, Any], where: Session) -> list[_Typed | _Said | _Used]:
    if payload.get("type") == "user_message":
        return [_Typed(text_of(payload, "message"), where, is_event=True)]
    if payload.get("type") == "exec_command_end":
        return _read_files(payload)
    item = mapping(payload.get("item")) if payload.get("type") == "item_completed" else None
    if item and item.get("type") == "UserMessage":
        text = "\n".join(text_of(block, "text") for block in blocks(item.get("content")))
        return [_Typed(text, where, is_event=True)]
    return _read_files(item) if item and item.get("type") == "CommandExecution" else []


def _read_files(command: dict[str, Any]) -> list[_Typed | _Said | _Used]:
    return [
        _Used(path, is_edit=False)
        for part in blocks(command.get("parsed_cmd"))
        if part.get("type") == "read" and (path := text_of(part, "path"))
    ]


def _item_steps(payload: dict[str, Any], where: Session) -> list[_Typed | _Said | _Used]:
    match payload.get("type"):
        case "message":
            text = "\n".join(text_of(block, "text") for block in blocks(payload.get("content")))
            if payload.get("role") == "assistant":
                return [_Said(text)]
            return [_Typed(text, where, is_event=False)] if payload.get("role") == "user" else []
        case "function_call" | "custom_tool_call":
            given = text_of(payload, "arguments") or text_of(payload, "input")
            return [_Used(path, is_edit=True) for path in _PATCHED.findall(given.replace("\\n", "\n"))]
        case _:
            return []


def _messages(steps: list[_Typed | _Said | _Used]) -> tuple[UserMessage, ...]:
    has_events = any(isinstance(step, _Typed) and step.is_event for step in steps)
    found: list[UserMessage] = []
    turn = AgentTurn()
    last = ""
    for step in steps:
        match step:
            case _Said(text):
                turn.say(text)
                last = ""
            case _Used(path, is_edit):
                turn.use_file(path, is_edit=is_edit)
            case _Typed(text, where, is_event):
                typed = _without_inserted_text(text)
                # Some versions write two events for a message.
                if is_event == has_events and typed and typed != last:
                    found.append(turn.message(typed, where))
                    last = typed
    return tuple(found)


def _without_inserted_text(text: str) -> str:
    _, separator, request = text.partition(_REQUEST)
    if separator:
        return request.strip()
    return "" if text.startswith(_PROGRAM_TEXTS) else without_tagged_text(text)
