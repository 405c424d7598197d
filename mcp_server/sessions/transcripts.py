"""Finds the transcripts of all supported agents, and reads each with the reader of its format.

A transcript that is named by the user is recognized by its ending and its first line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import UsageError
from golore.graph.safety.regular_file import read_regular
from golore.mcp_server.sessions import claude_code, codex, copilot_cli, gemini_cli, opencode
from golore.mcp_server.sessions.user_message import (
    MAX_TRANSCRIPT,
    TranscriptContent,
    first_entry,
    lines_of,
)

_ENDINGS: Final = ("*.jsonl", "*.json", "*.db")
_FINDERS: Final[Mapping[str, Callable[[Path, Path, Mapping[str, str]], list[Path]]]] = {
    "claude": claude_code.transcripts_of,
    "codex": codex.transcripts_of,
    "gemini": gemini_cli.transcripts_of,
    "copilot": copilot_cli.transcripts_of,
    "opencode": lambda _root, home, environ: opencode.databases_of(home, environ),
}
AGENTS: Final = tuple(_FINDERS)


class Transcript(NamedTuple):
    agent: str
    path: Path


def transcripts_of(
    root: Path, agents: Iterable[str] = AGENTS, environ: Mapping[str, str] = os.environ
) -> list[Transcript]:
    """Transcripts of sessions at or below a root, by agent and sorted by path. Links are left out."""
    home = Path.home()
    return [
        Transcript(agent, path)
        for agent in agents
        for path in _FINDERS[agent](root, home, environ)
        if not path.is_symlink()
    ]


def transcripts_at(path: Path) -> list[Transcript]:
    """A transcript, or the transcripts in a directory."""
    if path.is_dir():
        found = sorted(one for one in chain.from_iterable(map(path.glob, _ENDINGS)) if not one.is_symlink())
        return [Transcript(_agent_of(one), one) for one in found]
    if not path.is_file():
        raise UsageError(f"There is no transcript {path}. Check the path.")
    return [Transcript(_agent_of(path), path)]


def _agent_of(path: Path) -> str:
    """The agent whose format a file has; Claude Code if none is recognized, so that its lines count as unknown."""
    if path.suffix == ".db":
        return "opencode"
    if path.suffix == ".json":
        return "gemini"
    first = first_entry(path) or {}
    if "projectHash" in first:
        return "gemini"
    if first.get("type") == "session_meta":
        return "codex"
    if first.get("type") == "session.start":
        return "copilot"
    return "claude"


def read_transcript(transcript: Transcript, root: Path) -> TranscriptContent:
    """The messages of a transcript; of a database, those of sessions at or below the root.

    Raises `OSError` if the file cannot be read.
    """
    path = transcript.path
    match transcript.agent:
        case "codex":
            return codex.read_lines(lines_of(path), path.stem)
        case "copilot":
            return copilot_cli.read_lines(lines_of(path), path.parent.name)
        case "opencode":
            return opencode.read_database(path, root)
        case "gemini":
            cwd = gemini_cli.project_directory(path.parent, root)
            if path.suffix == ".json":
                return gemini_cli.read_document(read_regular(path, MAX_TRANSCRIPT), path.stem, cwd)
            return gemini_cli.read_lines(lines_of(path), path.stem, cwd)
        case _:
            return claude_code.read_lines(lines_of(path), path.stem)
