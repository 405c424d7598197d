"""Accepts a better text in place of a draft summary, and publishes it: on the card and in the graph.

A text is accepted only if what it was written from has not changed and everything it names exists.
"""

from __future__ import annotations

from contextlib import suppress

from golore.graph.cards.card_builder import rebuild_cards_of
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import SummaryRecord, write_summary
from golore.graph.knowledge.summary_inputs import inputs_of
from golore.graph.knowledge.summary_lines import card_paths_of
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.mcp_server.services.repository import LearnedRepository
from golore.summarizers.grounding.check import grounding_problems


def accept(
    repository: LearnedRepository, store: Store, level: str, subject: str, text: str, digest: str, *, model: str = ""
) -> SummaryRecord:
    """Keep an agent's text in the place of a draft. A `UsageError` says why it is not taken."""
    plain = " ".join(text.split())
    with Knowledge.open(repository.store) as knowledge:
        inputs = inputs_of(store, repository.root, knowledge, level, subject)
        context = "\n".join(f"{piece.title}\n{piece.text}" for piece in inputs.pieces) if inputs is not None else ""
        wrong = grounding_problems(store, repository.root, plain, context)
        if wrong:
            told = " ".join(dict.fromkeys(one.sentence for one in wrong))
            raise UsageError(f"The text was not taken. {told} Write it again without that.")
        return write_summary(
            knowledge, store, repository.root, level, subject, plain, source="agent", model=model, expected=digest
        )


def publish_summary(repository: LearnedRepository, record: SummaryRecord, *, wait: float = 1.0) -> None:
    """Bring cards and graph up to date with a new text; what does not work now is done by the next learn."""
    with suppress(GoloreError):
        with Knowledge.open(repository.store) as knowledge, knowledge.transaction() as run:
            places = card_paths_of(run, [(record.level, record.subject)])
        rebuild_cards_of(repository.store, places)
        update_summaries(repository.root, repository.store, changed=(), wait=wait)
