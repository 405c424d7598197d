"""Proposals: corrections found in an agent's transcripts, and whether they were accepted or rejected.

Everything stays on this machine. `sessions.jsonl` in the store has the proposals and the decisions: a rejected proposal
is not made again, however often its transcript is read. Secrets are removed from the text first. `sessions.log` records
what was read, when, and what was found. Neither file is exported.
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
from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.secret_filter import remove_secrets
from golore.graph.safety.system import BINARY
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.sessions.correction_rules import Judge, correction_in
from golore.mcp_server.sessions.transcripts import Transcript, read_transcript
from golore.mcp_server.sessions.user_message import UserMessage, files_below

LEDGER_NAME: Final = "sessions.jsonl"
_MAX_BYTES: Final = 64 << 20
AUDIT_NAME: Final = "sessions.log"
PROPOSED: Final = "proposed"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
_SINCE: Final = re.compile(r"(\d+)([dhw])")
_UNITS: Final = {"h": 1, "d": 24, "w": 24 * 7}


class Proposal(NamedTuple):
    """A correction that may become a note. `id` is computed from the text: the same correction has the same id."""

    id: str
    text: str
    premise: str
    files: tuple[str, ...]
    session: str
    at: str


class TranscriptOutcome(NamedTuple):
    """The outcome of reading one transcript. `problem` is the reason if it could not be read. `removed` has the kinds
    of the secrets that were removed from its corrections."""

    path: str
    agent: str
    lines: int = 0
    unknown: int = 0
    corrections: int = 0
    problem: str = ""
    removed: tuple[str, ...] = ()


def parse_since(since: str) -> str:
    """The time that `7d`, `12h`, `2w` or a date means, in ISO format; empty for no limit."""
    if not since:
        return ""
    if match := _SINCE.fullmatch(since):
        period = timedelta(hours=int(match[1]) * _UNITS[match[2]])
        return (datetime.now(UTC) - period).isoformat(timespec="seconds")
    try:
        return datetime.fromisoformat(since).isoformat()
    except ValueError:
        raise UsageError(f"{since!r} is not a time. Give a date such as 2026-11-01, or 12h, 7d, 2w.") from None


def collect_proposals(
    repository: LearnedRepository, transcripts: Iterable[Transcript], since: str = "", judge: Judge | None = None
) -> tuple[list[Proposal], list[TranscriptOutcome]]:
    """Read transcripts and store new proposals. Returns these, and the outcome for each transcript.

    `judge` decides about doubtful messages.
    """
    root = repository.root.resolve()
    known = {proposal.id for proposal, _ in ledger(repository.store)}
    found: dict[str, Proposal] = {}
    reads: list[TranscriptOutcome] = []
    for transcript in transcripts:
        agent, path = transcript.agent, str(transcript.path)
        try:
            reading = read_transcript(transcript, root)
        except OSError as failure:
            reads.append(TranscriptOutcome(path, agent, problem=failure.strerror or str(failure)))
            continue
        removed: list[str] = []
        corrections = [
            proposal
            for words in reading.words
            if _is_wanted(root, words, since) and (proposal := _proposal(root, words, removed, judge))
        ]
        reads.append(
            TranscriptOutcome(path, agent, reading.lines, reading.unknown, len(corrections), removed=tuple(removed))
        )
        found |= {
            proposal.id: proposal for proposal in corrections if proposal.id not in known and proposal.id not in found
        }
    _append(repository.store / LEDGER_NAME, ({"event": PROPOSED, **proposal._asdict()} for proposal in found.values()))
    _append(repository.store / AUDIT_NAME, ({"at": _now(), "since": since, **read._asdict()} for read in reads))
    return list(found.values()), reads


def ledger(store: Path) -> list[tuple[Proposal, str]]:
    """All proposals, oldest first, each with its status. Lines that cannot be read are skipped."""
    proposals: dict[str, Proposal] = {}
    statuses: dict[str, str] = {}
    for entry in _entries(store / LEDGER_NAME):
        id, event = entry.get("id"), entry.get("event")
        if event == PROPOSED and isinstance(id, str):
            values = [entry.get(name, "") for name in Proposal._fields]
            proposals.setdefault(id, Proposal(*values)._replace(files=tuple(entry.get("files", ()))))
        elif event in (ACCEPTED, REJECTED) and isinstance(id, str):
            statuses[id] = event
    return [(proposal, statuses.get(id, PROPOSED)) for id, proposal in proposals.items()]


def pending(store: Path) -> list[Proposal]:
    return [proposal for proposal, status in ledger(store) if status == PROPOSED]


def select_pending(store: Path, ids: Iterable[str]) -> list[Proposal]:
    """The pending proposals with these ids or prefixes of ids; `all` means all of them."""
    proposals = pending(store)
    found: dict[str, Proposal] = {}
    for id in ids:
        matches = [proposal for proposal in proposals if id == "all" or proposal.id.startswith(id)]
        if not matches and id != "all":
            raise UsageError(f"There is no pending proposal {id!r}. `golore learn-sessions` lists them.")
        if len(matches) > 1 and id != "all":
            raise UsageError(f"Several proposals begin with {id!r}. Give more characters of the id.")
        found |= {proposal.id: proposal for proposal in matches}
    return list(found.values())


def decide(store: Path, proposal: Proposal, status: str, note: str = "") -> None:
    """Record that a proposal was accepted, as the note with the id `note`, or rejected."""
    _append(store / LEDGER_NAME, [{"event": status, "id": proposal.id, "note": note, "at": _now()}])


def _is_wanted(root: Path, words: UserMessage, since: str) -> bool:
    """Whether a message was typed in this repository, and not before `since`."""
    directory = os.path.normpath(words.cwd) if words.cwd else str(root)
    return (directory == str(root) or directory.startswith(f"{root}/")) and _time_of(words.at) >= _time_of(since)


def _time_of(text: str) -> datetime:
    """The time of an ISO text; the earliest time for any other text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return time if time.tzinfo else time.astimezone()


def _proposal(root: Path, words: UserMessage, removed: list[str], judge: Judge | None) -> Proposal | None:
    """The proposal that a message gives, without its secrets. Adds the kinds of these to `removed`."""
    found = correction_in(words, judge)
    if found is None:
        return None
    text, premise = remove_secrets(found.text), remove_secrets(found.premise)
    removed += (*text.removed, *premise.removed)
    normalized = " ".join(text.text.lower().split())
    id = blake2b(normalized.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return Proposal(id, text.text, premise.text, files_below(root, words), words.session, words.at)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = read_regular(path, _MAX_BYTES).splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _append(path: Path, entries: Iterable[Mapping[str, object]]) -> None:
    """Append in one write, so that lines of two processes do not mix. A new file is readable by its owner only."""
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    if text:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | BINARY, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
