"""Marks summaries whose inputs have changed since they were written, and updates the graph's copy of all summaries.

If it is known which files have changed, only inputs from those are checked; otherwise inputs from all files that differ
from the last check. A text is never changed here, only marked, and the mark is removed when the code is again what it
was.
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
from golore.graph.files.shared_knowledge import take_received
from golore.graph.history.co_change import directory_of
from golore.graph.knowledge.summaries import LEVELS, SummaryRecord, all_summaries, record_change, update_doubts
from golore.graph.knowledge.summary_inputs import GraphBehind, InputReader, text_digest
from golore.graph.knowledge.summary_lines import card_paths_of
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import REPOSITORY_ID, Edge, Summary

_LABELS = {"symbol": "Symbol", "file": "File", "package": "Package", "repository": "Repository"}
_SUPERSEDES = EdgeKind("SUPERSEDES", "Summary", "Summary")


class StalenessCheck(NamedTuple):
    """The number of inputs that were checked, and the cards whose text is affected: of files ("dir/file.go"), packages
    ("dir/") or the repository ("")."""

    inputs: int
    card_paths: frozenset[str]


def update_summaries(
    root: Path, store_directory: Path, *, changed: Collection[str] | None = None, wait: float | None = None
) -> StalenessCheck:
    """Mark stale summaries, and update the graph's copy. `changed` are the changed files, if they are known."""
    if not Knowledge.exists(store_directory):
        return StalenessCheck(0, frozenset())
    with Knowledge.open(store_directory) as knowledge:
        received = take_received(knowledge, LEVELS)
        if not received and not any(True for _ in knowledge.rows("SELECT 1 FROM summaries LIMIT 1")):
            return StalenessCheck(0, frozenset())
        # Texts from other worktrees may be about code that did not change here.
        check = _check(root, store_directory, knowledge, None if received else changed)
        if received:
            with knowledge.transaction() as run:
                check = StalenessCheck(check.inputs, check.card_paths.union(card_paths_of(run, received)))
        _project_summaries(store_directory, knowledge, wait, trust_state=changed is not None)
    return check


class _InputRow(NamedTuple):
    """A row of `summary_parts`. `source` is its column `place`; `now` is the digest of the input at the last check."""

    summary: str
    kind: str
    subject: str
    source: str
    now: str


def _check(root: Path, directory: Path, knowledge: Knowledge, changed: Collection[str] | None) -> StalenessCheck:
    sources, rows = dict[str, str](), list[_InputRow]()
    if changed is not None:
        sources = dict.fromkeys((*changed, *map(directory_of, changed)), "")
        rows = _rows_from(knowledge, sources)
        if not rows:
            return StalenessCheck(0, frozenset())
    with Store.open(directory, write=False) as store:
        if changed is None:
            sources = _changed_sources(store, knowledge)
            rows = _rows_from(knowledge, sources)
        reader = InputReader(store, root, knowledge)
        now: dict[tuple[str, str], tuple[str, str]] = {}
        unknown: set[str] = set()
        for row in rows:
            try:
                now[row.kind, row.subject] = reader.part(row.kind, row.subject)
            except GraphBehind:
                unknown.add(row.source)
    checked = {source: "" if source in unknown else digest for source, digest in sources.items()}
    differing = [row for row in rows if now.get((row.kind, row.subject), ("", row.now)) != (row.source, row.now)]
    if not differing and changed is not None:
        return StalenessCheck(len(now), frozenset())
    with knowledge.transaction() as run:
        card_paths = card_paths_of(run, _store_digests(run, differing, now))
        # A source whose digest is not known here is stored with an empty one: the next full check reads it again.
        run.run_many("INSERT OR REPLACE INTO summary_places VALUES (?, ?)", checked.items())
    return StalenessCheck(len(now), frozenset(card_paths))


def _store_digests(
    run: Transaction, rows: Iterable[_InputRow], now: dict[tuple[str, str], tuple[str, str]]
) -> list[tuple[str, str]]:
    """Store the current digests of inputs. Returns level and subject of the summaries whose doubt changed."""
    for row in rows:
        if (row.kind, row.subject) in now:
            source, digest = now[row.kind, row.subject]
            run.run(
                "UPDATE summary_parts SET now = ?, place = ? WHERE summary = ? AND kind = ? AND subject = ?",
                (digest, source or row.source, row.summary, row.kind, row.subject),
            )
    changed = update_doubts(run, dict.fromkeys(row.summary for row in rows))
    if changed:
        record_change(run)
    return changed


def _rows_from(knowledge: Knowledge, sources: Iterable[str]) -> list[_InputRow]:
    statement = "SELECT summary, kind, subject, place, now FROM summary_parts WHERE place = ? ORDER BY 1, 2, 3"
    return [_InputRow(*row) for source in sorted(sources) for row in knowledge.rows(statement, (source,))]


def _changed_sources(store: Store, knowledge: Knowledge) -> dict[str, str]:
    """The sources of inputs (files and directories) that differ from the last check, with their current digests."""
    paths, digests = store.columns("MATCH (f:File) RETURN f.id, f.digest")
    now: dict[str, str] = dict(zip(paths, digests, strict=True))
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(now):
        files[directory_of(path)].append(f"{path} {now[path]}")
    now.update((directory, text_digest("\n".join(lines))) for directory, lines in files.items())
    stored = knowledge.rows(
        "SELECT DISTINCT p.place, coalesce(s.digest, '') FROM summary_parts p "
        "LEFT JOIN summary_places s ON s.place = p.place WHERE p.place <> ''"
    )
    return {source: now.get(source, "gone") for source, before in stored if now.get(source, "gone") != before}


def _project_summaries(directory: Path, knowledge: Knowledge, wait: float | None, *, trust_state: bool) -> None:
    """Copy the summaries into the graph. If a learn is running, the next learn does it instead. With `trust_state`, the
    state in `knowledge.db` decides whether the copy is current; otherwise the graph is asked, too, since it may have
    been brought from elsewhere."""
    manifest = read_manifest(directory)
    state = next(knowledge.rows("SELECT number FROM summary_state"))[0]
    mark = f"{state} {manifest.graph if manifest else ''}"
    is_copied = next(knowledge.rows("SELECT copied FROM summary_state"))[0] == mark
    if is_copied and not trust_state:
        with Store.open(directory, write=False) as store:
            is_copied = is_projected(store, "Summary", mark)
    if is_copied:
        return
    records = list(all_summaries(knowledge))
    edges: defaultdict[EdgeKind, list[Edge]] = defaultdict(list)
    for record in records:
        if record.current and record.doubt != "gone":
            target = record.subject if record.level != "repository" else REPOSITORY_ID
            edges[EdgeKind("SUMMARIZES", "Summary", _LABELS[record.level])].append(Edge(record.id, target))
        if record.supersedes:
            edges[_SUPERSEDES].append(Edge(record.id, record.supersedes))
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
