"""The role line of a card: the first sentences of the summary of a file, a package or the repository, and its quality.

Only summaries that a model or a person wrote are used: what is composed from the graph is on the card anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.knowledge.summaries import LEVELS, SummaryRecord, current
from golore.graph.knowledge.summary_inputs import CHILD
from golore.graph.model.entities import REPOSITORY_ID


class RoleLines:
    """The role lines of files ("dir/file.go"), packages ("dir/") and the repository (""), from current summaries."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._has_any = any(True for _ in knowledge.rows("SELECT 1 FROM summaries LIMIT 1"))

    def role_of(self, card_path: str) -> str:
        """The role line of a card; empty if there is no summary, or if what it is about is gone."""
        record = self._record(card_path) if self._has_any else None
        return role_line(self._knowledge, record) if record is not None and record.doubt != "gone" else ""

    def _record(self, card_path: str) -> SummaryRecord | None:
        if not card_path:
            return current(self._knowledge, "repository", REPOSITORY_ID)
        if not card_path.endswith("/"):
            return current(self._knowledge, "file", card_path)
        # A summary names a package by its path, a card by its directory, which is the source of the input `doc`.
        statement = (
            "SELECT s.subject FROM summary_parts p JOIN summaries s ON s.id = p.summary "
            "WHERE p.place = ? AND p.kind = 'doc' AND s.level = 'package' AND s.subject = p.subject AND s.current"
        )
        for (subject,) in self._knowledge.rows(statement, (card_path,)):
            return current(self._knowledge, "package", subject)
        return None


def card_paths_of(run: Transaction, subjects: Iterable[tuple[str, str]]) -> set[str]:
    """The card paths that show these summaries, or summaries that were written from them."""
    found: set[str] = set()
    pending, seen = list(subjects), set[tuple[str, str]]()
    while pending:
        level, subject = pending.pop()
        if (level, subject) in seen:
            continue
        seen.add((level, subject))
        if level == "file":
            found.add(subject)
        elif level == "repository":
            found.add("")
        elif level == "package":
            statement = "SELECT place FROM summary_parts WHERE kind = 'doc' AND subject = ?"
            found.update(card_path for (card_path,) in run.rows(statement, (subject,)))
        statement = (
            "SELECT s.level, s.subject FROM summary_parts p JOIN summaries s ON s.id = p.summary "
            "WHERE p.kind = ? AND p.subject = ? AND s.current"
        )
        pending += list(run.rows(statement, (f"{level} {CHILD}", subject)))
    return found


def role_of(knowledge: Knowledge, card_path: str) -> str:
    """The role line of one card."""
    return RoleLines(knowledge).role_of(card_path)


def role_line(knowledge: Knowledge, record: SummaryRecord) -> str:
    quality = record.standing
    doubtful = doubtful_children(knowledge, record)
    if doubtful and not record.doubt:
        noun = "summary" if doubtful == 1 else "summaries"
        quality += f", written from {doubtful:,} {noun} that {'is' if doubtful == 1 else 'are'} in doubt now"
    return f"Role ({quality}): {first_sentences(record.text, 2)}"


def doubtful_children(knowledge: Knowledge, record: SummaryRecord) -> int:
    """How many of the summaries that this one was written from are in doubt now."""
    number = 0
    for level in LEVELS:
        statement = (
            "SELECT count(*) FROM summary_parts p JOIN summaries s ON s.level = ? AND s.subject = p.subject "
            "WHERE p.summary = ? AND p.kind = ? AND s.current AND s.doubt <> ''"
        )
        number += next(knowledge.rows(statement, (level, record.id, f"{level} {CHILD}")))[0]
    return number


def first_sentences(text: str, most: int) -> str:
    """The first `most` sentences of a text."""
    end = 0
    for _ in range(most):
        ends = [position for mark in (". ", "! ", "? ") if (position := text.find(mark, end)) >= 0]
        if not ends:
            return text
        end = min(ends) + 2
    return text[:end].rstrip()
