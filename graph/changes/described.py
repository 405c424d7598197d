"""What to look at after a change besides code: notes and documents about it, and files that usually change with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from golore.graph.database.store import Store

FEWEST_SHARED: Final = 3
"""Commits that two files must have in common."""
SMALLEST_SHARE: Final = 0.5
"""Share of the commits of the changed file that changed the other file, too."""


@dataclass(frozen=True, slots=True)
class Description:
    """A note, a decision or a section of a document about changed code. `subject` is that code."""

    kind: str
    text: str
    place: str
    subject: str


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that is not in the change, although most commits that changed `changed` changed it, too."""

    file: str
    changed: str
    shared: int
    commits: int


def descriptions(store: Store, symbols: Collection[str], files: Collection[str]) -> tuple[Description, ...]:
    """The notes and documents about these symbols and files."""
    found: dict[tuple[str, str], Description] = {}
    for label, ids in (("Symbol", symbols), ("File", files)):
        for id in ids:
            end = f"(b:{label} {{id: $id}})"
            statement = f"MATCH {end}<-[:DESCRIBES]-(n:Note) WHERE n.status = 'active' RETURN n.id, n.kind, n.text"
            for note, kind, text in store.rows(statement, {"id": id}):
                found.setdefault(("note", note), Description(kind, text, note, id))
            statement = f"MATCH {end}<-[:DESCRIBES]-(d:Doc) RETURN d.id, d.record, d.title, d.path, d.line"
            for section, is_record, title, path, line in store.rows(statement, {"id": id}):
                kind = "decision record" if is_record else "document"
                found.setdefault(("doc", section), Description(kind, title, f"{path}:{line}", id))
    return tuple(sorted(found.values(), key=lambda one: (one.kind == "document", one.kind, one.place)))


def companions(store: Store, files: Collection[str]) -> tuple[Companion, ...]:
    """The files that usually change with these and are not among them, the surest first."""
    best: dict[str, Companion] = {}
    for file in sorted(files):
        for other, shared, commits in companion_pairs(store, file):
            known = best.get(other)
            is_usual = shared >= FEWEST_SHARED and shared >= SMALLEST_SHARE * commits
            if is_usual and other not in files and (known is None or shared * known.commits > known.shared * commits):
                best[other] = Companion(other, file, shared, commits)
    return tuple(sorted(best.values(), key=lambda one: (-one.shared / one.commits, -one.shared, one.file)))


def companion_pairs(store: Store, file: str) -> list[tuple[str, int, int]]:
    """The files that changed with a file, how often, and how often the file itself changed."""
    found: list[tuple[str, int, int]] = []
    for pattern, own in (
        ("(a:File {id: $id})-[e:CHANGES_WITH]->(b:File)", 0),
        ("(a:File {id: $id})<-[e:CHANGES_WITH]-(b:File)", 1),
    ):
        for other, evidence in store.rows(f"MATCH {pattern} RETURN b.id, e.evidence", {"id": file}):
            shared, _, totals = evidence.partition(" of ")
            found.append((other, int(shared), int(totals.split(", ")[own])))
    return found
