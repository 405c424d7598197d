"""The summary of a subject: the one that was written, or else the one that is composed from the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import SummaryRecord, current
from golore.graph.knowledge.summary_lines import doubtful_children

STRUCTURAL: Final = "structural"


def summary_of(store: Store, level: str, subject: str) -> tuple[str, str]:
    """The quality and the text of a summary."""
    return written_summary(store, level, subject) or (STRUCTURAL, structural_summary(store, level, subject))


def written_summary(store: Store, level: str, subject: str) -> tuple[str, str] | None:
    """Like `summary_of`, but None if no model or person has written one."""
    if not Knowledge.exists(store.directory):
        return None
    with Knowledge.open(store.directory) as knowledge:
        found = current(knowledge, level, subject)
        return None if found is None else (_quality(knowledge, found), found.text)


def symbol_summaries(store: Store, ids: Iterable[str]) -> list[dict[str, Any]]:
    found = ((id, *summary_of(store, "symbol", id)) for id in ids)
    return [{"subject": id, "quality": quality, "text": text} for id, quality, text in found if text]


def _quality(knowledge: Knowledge, found: SummaryRecord) -> str:
    doubtful = doubtful_children(knowledge, found)
    return (
        f"{found.standing}; {doubtful:,} of the summaries it was written from in doubt" if doubtful else found.standing
    )
