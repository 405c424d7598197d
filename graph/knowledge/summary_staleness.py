"""Which summaries are no longer true to what they were written from, and the graph's copy of all of them.

After a change of few files only those inputs are looked at that come from them; without such knowledge, those of files
that are others than at the last look. A text is never changed here, only marked, and the mark goes when the code is
again what it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from golore.graph.database.projection import Projection, is_projected, project
from golore.graph.database.store import Store
from golore.graph.errors import StoreBusy
from golore.graph.files.knowledge_db import Knowledge, Transaction
from golore.graph.files.manifest import read_manifest
from golore.graph.history.co_change import directory_of
from golore.graph.knowledge.summaries import SummaryRecord, every, record_change, update_doubts
from golore.graph.knowledge.summary_inputs import GraphBehind, InputReader, text_digest
from golore.graph.knowledge.summary_lines import card_paths_of
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import REPOSITORY_ID, Edge, Summary

_NODES = {"symbol": "Symbol", "file": "File", "package": "Package", "repository": "Repository"}
_CHAIN = EdgeKind("SUPERSEDES", "Summary", "Summary")


class StalenessCheck(NamedTuple):
    """How many inputs were looked at, and the cards that say something else now: of files ("dir/file.go"), packages
    ("dir/") or the repository ("")."""

    inputs: int
    card_paths: frozenset[str]


def update_summaries(
    root: Path, store_directory: Path, *, changed: Collection[str] | None = None, wait: float | None = None
) -> StalenessCheck:
    """Mark what has become stale, and bring the graph's copy up to date. `changed`: the files that have, if known."""
    if not Knowledge.exists(store_directory):
        return StalenessCheck(0, frozenset())
    with Knowledge.open(store_directory) as knowledge:
        if not any(True for _ in knowledge.rows("SELECT 1 FROM summaries LIMIT 1")):
            return StalenessCheck(0, frozenset())
        looked = _look(root, store_directory, knowledge, changed)
        _copy(store_directory, knowledge, wait, believes=changed is not None)
    return looked


class _Row(NamedTuple):
    summary: str
    kind: str
    subject: str
    place: str
    now: str


def _look(root: Path, directory: Path, knowledge: Knowledge, changed: Collection[str] | None) -> StalenessCheck:
    places, rows = dict[str, str](), list[_Row]()
    if changed is not None:
        places = dict.fromkeys((*changed, *map(directory_of, changed)), "")
        rows = _inputs_from(knowledge, places)
        if not rows:
            return StalenessCheck(0, frozenset())
    with Store.open(directory, write=False) as store:
        if changed is None:
            places = _other_places(store, knowledge)
            rows = _inputs_from(knowledge, places)
        matter = InputReader(store, root, knowledge)
        now: dict[tuple[str, str], tuple[str, str]] = {}
        unknown: set[str] = set()
        for row in rows:
            try:
                now[row.kind, row.subject] = matter.part(row.kind, row.subject)
            except GraphBehind:
                unknown.add(row.place)
    known = {place: "" if place in unknown else digest for place, digest in places.items()}
    others = [row for row in rows if now.get((row.kind, row.subject), ("", row.now)) != (row.place, row.now)]
    if not others and changed is not None:
        return StalenessCheck(len(now), frozenset())
    with knowledge.transaction() as run:
        told = card_paths_of(run, _note(run, others, now))
        # What was looked at without knowing all of its place is looked at again by who knows.
        run.run_many("INSERT OR REPLACE INTO summary_places VALUES (?, ?)", known.items())
    return StalenessCheck(len(now), frozenset(told))


def _note(run: Transaction, rows: Iterable[_Row], now: dict[tuple[str, str], tuple[str, str]]) -> list[tuple[str, str]]:
    for row in rows:
        if (row.kind, row.subject) in now:
            place, digest = now[row.kind, row.subject]
            run.run(
                "UPDATE summary_parts SET now = ?, place = ? WHERE summary = ? AND kind = ? AND subject = ?",
                (digest, place or row.place, row.summary, row.kind, row.subject),
            )
    told = update_doubts(run, dict.fromkeys(row.summary for row in rows))
    if told:
        record_change(run)
    return told


def _inputs_from(knowledge: Knowledge, places: Iterable[str]) -> list[_Row]:
    statement = "SELECT summary, kind, subject, place, now FROM summary_parts WHERE place = ? ORDER BY 1, 2, 3"
    return [_Row(*row) for place in sorted(places) for row in knowledge.rows(statement, (place,))]


def _other_places(store: Store, knowledge: Knowledge) -> dict[str, str]:
    """The places of inputs whose files are others than at the last look, with the digests of what they hold now."""
    paths, digests = store.columns("MATCH (f:File) RETURN f.id, f.digest")
    now: dict[str, str] = dict(zip(paths, digests, strict=True))
    inside: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(now):
        inside[directory_of(path)].append(f"{path} {now[path]}")
    now.update((place, text_digest("\n".join(held))) for place, held in inside.items())
    wanted = knowledge.rows(
        "SELECT DISTINCT p.place, coalesce(s.digest, '') FROM summary_parts p "
        "LEFT JOIN summary_places s ON s.place = p.place WHERE p.place <> ''"
    )
    return {place: now.get(place, "gone") for place, before in wanted if now.get(place, "gone") != before}


def _copy(directory: Path, knowledge: Knowledge, wait: float | None, *, believes: bool) -> None:
    """Put the summaries into the graph. Where a learn goes on, the next one does it. What was noted of the copy is
    believed after an edit; otherwise the graph is asked, for it may have been brought from elsewhere."""
    manifest = read_manifest(directory)
    state = next(knowledge.rows("SELECT number FROM summary_state"))[0]
    mark = f"{state} {manifest.graph if manifest else ''}"
    is_noted = next(knowledge.rows("SELECT copied FROM summary_state"))[0] == mark
    if is_noted and not believes:
        with Store.open(directory, write=False) as store:
            is_noted = is_projected(store, "Summary", mark)
    if is_noted:
        return
    records = list(every(knowledge))
    edges: defaultdict[EdgeKind, list[Edge]] = defaultdict(list)
    for record in records:
        if record.current and record.doubt != "gone":
            target = record.subject if record.level != "repository" else REPOSITORY_ID
            edges[EdgeKind("SUMMARIZES", "Summary", _NODES[record.level])].append(Edge(record.id, target))
        if record.supersedes:
            edges[_CHAIN].append(Edge(record.id, record.supersedes))
    try:
        project(directory, Projection("Summary", [_node(record) for record in records], edges, mark), wait=wait)
    except StoreBusy:
        return
    with knowledge.transaction() as run:
        run.run("UPDATE summary_state SET copied = ?", (mark,))


def _node(record: SummaryRecord) -> Summary:
    status = "superseded" if not record.current else "gone" if record.doubt == "gone" else "current"
    return Summary(
        record.id,
        record.subject,
        record.level,
        record.text,
        record.quality,
        record.source,
        record.model,
        record.prompt,
        record.inputs,
        record.created,
        status,
        f"{record.doubt}: {record.reason}" if record.doubt else "",
    )
