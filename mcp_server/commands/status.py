"""`golore status`: prints what the store contains and which files have changed since the last learn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.manifest import read_manifest
from golore.graph.knowledge.summaries import answer_counts, summary_counts
from golore.graph.phrases import counted
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.store_counts import count_store
from golore.learner.checkout.freshness import Changes, changes_since, changes_since_graph
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.text.output import columns, print_answer, print_json, styled

_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class FileProblem:
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    root: Path
    store: Path
    golore: str
    engine: str
    learned_at: str
    size_bytes: int
    counts: StoreCounts
    problems: tuple[FileProblem, ...]
    changes: Changes
    up_to_date: bool
    cards: int
    history: str
    """The last commit of the git history that the cards use; empty if they use none."""
    summaries: dict[str, int]
    """The number of current summaries by level and quality, and how many of them are stale, suspect or gone."""
    drafting: dict[str, int]
    """The number of answers of models so far: received, with each kind of problem, kept and refused."""


def run_status(start: Path, *, as_json: bool) -> int:
    status = status_of(find_repository(start))
    if as_json:
        print_json(status)
    else:
        print_answer(_lines(status))
    return 0


def status_of(repository: LearnedRepository) -> Status:
    manifest = read_manifest(repository.store)
    with Store.open(repository.store, write=False) as store:
        counts = count_store(store)
        rows = store.rows("MATCH (f:File) WHERE size(f.problems) > 0 RETURN f.path, f.problems ORDER BY f.path")
        problems = tuple(FileProblem(path, message) for path, messages in rows for message in messages)
        changes = changes_since(repository.root, store)
        if changes is None:
            changes = changes_since_graph(repository.root, store)
    sizes = [path.stat() for path in repository.store.iterdir() if path.is_file()]
    graphs = [path.stat().st_mtime for path in repository.store.glob("graph-*.db*")]
    return Status(
        repository.root,
        repository.store,
        manifest.golore if manifest else "",
        manifest.engine if manifest else "",
        datetime.fromtimestamp(max(graphs, default=0), UTC).isoformat(timespec="seconds"),
        sum(size.st_size for size in sizes),
        counts,
        problems,
        changes,
        len(changes) == 0,
        *_cards(repository.store),
        *_summaries(repository.store),
    )


def _cards(store: Path) -> tuple[int, str]:
    card_store = open_card_store(store, write=False)
    if card_store is None:
        return 0, ""
    with card_store:
        return sum(1 for _ in card_store.paths()), (card_store.meta("history") or b"").decode()


def _summaries(store: Path) -> tuple[dict[str, int], dict[str, int]]:
    if not Knowledge.exists(store):
        return {}, {}
    with Knowledge.open(store) as knowledge:
        return summary_counts(knowledge), answer_counts(knowledge)


def _lines(status: Status) -> list[str]:
    counts = status.counts
    rows = [
        ("packages", f"{counts.packages:,}"),
        ("files", f"{counts.files:,} ({counts.lines:,} lines)"),
        ("symbols", f"{sum(counts.symbols.values()):,} ({_listed(counts.symbols)})"),
        ("edges", f"{sum(counts.edges.values()):,} ({_listed(counts.edges)})"),
        ("externals", f"{counts.externals:,}"),
        ("unresolved", counted(counts.unresolved_sites, "site")),
        ("cards", f"{status.cards:,}, {_history(status.history)}"),
        ("summaries", f"{_listed(status.summaries)}, not counting structural ones"),
        *([("answers", _listed(status.drafting))] if status.drafting else []),
        ("problems", f"{len(status.problems):,} in {counted(counts.files_with_problems, 'file')}"),
        ("store", f"{status.store} ({status.size_bytes / 1e6:,.1f} MB, {status.engine}, golore {status.golore})"),
        ("learned", status.learned_at),
    ]
    lines = [styled(str(status.root), "bold"), *columns(rows)]
    lines += [f"  {problem.file}: {problem.message}" for problem in status.problems[:_LISTED]]
    changes = status.changes
    if not len(changes):
        return [*lines, styled("Up to date with the files.", "green")]
    lines.append(styled(f"Behind the files: {counted(len(changes), 'file')} changed. Run `golore learn`.", "yellow"))
    listed = [
        (how, path)
        for how, paths in (("added", changes.added), ("edited", changes.edited), ("deleted", changes.deleted))
        for path in paths
    ]
    lines += columns(listed[:_LISTED])
    if len(listed) > _LISTED:
        lines.append(f"  and {len(listed) - _LISTED:,} more")
    return lines


def _history(head: str) -> str:
    return f"with git's history up to {head[:12]}" if head else "without git's history"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.lower()} {count:,}" for name, count in counts.items() if count) or "none"
