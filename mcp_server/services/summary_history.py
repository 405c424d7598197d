"""The summary of a symbol, file, package or the repository as people see it, and the ones it has superseded.

Where nobody has written one, what is composed from the graph is shown, and said to be that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import SummaryRecord, current, history
from golore.graph.knowledge.summary_lines import doubtful_children
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.queries.name_resolver import Names
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.text import answer_text
from golore.mcp_server.text.output import plain, print_json, print_lines, styled

STRUCTURAL: Final = "structural"
_WHOLE: Final = frozenset((".", "./", "/"))


def run_history(text: str, start: Path, *, as_json: bool) -> int:
    """All texts about something, newest first."""
    repository = find_repository(start)
    with open_current_store(repository) as store:
        found = subject_of(store, text)
        if found is None:
            print("\n".join(answer_text.not_one_lines(Names(store).find(text))), file=sys.stderr)
            return 1
        composed = structural_summary(store, *found)
    records = _history(repository.store, *found)
    if as_json:
        document = [{**plain(record), "standing": record.standing} for record in records]
        print_json({"level": found[0], "subject": found[1], "structural": composed, "history": document})
    else:
        print_lines(_lines(found, composed, records))
    return 0


def subject_of(store: Store, text: str) -> tuple[str, str] | None:
    """The level and the id of what a text names; None where it names no one thing."""
    if text in _WHOLE:
        return "repository", REPOSITORY_ID
    bare = text.removeprefix("./").rstrip("/")
    for (id,) in store.rows("MATCH (f:File {id: $id}) RETURN f.id", {"id": bare}):
        return "file", id
    statement = "MATCH (p:Package) WHERE (p.path = $name OR p.dir = $name) AND NOT p.test RETURN p.id ORDER BY p.id"
    for (id,) in store.rows(statement, {"name": bare}):
        return "package", id
    meanings = Names(store).find(text).meanings
    if len(meanings) == 1 and not meanings[0].first.external:
        return "symbol", meanings[0].first.id
    return None


def summary_of(store: Store, level: str, subject: str) -> tuple[str, str]:
    """The quality and the words of the summary that counts."""
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge:
            found = current(knowledge, level, subject)
            if found is not None:
                return _standing(knowledge, found), found.text
    return STRUCTURAL, structural_summary(store, level, subject)


def symbol_summaries(store: Store, ids: Iterable[str]) -> list[dict[str, Any]]:
    told = ((id, *summary_of(store, "symbol", id)) for id in ids)
    return [{"subject": id, "quality": quality, "text": text} for id, quality, text in told if text]


def _standing(knowledge: Knowledge, found: SummaryRecord) -> str:
    weak = doubtful_children(knowledge, found)
    return f"{found.standing}; {weak:,} of the summaries it was written from in doubt" if weak else found.standing


def _history(directory: Path, level: str, subject: str) -> list[SummaryRecord]:
    if not Knowledge.exists(directory):
        return []
    with Knowledge.open(directory) as knowledge:
        return history(knowledge, level, subject)


def _lines(found: tuple[str, str], composed: str, records: list[SummaryRecord]) -> list[str]:
    lines = [styled(f"{found[0]} {found[1]}", "bold")]
    for record in records:
        by = record.model or record.source
        superseded = "" if record.current else ", superseded"
        lines += [f"{record.created}  {record.standing}{superseded}, by {by}", f"  {record.text}"]
    return [*lines, f"{STRUCTURAL}, from the graph", f"  {composed}"]
