"""What cards say of the role of a file, a package or the repository: the beginning of its summary, and how good it is.

Only of what a model or a person has written: what is composed from the graph is on the card anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.knowledge.summaries import LEVELS, SummaryRecord, current
from golore.graph.knowledge.summary_inputs import CHILD
from golore.graph.model.entities import REPOSITORY_ID


class Roles:
    """What cards say of files ("dir/file.go"), packages ("dir/") and the repository (""): the summaries that count."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._has_any = any(True for _ in knowledge.rows("SELECT 1 FROM summaries LIMIT 1"))

    def role_of(self, place: str) -> str:
        """The first two sentences, with their quality; empty where nobody has written any."""
        found = self._record(place) if self._has_any else None
        return role_line(self._knowledge, found) if found is not None and found.doubt != "gone" else ""

    def _record(self, place: str) -> SummaryRecord | None:
        if not place:
            return current(self._knowledge, "repository", REPOSITORY_ID)
        if not place.endswith("/"):
            return current(self._knowledge, "file", place)
        # A package is known by its path, a card by its directory: that is the place of the documentation.
        statement = (
            "SELECT s.subject FROM summary_parts p JOIN summaries s ON s.id = p.summary "
            "WHERE p.place = ? AND p.kind = 'doc' AND s.level = 'package' AND s.subject = p.subject AND s.current"
        )
        for (subject,) in self._knowledge.rows(statement, (place,)):
            return current(self._knowledge, "package", subject)
        return None


def card_paths_of(run: Transaction, subjects: Iterable[tuple[str, str]]) -> set[str]:
    """The cards on which these summaries tell, or others that were written from them."""
    found: set[str] = set()
    left, seen = list(subjects), set[tuple[str, str]]()
    while left:
        level, subject = left.pop()
        if (level, subject) in seen:
            continue
        seen.add((level, subject))
        if level == "file":
            found.add(subject)
        elif level == "repository":
            found.add("")
        elif level == "package":
            statement = "SELECT place FROM summary_parts WHERE kind = 'doc' AND subject = ?"
            found.update(place for (place,) in run.rows(statement, (subject,)))
        statement = (
            "SELECT s.level, s.subject FROM summary_parts p JOIN summaries s ON s.id = p.summary "
            "WHERE p.kind = ? AND p.subject = ? AND s.current"
        )
        left += list(run.rows(statement, (f"{level} {CHILD}", subject)))
    return found


def role_of(knowledge: Knowledge, place: str) -> str:
    """The role line of one card."""
    return Roles(knowledge).role_of(place)


def role_line(knowledge: Knowledge, found: SummaryRecord) -> str:
    standing = found.standing
    weak = doubtful_children(knowledge, found)
    if weak and not found.doubt:
        noun = "summary" if weak == 1 else "summaries"
        standing += f", written from {weak:,} {noun} that {'is' if weak == 1 else 'are'} in doubt now"
    return f"Role ({standing}): {first_sentences(found.text, 2)}"


def doubtful_children(knowledge: Knowledge, found: SummaryRecord) -> int:
    """How many of the summaries that one was written from are stale now, though their texts are the same."""
    number = 0
    for level in LEVELS:
        statement = (
            "SELECT count(*) FROM summary_parts p JOIN summaries s ON s.level = ? AND s.subject = p.subject "
            "WHERE p.summary = ? AND p.kind = ? AND s.current AND s.doubt <> ''"
        )
        number += next(knowledge.rows(statement, (level, found.id, f"{level} {CHILD}")))[0]
    return number


def first_sentences(text: str, most: int) -> str:
    """The beginning of a text, at the end of a sentence."""
    at = 0
    for _ in range(most):
        ends = [place for mark in (". ", "! ", "? ") if (place := text.find(mark, at)) >= 0]
        if not ends:
            return text
        at = min(ends) + 2
    return text[:at].rstrip()
