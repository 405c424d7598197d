"""`golore learn-sessions`: proposes corrections from sessions as notes, and accepts or rejects the proposals."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from golore.graph.errors import GoloreError, UsageError
from golore.graph.phrases import counted
from golore.graph.safety.secret_filter import removal_message
from golore.mcp_server.hooks.log import log_failure
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.sessions.correction_rules import Judge
from golore.mcp_server.sessions.proposals import (
    ACCEPTED,
    REJECTED,
    Proposal,
    TranscriptOutcome,
    collect_proposals,
    decide,
    parse_since,
    pending,
    select_pending,
)
from golore.mcp_server.sessions.transcripts import AGENTS, transcripts_at, transcripts_of
from golore.mcp_server.text.output import is_terminal, print_json, print_lines, print_message, print_question, styled

_TAG: Final = "session"
_QUESTION: Final = "Accept it as a note, reject it for good, decide later, or quit? [a/r/l/q] "


def run_sessions(
    start: Path,
    path: Path | None,
    *,
    agent: str = "",
    since: str = "",
    model: str = "",
    host: str | None = None,
    accept: Sequence[str] = (),
    reject: Sequence[str] = (),
    as_json: bool = False,
) -> int:
    repository = find_repository(start)
    reads: list[TranscriptOutcome] = []
    if not accept and not reject:
        agents = [agent] if agent else AGENTS
        found = transcripts_of(repository.root.resolve(), agents) if path is None else transcripts_at(path)
        with _judge(repository, model, host) as judge:
            _, reads = collect_proposals(repository, found, parse_since(since), judge)
    if message := removal_message(kind for read in reads for kind in read.removed):
        print_message(f"golore: {message}")
    notes = {one.id: accept_proposal(repository, one) for one in select_pending(repository.store, accept)}
    rejected = [one.id for one in select_pending(repository.store, reject)]
    for one in select_pending(repository.store, reject):
        decide(repository.store, one, REJECTED)
    waiting = pending(repository.store)
    if as_json:
        print_json({"proposals": waiting, "accepted": notes, "rejected": rejected, "read": reads})
        return 0
    print_lines([*_read_lines(reads), *_decided_lines(notes, rejected)] or [_nothing_line(bool(accept or reject))])
    if waiting and not notes and not rejected and is_terminal(sys.stdin) and is_terminal(sys.stdout):
        _ask(repository, waiting)
    elif waiting:
        print_lines([line for one in waiting for line in _lines(one)])
        print_lines(
            ["`golore learn-sessions --accept ID` makes a note of a proposal, `--reject ID` drops it; `all` means all."]
        )
    return 0


@contextmanager
def _judge(repository: LearnedRepository, model: str, host: str | None) -> Generator[Judge | None]:
    if not model:
        if host:
            raise UsageError("--host is the server of a model. Name the model with --model.")
        yield None
        return
    from golore.mcp_server.sessions.model_judge import open_judge

    with open_judge(repository.store, model, host) as judge:
        yield judge


def run_in_hook() -> int:
    """Read one transcript for a hook at the end of a session or before a compaction, and store its proposals.

    Prints nothing. Returns the exit code, which is always 0.
    """
    store = ""
    try:
        payload = json.loads(sys.stdin.buffer.read(1 << 20))
        repository = find_repository(Path(payload["cwd"]))
        store = str(repository.store)
        collect_proposals(repository, transcripts_at(Path(payload["transcript_path"])))
    except Exception:  # noqa: BLE001  a failure must not disturb the agent
        if store:
            log_failure(store, "golore learn-sessions --hook")
    return 0


def accept_proposal(repository: LearnedRepository, proposal: Proposal) -> str:
    """Make a note of a proposal, on the first of its files that is in the graph, or else on the repository.

    Returns the id of the note.
    """
    from golore.graph.queries.names.name_resolver import NameResolver
    from golore.mcp_server.services.knowledge import note_actions
    from golore.mcp_server.services.open_store import OpenRepository, open_current_store

    text = proposal.text if not proposal.premise else f"{proposal.text} (Said before: “{proposal.premise}”)"
    with open_current_store(repository) as store:
        opened = OpenRepository(repository, store, NameResolver(store))
        outcome = None
        for target in (*proposal.files, "."):
            with suppress(UsageError):
                request = note_actions.NoteRequest(target, text, "correction", (_TAG,), _user_name(), "person")
                outcome = note_actions.write_note(opened, request)
                break
    if outcome is None:
        raise UsageError(
            f"The proposal {proposal.id} is too long for a note. Reject it, and write a shorter one with `golore note`."
        )
    for message in note_actions.publish_note(repository, outcome).messages:
        print_message(f"golore: {message}")
    decide(repository.store, proposal, ACCEPTED, outcome.note.id)
    return outcome.note.id


def _user_name() -> str:
    with suppress(OSError, KeyError):
        return os.environ.get("GIT_AUTHOR_NAME", "") or getpass.getuser()
    return ""


def _ask(repository: LearnedRepository, waiting: Sequence[Proposal]) -> None:
    for number, one in enumerate(waiting, start=1):
        print_lines([f"{number} of {len(waiting)}", *_lines(one)])
        print_question(_QUESTION)
        answer = sys.stdin.readline().strip().lower()[:1]
        if answer == "a":
            try:
                print_lines([f"Accepted as note {accept_proposal(repository, one)}."])
            except GoloreError as failure:
                print_lines([str(failure)])
        elif answer == "r":
            decide(repository.store, one, REJECTED)
        elif answer != "l":
            return


def _lines(proposal: Proposal) -> list[str]:
    from golore.graph.cards.annotations import quoted

    where = ", ".join(proposal.files) or "the repository"
    lines = [
        "  " + styled(proposal.id, "bold") + f"  {proposal.at[:10]}  {where}",
        f"    {quoted(proposal.text, sys.maxsize)}",
    ]
    if proposal.premise:
        lines.append(styled(f"    the agent said: {quoted(proposal.premise, sys.maxsize)}", "dim"))
    return lines


def _nothing_line(is_decision: bool) -> str:
    return "No proposals are waiting for a decision." if is_decision else "No transcripts were found."


def _read_lines(reads: Sequence[TranscriptOutcome]) -> list[str]:
    if not reads:
        return []
    found = sum(read.corrections for read in reads)
    lines = [f"Read {counted(len(reads), 'transcript')}: {counted(found, 'correction')} found."]
    return lines + [f"{read.path} could not be read: {read.problem}." for read in reads if read.problem]


def _decided_lines(notes: dict[str, str], rejected: Sequence[str]) -> list[str]:
    return [f"{id} is accepted as note {note}." for id, note in notes.items()] + [
        f"{id} is rejected." for id in rejected
    ]
