"""Reads Claude Code's transcripts, `~/.claude/projects/DIRECTORY/SESSION.jsonl`. The format is not documented.

Only text that the user typed counts, not tool results, text that the program inserted, summaries of compactions, or
prompts of the agent to its subagents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from golore.mcp_server.sessions.user_message import (
    AgentTurn,
    Session,
    TranscriptContent,
    UserMessage,
    blocks,
    entries,
    mapping,
    text_of,
    without_tagged_text,
)

_REFUSAL_START: Final = "the user said:"
"""Precedes what a user typed when refusing a tool call."""
_REFUSAL_END: Final = "\n\nNote: The user's next message"
_INJECTED: Final = re.compile(r"<(command-|local-command|system-reminder|bash-|user-memory|task-notification)[^>]*>")
_PROGRAM_TEXTS: Final = ("[Request interrupted", "Caveat: ", "This session is being continued")
_EDITING_TOOLS: Final = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))


def transcripts_of(root: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Transcripts of sessions at or below a root, sorted by path.

    The names of the directories are ambiguous, so some may be of other repositories; the lines in them say which.
    """
    own = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    projects = (Path(own).expanduser() if own else home / ".claude") / "projects"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    directories = [
        directory
        for directory in projects.glob(f"{slug}*")
        if directory.name == slug or directory.name.startswith(f"{slug}-")
    ]
    return sorted(path for directory in directories for path in directory.glob("*.jsonl"))


def read_lines(lines: Iterable[bytes], session: str = "") -> TranscriptContent:
    found: list[UserMessage] = []
    turn = AgentTurn()
    count = unknown = 0
    for entry in entries(lines):
        count += 1
        if entry is None:
            unknown += 1
            continue
        if entry.get("isSidechain") is True:
            continue
        message = mapping(entry.get("message"))
        content: Any = message.get("content") if message else None
        match entry.get("type"):
            case "assistant":
                _add_message(turn, content)
            case "user":
                origin = Session(
                    text_of(entry, "sessionId") or session, text_of(entry, "timestamp"), text_of(entry, "cwd")
                )
                found += [turn.message(text, origin, is_refusal=True) for text in _refusals(content)]
                if typed := _typed(entry, content):
                    found.append(turn.message(typed, origin))
            case _:
                pass
    return TranscriptContent(tuple(found), count, unknown)


def _add_message(turn: AgentTurn, content: Any) -> None:
    if isinstance(content, str):
        turn.say(content)
    for block in blocks(content):
        if block.get("type") == "text":
            turn.say(text_of(block, "text"))
        elif block.get("type") == "tool_use":
            turn.use(block.get("input"), is_edit=text_of(block, "name") in _EDITING_TOOLS)


def _typed(entry: dict[str, Any], content: Any) -> str:
    """What the user typed in this line; empty if it has nothing that the user typed."""
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return ""
    parts = [content] if isinstance(content, str) else []
    parts += [text_of(block, "text") for block in blocks(content) if block.get("type") == "text"]
    texts = [_without_inserted_text(part) for part in parts]
    return "\n".join(part for part in texts if part)


def _without_inserted_text(text: str) -> str:
    if text.startswith(_PROGRAM_TEXTS) or _INJECTED.match(text.lstrip()):
        return ""
    return without_tagged_text(text)


def _refusals(content: Any) -> Iterator[str]:
    for block in blocks(content):
        if block.get("type") == "tool_result" and block.get("is_error") is True:
            result = block.get("content")
            texts = [result] if isinstance(result, str) else [text_of(part, "text") for part in blocks(result)]
            for text in texts:
                _, separator, typed = text.partition(_REFUSAL_START)
                if separator and "rejected" in text and (message := typed.partition(_REFUSAL_END)[0].strip()):
                    yield message
