"""Corrections from sessions: reads an agent's transcripts, when asked to, and keeps what is proposed and decided.

Everything stays on this machine. `sessions.jsonl` in the store holds proposals and what became of them: one that was
rejected is not proposed again, however often it is read. `sessions.log` tells what was read, when, and what was found.
Neither is exported. How a transcript is read is `transcripts`' affair, what a correction is `corrections`'.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.errors import UsageError
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.sessions.correction_rules import correction_in
from golore.mcp_server.sessions.transcripts import Words, inside, read_transcript

LEDGER_NAME: Final = "sessions.jsonl"
AUDIT_NAME: Final = "sessions.log"
PROPOSED: Final = "proposed"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
_SINCE: Final = re.compile(r"(\d+)([dhw])")
_UNITS: Final = {"h": 1, "d": 24, "w": 24 * 7}


class Proposal(NamedTuple):
    """A correction that may become a note. `id` follows from its text, so that the same one has the same."""

    id: str
    text: str
    premise: str
    files: tuple[str, ...]
    session: str
    at: str


class Read(NamedTuple):
    """One transcript that was read; `problem` says why it was not."""

    path: str
    lines: int = 0
    unknown: int = 0
    corrections: int = 0
    problem: str = ""


def transcripts_of(root: Path, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Claude Code's transcripts of sessions at or below a root, oldest first. Whether they are is in their lines."""
    home = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    projects = (Path(home).expanduser() if home else Path.home() / ".claude") / "projects"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    rooms = [room for room in projects.glob(f"{slug}*") if room.name == slug or room.name.startswith(f"{slug}-")]
    return sorted(path for room in rooms for path in room.glob("*.jsonl"))


def transcripts_at(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    if not path.is_file():
        raise UsageError(f"There is no transcript {path}. Check the path.")
    return [path]


def start_of(since: str) -> str:
    """The time that `7d`, `12h`, `2w` or a date means; everything counts without."""
    if not since:
        return ""
    if match := _SINCE.fullmatch(since):
        back = timedelta(hours=int(match[1]) * _UNITS[match[2]])
        return (datetime.now(UTC) - back).isoformat(timespec="seconds")
    try:
        return datetime.fromisoformat(since).isoformat()
    except ValueError:
        raise UsageError(f"{since!r} is no time. Give a date such as 2026-11-01, or 12h, 7d, 2w.") from None


def study(repository: LearnedRepository, paths: Iterable[Path], since: str = "") -> tuple[list[Proposal], list[Read]]:
    """Read transcripts and keep what they propose; those that are new, and what was read."""
    root = repository.root.resolve()
    known = {proposal.id for proposal, _ in ledger(repository.store)}
    found: dict[str, Proposal] = {}
    reads: list[Read] = []
    for path in paths:
        try:
            reading = read_transcript(path)
        except OSError as failure:
            reads.append(Read(str(path), problem=failure.strerror or str(failure)))
            continue
        made = [one for words in reading.words if _counts(root, words, since) and (one := _proposal(root, words))]
        reads.append(Read(str(path), reading.lines, reading.unknown, len(made)))
        found |= {one.id: one for one in made if one.id not in known and one.id not in found}
    _append(repository.store / LEDGER_NAME, ({"event": PROPOSED, **one._asdict()} for one in found.values()))
    _append(repository.store / AUDIT_NAME, ({"at": _now(), "since": since, **read._asdict()} for read in reads))
    return list(found.values()), reads


def ledger(store: Path) -> list[tuple[Proposal, str]]:
    """All proposals, oldest first, with what became of them. A line that cannot be read is passed over."""
    proposals: dict[str, Proposal] = {}
    fates: dict[str, str] = {}
    for entry in _entries(store / LEDGER_NAME):
        id, event = entry.get("id"), entry.get("event")
        if event == PROPOSED and isinstance(id, str):
            values = [entry.get(name, "") for name in Proposal._fields]
            proposals.setdefault(id, Proposal(*values)._replace(files=tuple(entry.get("files", ()))))
        elif event in (ACCEPTED, REJECTED) and isinstance(id, str):
            fates[id] = event
    return [(proposal, fates.get(id, PROPOSED)) for id, proposal in proposals.items()]


def pending(store: Path) -> list[Proposal]:
    return [proposal for proposal, fate in ledger(store) if fate == PROPOSED]


def chosen(store: Path, ids: Iterable[str]) -> list[Proposal]:
    """The pending proposals of these ids, or of the beginnings of ids; `all` are all."""
    waiting = pending(store)
    found: dict[str, Proposal] = {}
    for id in ids:
        meant = [one for one in waiting if id == "all" or one.id.startswith(id)]
        if not meant and id != "all":
            raise UsageError(f"There is no proposal {id!r} to decide on. `golore learn-sessions` lists them.")
        if len(meant) > 1 and id != "all":
            raise UsageError(f"Several proposals begin with {id!r}. Give more of the id.")
        found |= {one.id: one for one in meant}
    return list(found.values())


def decide(store: Path, proposal: Proposal, fate: str, note: str = "") -> None:
    _append(store / LEDGER_NAME, [{"event": fate, "id": proposal.id, "note": note, "at": _now()}])


def _counts(root: Path, words: Words, since: str) -> bool:
    """Whether it was said in this repository, and not before the time asked for."""
    directory = os.path.normpath(words.cwd) if words.cwd else str(root)
    return (directory == str(root) or directory.startswith(f"{root}/")) and _moment(words.at) >= _moment(since)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.astimezone()


def _proposal(root: Path, words: Words) -> Proposal | None:
    found = correction_in(words)
    if found is None:
        return None
    told = " ".join(found.text.lower().split())
    id = blake2b(told.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return Proposal(id, found.text, found.premise, inside(root, words), words.session, words.at)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _append(path: Path, entries: Iterable[Mapping[str, object]]) -> None:
    """In one write, so that two processes do not mix their lines, and for the owner's eyes alone."""
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    if text:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
