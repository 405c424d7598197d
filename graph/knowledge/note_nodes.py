"""Notes as nodes of the graph, for queries and exports: a copy of what is in `knowledge.db` (see `projection`).

Only notes that have changed since the last projection are compared with the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from golore.graph.database.projection import Projection, project_from_stored_key, projection_key
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import PinnedNote, revision_of, successions, written_since
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Note

_LABELS: Final = {"symbol": "Symbol", "file": "File", "package": "Package", "repository": "Repository"}
_SUPERSEDES: Final = EdgeKind("SUPERSEDES", "Note", "Note")


def describes(level: str) -> EdgeKind:
    return EdgeKind("DESCRIBES", "Note", _LABELS[level])


def project_notes(store_directory: Path, *, wait: float | None = None) -> int:
    """Update the graph's copy and return the number of rows written. Raises `StoreBusy` as `project` does."""
    with Knowledge.open(store_directory) as knowledge:
        return project_from_stored_key(store_directory, "Note", lambda mark: _projection(knowledge, mark), wait=wait)


def are_projected(store: Store, knowledge: Knowledge) -> bool:
    """Whether the graph's copy has all notes as they are now."""
    return projection_key(store, "Note") == str(revision_of(knowledge))


def without_edge(store: Store, notes: Collection[PinnedNote], *, few: bool) -> set[str]:
    """The ids of the notes that have no edge to their target in the graph. An edge is deleted with its code, and the
    code may have come back since. With `few`, one query per note; otherwise all edges are read."""
    if few:
        statement = "MATCH (n:Note {id: $id})-[:DESCRIBES]->(b) RETURN b.id"
        found = {note.id: [row[0] for row in store.rows(statement, {"id": note.id})] for note in notes}
        return {note.id for note in notes if note.anchor.target not in found[note.id]}
    pairs: set[tuple[str, str]] = set()
    for label in _LABELS.values():
        rows = store.rows(f"MATCH (n:Note)-[:DESCRIBES]->(b:{label}) RETURN n.id, b.id")
        pairs.update((row[0], row[1]) for row in rows)
    return {note.id for note in notes if (note.id, note.anchor.target) not in pairs}


def _projection(knowledge: Knowledge, mark: str) -> Projection:
    since = int(mark) if mark.isdecimal() else None
    now = revision_of(knowledge)
    if since is not None and since > now:  # knowledge.db was reset to an earlier state
        since = None
    notes, forgotten = written_since(knowledge, -1 if since is None else since)
    ids = None if since is None else {*(note.id for note in notes), *forgotten}
    return Projection("Note", [_node(note) for note in notes], _edges(knowledge, notes), str(now), ids)


def _node(note: PinnedNote) -> Note:
    return Note(
        note.id,
        note.kind,
        note.text,
        note.subject,
        note.author,
        note.source,
        note.created,
        note.tags,
        note.status,
        note.anchor.drifted,
    )


def _edges(knowledge: Knowledge, notes: Iterable[PinnedNote]) -> dict[EdgeKind, list[Edge]]:
    edges: defaultdict[EdgeKind, list[Edge]] = defaultdict(list)
    older: defaultdict[str, list[str]] = defaultdict(list)
    for newer, old in successions(knowledge):
        older[newer].append(old)
    for note in notes:
        anchor = note.anchor
        edges[describes(anchor.level)].append(Edge(note.id, anchor.target, evidence=anchor.evidence))
        edges[_SUPERSEDES] += [Edge(note.id, other) for other in older[note.id]]
    return edges
