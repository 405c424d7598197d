"""What a card tells of a file beyond structure: its role, notes, documents, the last change. Collected from the
modules that know; how it is told is `cards`' affair.

A note is quoted, on one line, with who wrote it and when: it is what somebody said, not what golore found. What binds
most comes first, then what was written or confirmed last. A plain note fades: after thirty days it is on no card.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.history.co_change import directory_of
from golore.graph.history.recent_commits import LastCommits
from golore.graph.knowledge.documents import DocumentLines
from golore.graph.knowledge.notes import KINDS, PinnedNote, card_paths, notes_about, notes_at, open_tasks
from golore.graph.knowledge.summary_lines import Roles

FADES_AFTER: Final = timedelta(days=30)
_MOST: Final = 6
_ROOM: Final = 900
"""Characters for notes on a card."""
_LONGEST: Final = 220
_TASKS: Final = 5
_TASK: Final = 160
_SHORT_ID: Final = 10
_BINDING: Final = ("invariant", "decision", "convention")
_FROM_PACKAGE: Final = 2
"""Notes of the package that the card of each of its files shows, too, of these kinds."""


class Annotations(NamedTuple):
    """Each part in the words that the card shows, best first, empty where there is nothing to say."""

    role: str = ""
    """one or two sentences, with the quality of the summary they are from"""
    notes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    recent: str = ""
    more_notes: int = 0
    """that had no room"""


NOTHING = Annotations()


class AnnotationReader:
    """The lore of a store's files ("dir/file.go"), packages ("dir/") and repository (""). Use it as a context manager:
    it keeps open what it reads from."""

    def __init__(self, store_directory: Path, now: datetime | None = None) -> None:
        self._knowledge = Knowledge.open(store_directory) if Knowledge.exists(store_directory) else None
        self._now = now or datetime.now(UTC)
        self._roles = Roles(self._knowledge) if self._knowledge is not None else None
        self._noted = card_paths(self._knowledge) if self._knowledge is not None else set[str]()
        self._documents = DocumentLines(store_directory)
        self._changes = LastCommits(store_directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._documents.close()
        self._changes.close()
        if self._knowledge is not None:
            self._knowledge.close()

    def of(self, place: str) -> Annotations:
        notes, more = self._notes(place)
        role = self._roles.role_of(place) if self._roles is not None else ""
        documents, recent = self._documents.lines_at(place), self._changes.line_at(place)
        return Annotations(role=role, notes=notes, documents=documents, recent=recent, more_notes=more)

    def of_nodes(self, ids: Iterable[str]) -> tuple[str, ...]:
        """All notes about these symbols, packages or files."""
        if self._knowledge is None:
            return ()
        found = in_display_order(notes_about(self._knowledge, tuple(ids)), self._now)
        return tuple(note_line(note, "") for note in found)

    def documents_of(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The documents and examples that name these symbols."""
        return self._documents.lines_of(tuple(ids))

    def tasks(self) -> str:
        """The tasks that are open, for the beginning of a session."""
        tasks = open_tasks(self._knowledge) if self._knowledge is not None else []
        lines = [f"- {note_line(task, '', _TASK)}" for task in tasks[:_TASKS]]
        if len(tasks) > _TASKS:
            lines.append(f"- {len(tasks) - _TASKS:,} more: `golore note --list --kind task`")
        return "\n".join(lines)

    def _notes(self, place: str) -> tuple[tuple[str, ...], int]:
        own = self._at(place)
        around = self._at(directory_of(place)) if place.endswith(".go") else []
        binding = [note for note in around if note.kind in _BINDING and not note.anchor.fate][:_FROM_PACKAGE]
        lines: list[str] = []
        room = _ROOM
        for note in (*own[:_MOST], *binding):
            line = note_line(note, place)
            room -= len(line) + 3
            if room < 0 and lines:
                break
            lines.append(line)
        return tuple(lines), max(0, len(own) - len(lines))

    def _at(self, place: str) -> list[PinnedNote]:
        if self._knowledge is None or place not in self._noted:
            return []
        return in_display_order(notes_at(self._knowledge, place), self._now)


def in_display_order(notes: Iterable[PinnedNote], now: datetime) -> list[PinnedNote]:
    """The notes that still say something: what binds most first, then what is true of the code as it is, then the
    newest."""
    told = [note for note in notes if note.status == "active" and not is_faded(note, now)]
    told.sort(key=lambda note: note.id)
    told.sort(key=lambda note: note.confirmed, reverse=True)
    told.sort(key=lambda note: (KINDS.index(note.kind), bool(note.anchor.drifted)))
    return told


def is_faded(note: PinnedNote, now: datetime) -> bool:
    return note.kind == "note" and now - _time(note.confirmed) >= FADES_AFTER


def note_line(note: PinnedNote, place: str, longest: int = _LONGEST) -> str:
    """A note on one line. On the card of `place` it is said what of that it is about."""
    anchor = note.anchor
    is_plain = anchor.target in (place, place.removesuffix("/")) or anchor.level == "repository"
    about = (
        ""
        if anchor.card_path == place and (is_plain or anchor.level == "package")
        else f" on {short_name(anchor.name)}"
    )
    if anchor.level == "package" and place.endswith(".go"):
        about = " on its package"
    drifted = f", {anchor.drifted}" if anchor.drifted else ""
    who = note.author if note.source in ("", "person", note.author) else f"{note.author}, {note.source}".lstrip(", ")
    when = note.confirmed[:10]
    by = f"{who}, {when}" if who else when
    return f"{note.kind}{about}{drifted} ({by}; {note.id[:_SHORT_ID]}): {quoted(note.text, longest)}"


def quoted(text: str, longest: int) -> str:
    """A text on one line between quotation marks that it cannot close itself."""
    plain = " ".join(text.replace("“", '"').replace("”", '"').split())
    if len(plain) > longest:
        plain = f"{plain[: longest - 1].rstrip()}…"
    return f"“{plain}”"


def short_name(name: str) -> str:
    """A qualified name as code of other packages would write it."""
    return name.rpartition("/")[2] if "." in name.rpartition("/")[2] and not name.endswith(".go") else name


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
