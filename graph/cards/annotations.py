"""Annotations: what a card shows beyond structure, namely the role, notes, documents and the last commit.

A note is quoted on one line, with its author and date: it is what somebody said, not what golore found. The
most binding kinds come first, then the notes that were written or confirmed last. A note of kind `note` fades: after
thirty days it is no longer shown on cards.
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
from golore.graph.knowledge.summary_lines import RoleLines
from golore.graph.queries.names.short_names import Naming, assumed_short_name
from golore.graph.safety.visible_text import visible_line

FADES_AFTER: Final = timedelta(days=30)
_MOST: Final = 6
_ROOM: Final = 900
"""Most characters of all notes on a card."""
_LONGEST: Final = 220
"""Most characters of the text of one note."""
_TASKS: Final = 5
_TASK: Final = 160
"""Like `_LONGEST`, for tasks."""
_SHORT_ID: Final = 10
_BINDING: Final = ("invariant", "decision", "convention")
_FROM_PACKAGE: Final = 2
"""Most notes of the package, of the kinds in `_BINDING`, that the card of each of its files shows too."""


class Annotations(NamedTuple):
    """The texts as the card shows them, best first; empty where there is nothing to say."""

    role: str = ""
    """one or two sentences, with the quality of the summary that they come from"""
    notes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    recent: str = ""
    more_notes: int = 0
    """the number of notes that did not fit"""


NO_ANNOTATIONS = Annotations()


class AnnotationReader:
    """Reads the annotations of files ("dir/file.go"), packages ("dir/") and the repository (""). Use it as a context
    manager: it keeps its sources open."""

    def __init__(self, store_directory: Path, now: datetime | None = None, naming: Naming = assumed_short_name) -> None:
        self._naming = naming
        self._knowledge = Knowledge.open(store_directory) if Knowledge.exists(store_directory) else None
        self._now = now or datetime.now(UTC)
        self._roles = RoleLines(self._knowledge) if self._knowledge is not None else None
        self._paths_with_notes = card_paths(self._knowledge) if self._knowledge is not None else set[str]()
        self._documents = DocumentLines(store_directory)
        self._last_commits = LastCommits(store_directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._documents.close()
        self._last_commits.close()
        if self._knowledge is not None:
            self._knowledge.close()

    def annotations_at(self, card_path: str) -> Annotations:
        notes, more = self._notes(card_path)
        role = self._roles.role_of(card_path) if self._roles is not None else ""
        documents, recent = self._documents.lines_at(card_path), self._last_commits.line_of(card_path)
        return Annotations(role=role, notes=notes, documents=documents, recent=recent, more_notes=more)

    def note_lines_of(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The lines of all active notes about these symbols, packages or files that have not faded."""
        if self._knowledge is None:
            return ()
        found = in_display_order(notes_about(self._knowledge, tuple(ids)), self._now)
        return tuple(note_line(note, "", naming=self._naming) for note in found)

    def documents_of(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The lines of documents and examples that name these symbols."""
        return self._documents.lines_of(tuple(ids))

    def tasks(self) -> str:
        """The open tasks as lines of text, for the start of a session."""
        tasks = open_tasks(self._knowledge) if self._knowledge is not None else []
        lines = [f"- {note_line(task, '', _TASK, self._naming)}" for task in tasks[:_TASKS]]
        if len(tasks) > _TASKS:
            lines.append(f"- {len(tasks) - _TASKS:,} more: `golore note --list --kind task`")
        return "\n".join(lines)

    def _notes(self, card_path: str) -> tuple[tuple[str, ...], int]:
        own = self._notes_at(card_path)
        package_notes = self._notes_at(directory_of(card_path)) if card_path.endswith(".go") else []
        binding = [note for note in package_notes if note.kind in _BINDING and not note.anchor.fate][:_FROM_PACKAGE]
        lines: list[str] = []
        room = _ROOM
        for note in (*own[:_MOST], *binding):
            line = note_line(note, card_path, naming=self._naming)
            room -= len(line) + 3
            if room < 0 and lines:
                break
            lines.append(line)
        return tuple(lines), max(0, len(own) - len(lines))

    def _notes_at(self, card_path: str) -> list[PinnedNote]:
        if self._knowledge is None or card_path not in self._paths_with_notes:
            return []
        return in_display_order(notes_at(self._knowledge, card_path), self._now)


def in_display_order(notes: Iterable[PinnedNote], now: datetime) -> list[PinnedNote]:
    """The active notes that have not faded: the most binding kinds first, then notes whose code has not drifted, then
    the newest."""
    shown = [note for note in notes if note.status == "active" and not is_faded(note, now)]
    shown.sort(key=lambda note: note.id)
    shown.sort(key=lambda note: note.confirmed, reverse=True)
    shown.sort(key=lambda note: (KINDS.index(note.kind), bool(note.anchor.drifted)))
    return shown


def is_faded(note: PinnedNote, now: datetime) -> bool:
    """Whether a note of kind `note` was last confirmed at least `FADES_AFTER` ago."""
    return note.kind == "note" and now - _time(note.confirmed) >= FADES_AFTER


def note_line(note: PinnedNote, card_path: str, longest: int = _LONGEST, naming: Naming = assumed_short_name) -> str:
    """A note on one line. It says which code the note is about, unless that is the subject of the card itself."""
    anchor = note.anchor
    is_plain = anchor.target in (card_path, card_path.removesuffix("/")) or anchor.level == "repository"
    about = (
        ""
        if anchor.card_path == card_path and (is_plain or anchor.level == "package")
        else f" on {naming(anchor.name)}"
    )
    if anchor.level == "package" and card_path.endswith(".go"):
        about = " on its package"
    drifted = f", {anchor.drifted}" if anchor.drifted else ""
    who = note.author if note.source in ("", "person", note.author) else f"{note.author}, {note.source}".lstrip(", ")
    when = note.confirmed[:10]
    by = f"{who}, {when}" if who else when
    head = visible_line(f"{note.kind}{about}{drifted} ({by}; {note.id[:_SHORT_ID]})")
    return f"{head}: {quoted(note.text, longest)}"


def quoted(text: str, longest: int) -> str:
    """The text on one line, at most `longest` characters, in quotation marks that it cannot close itself."""
    plain = visible_line(" ".join(text.replace("“", '"').replace("”", '"').split()))
    if len(plain) > longest:
        plain = f"{plain[: longest - 1].rstrip()}…"
    return f"“{plain}”"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
