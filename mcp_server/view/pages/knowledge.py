"""The knowledge page: notes, open tasks, decision records and documents; what is stale comes first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import KINDS, PinnedNote, all_notes
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_MOST: Final = 500
_TASK: Final = "task"
_FOLDED: Final = 12
"""More documents than this in a directory below the root are folded."""


class NoteRow(NamedTuple):
    id: str
    kind: str
    text: str
    subject: str
    address: str
    drifted: str
    by: str
    tags: tuple[str, ...]


def knowledge_page(visit: Visit) -> Page:
    notes = [note for note in _notes(visit) if note.status == "active"]
    notes.sort(
        key=lambda note: (KINDS.index(note.kind) if note.kind in KINDS else len(KINDS), note.created), reverse=False
    )
    stale = [note for note in notes if note.anchor.drifted]
    fresh = [note for note in notes if not note.anchor.drifted]
    groups = [
        ("Stale: the code has changed since", stale),
        ("Open tasks", [note for note in fresh if note.kind == _TASK]),
        *((f"{kind.capitalize()}s", [note for note in fresh if note.kind == kind]) for kind in KINDS if kind != _TASK),
    ]
    records, documents = _documents(visit)
    values: dict[str, Any] = {
        "groups": [(title, len(found), _rows(visit, found[:_MOST])) for title, found in groups if found],
        "count": len(notes),
        "records": records,
        "documents": _by_directory(documents),
        "document_count": len(documents),
    }
    return Page("knowledge.html", "Knowledge", values, "knowledge")


def _notes(visit: Visit) -> list[PinnedNote]:
    directory = visit.opened.repository.store
    if not Knowledge.exists(directory):
        return []
    with Knowledge.open(directory) as knowledge:
        return all_notes(knowledge)


def _rows(visit: Visit, notes: Sequence[PinnedNote]) -> list[NoteRow]:
    return [
        NoteRow(
            note.id,
            note.kind,
            note.text,
            _subject(visit, note),
            _address(visit, note),
            note.anchor.drifted,
            f"{note.author}, {note.confirmed[:10]}" if note.author else note.confirmed[:10],
            note.tags,
        )
        for note in notes
    ]


def _subject(visit: Visit, note: PinnedNote) -> str:
    anchor = note.anchor
    return visit.short_text(anchor.name) if anchor.level == "symbol" else anchor.name


def _address(visit: Visit, note: PinnedNote) -> str:
    anchor = note.anchor
    if anchor.level == "symbol":
        return visit.links.symbol(anchor.target)
    if anchor.level == "file":
        return visit.links.file(anchor.target)
    if anchor.level == "package":
        return visit.links.map(anchor.card_path.rstrip("/").removeprefix("."))
    return visit.links.page("")


def _documents(visit: Visit) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, int]]]:
    """Decision records: title, status and address. Other documents: path, address and number of sections; those that
    are nearest to the root first."""
    records: list[tuple[str, str, str]] = []
    sections: defaultdict[str, int] = defaultdict(int)
    statement = "MATCH (d:Doc) RETURN d.path, d.title, d.line, d.record, d.status ORDER BY d.path, d.line"
    recorded: set[str] = set()
    for path, title, line, is_record, status in visit.store.rows(statement):
        if is_record and path not in recorded:
            recorded.add(path)
            records.append((title or path, status, visit.links.file(path, line)))
        sections[path] += 1
    others = [(path, visit.links.file(path), number) for path, number in sections.items() if path not in recorded]
    return records, sorted(others, key=lambda one: (one[0].count("/"), one[0]))[:_MOST]


def _by_directory(documents: list[tuple[str, str, int]]) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """The documents of directories with many, which are folded: directory and documents; all others together first,
    without a directory."""
    numbers = Counter(path.rpartition("/")[0] for path, *_ in documents)
    groups: dict[str, list[tuple[str, str, int]]] = {"": []}
    for one in documents:
        directory = one[0].rpartition("/")[0]
        groups.setdefault(directory if numbers[directory] > _FOLDED else "", []).append(one)
    return [(directory, found) for directory, found in groups.items() if found]
