"""Accepts a better text in place of a draft summary, and publishes it: on the card and in the graph.

A text is accepted only if its inputs have not changed, everything that it names exists, it is about this subject, and
it contains no secret.
"""

from __future__ import annotations

from contextlib import suppress

from golore.graph.cards.card_builder import rebuild_cards_of
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import LONGEST, SummaryRecord, current, reject, write_summary
from golore.graph.knowledge.summary_inputs import inputs_of
from golore.graph.knowledge.summary_lines import card_paths_of
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.graph.safety.secret_filter import remove_secrets
from golore.mcp_server.services.repository import LearnedRepository
from golore.summarizers.grounding.check import grounding_problems
from golore.summarizers.grounding.repetition import repetition_problems


def accept_summary(
    repository: LearnedRepository, store: Store, level: str, subject: str, text: str, digest: str, *, model: str = ""
) -> SummaryRecord:
    """Save an agent's text in place of a draft. Raises `UsageError` with the reason if the text is refused."""
    plain = " ".join(text.split())
    if removed := remove_secrets(plain).removed:
        raise UsageError(f"The text was refused: it contains {', '.join(sorted(set(removed)))}. Write it without that.")
    with Knowledge.open(repository.store) as knowledge:
        inputs = inputs_of(store, repository.root, knowledge, level, subject)
        context = "\n".join(f"{piece.title}\n{piece.text}" for piece in inputs.pieces) if inputs is not None else ""
        problems = (
            *grounding_problems(store, repository.root, plain, context),
            *repetition_problems(knowledge, level, subject, plain, context),
        )
        if problems:
            sentences = " ".join(dict.fromkeys(problem.sentence for problem in problems))
            raise UsageError(f"The text was refused. {sentences} Write it again without that.")
        return write_summary(
            knowledge, store, repository.root, level, subject, plain, source="agent", model=model, expected=digest
        )


def write_as_person(
    repository: LearnedRepository, store: Store, level: str, subject: str, text: str, digest: str
) -> SummaryRecord:
    """Save a text that a person wrote or accepted. Raises `UsageError` with the reason if it cannot be saved."""
    plain = " ".join(remove_secrets(text).text.split())
    if not plain or len(plain) > LONGEST:
        raise UsageError(f"A summary has 1 to {LONGEST:,} characters; this one has {len(plain):,}.")
    with Knowledge.open(repository.store) as knowledge:
        return write_summary(knowledge, store, repository.root, level, subject, plain, expected=digest)


def reject_draft(repository: LearnedRepository, level: str, subject: str) -> SummaryRecord:
    """Reject the text that a model wrote. Raises `UsageError` if there is none."""
    with Knowledge.open(repository.store) as knowledge:
        record = current(knowledge, level, subject)
        if record is None or record.source == "person":
            raise UsageError(f"No model has written a summary of {subject}.")
        reject(knowledge, record, "person")
        return record


def publish_summary(repository: LearnedRepository, record: SummaryRecord, *, wait: float = 1.0) -> None:
    """Update the cards and the graph with a new summary. If that fails now, the next learn does it."""
    with suppress(GoloreError):
        with Knowledge.open(repository.store) as knowledge, knowledge.transaction() as run:
            card_paths = card_paths_of(run, [(record.level, record.subject)])
        rebuild_cards_of(repository.store, card_paths)
        update_summaries(repository.root, repository.store, changed=(), wait=wait)
