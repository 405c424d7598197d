"""Counts what the store contains, and keeps the counts beside the graph until it changes.

Counting reads all edges, which takes longer than everything else in a learn that finds nothing to do.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from golore.graph.database.arrow_spool import spooled_rows
from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.store import Store
from golore.graph.files.atomic_write import replace_file
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_PROPERTIES
from golore.graph.model.entities import SYMBOL_KINDS, File, Node, Symbol, Unresolved
from golore.graph.queries.answers import StoreCounts
from golore.graph.safety.regular_file import read_regular

_NAME: Final = "counts"
_MAX_BYTES: Final = 1 << 16


class _Kept(msgspec.Struct, frozen=True):
    generation: str
    """the `Store.generation` of the graph that was counted"""
    counts: StoreCounts


def count_store(store: Store) -> StoreCounts:
    """Count what the store contains. Does not open the graph if it was counted before."""
    kept = _kept(store.directory)
    if kept is not None and kept.generation == store.generation_on_disk:
        return kept.counts
    counts = count_all(store)
    _keep(store.directory, _Kept(store.generation, counts))
    return counts


def count_rows(directory: Path, more: MoreRows) -> StoreCounts:
    """Count the rows that a `BulkLoad` has collected in a directory, with those that are made from them."""
    kinds = Counter(_spooled(directory, "Symbol", "kind"))
    files, problems = _spooled(directory, "File", "lines"), _spooled(directory, "File", "problems")
    sites = _spooled(directory, "Unresolved", "sites")
    edges = Counter[str]()
    for kind in EDGE_KINDS:
        rows = spooled_rows(directory, kind)
        edges[kind.label] += (0 if rows is None else rows.num_rows) + len(more.edges.get(kind, ()))
    return StoreCounts(
        packages=len(_spooled(directory, "Package", "id")),
        files=len(files),
        lines=sum(files),
        symbols={kind: kinds[kind] for kind in SYMBOL_KINDS if kind in kinds},
        edges={label: edges[label] for label in EDGE_PROPERTIES},
        externals=len(_spooled(directory, "External", "id")),
        unresolved=len(sites),
        unresolved_sites=sum(text.count(" ") + 1 for text in sites),
        files_with_problems=sum(1 for found in problems if found),
    )


def _spooled(directory: Path, label: str, column: str) -> list[Any]:
    rows = spooled_rows(directory, label)
    return [] if rows is None else rows.column(column).to_pylist()


def keep_counts(store: Store, counts: StoreCounts) -> None:
    """Keep the counts of the graph that was just loaded, so that nobody has to read it for them."""
    _keep(store.directory, _Kept(store.generation_on_disk, counts))


def apply_and_count(store: Store, delta: GraphDelta) -> None:
    """Apply a delta, and change the kept counts with it, if they are of the graph before it.

    Not if nodes are removed: their edges go with them, and the delta need not list those.
    """
    kept = _kept(store.directory)
    is_known = (
        kept is not None
        and kept.generation == store.generation_on_disk
        and not any(delta.nodes_removed.values())
        and all(row[0] in delta.nodes_before[label] for label, rows in delta.nodes_changed.items() for row in rows)
    )
    store.apply(delta)
    if kept is not None and is_known:
        _keep(store.directory, _Kept(store.generation_on_disk, _changed(kept.counts, delta)))


def _changed(counts: StoreCounts, delta: GraphDelta) -> StoreCounts:
    changes = Counter[str]()
    for label, rows in delta.nodes_added.items():
        for row in rows:
            _tally(changes, label, row, 1)
    for label, rows in delta.nodes_changed.items():
        for row in rows:
            _tally(changes, label, delta.nodes_before[label][row[0]], -1)
            _tally(changes, label, row, 1)
    for kind, added in delta.edges_added.items():
        changes[kind.label] += len(added)
    for kind, removed in delta.edges_removed.items():
        changes[kind.label] -= len(removed)
    kinds = {kind: counts.symbols.get(kind, 0) + changes[kind] for kind in SYMBOL_KINDS}
    return StoreCounts(
        packages=counts.packages + changes["Package"],
        files=counts.files + changes["File"],
        lines=counts.lines + changes["lines"],
        symbols={kind: number for kind, number in kinds.items() if number},
        edges={label: number + changes[label] for label, number in counts.edges.items()},
        externals=counts.externals + changes["External"],
        unresolved=counts.unresolved + changes["Unresolved"],
        unresolved_sites=counts.unresolved_sites + changes["sites"],
        files_with_problems=counts.files_with_problems + changes["problems"],
    )


def _tally(changes: Counter[str], label: str, row: Node, number: int) -> None:
    changes[label] += number
    match row:
        case File():
            changes["lines"] += number * row.lines
            changes["problems"] += number * bool(row.problems)
        case Symbol():
            changes[row.kind] += number
        case Unresolved():
            changes["sites"] += number * len(row.sites)
        case _:
            pass


def _kept(directory: Path) -> _Kept | None:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(read_regular(directory / _NAME, _MAX_BYTES), type=_Kept)
    return None


def _keep(directory: Path, kept: _Kept) -> None:
    with suppress(OSError):  # a store that is not writable
        replace_file(directory / _NAME, msgspec.json.encode(kept))


def count_all(store: Store) -> StoreCounts:
    """Count by reading the whole graph."""
    kinds = {row[0]: row[1] for row in store.rows("MATCH (s:Symbol) RETURN s.kind, count(*)")}
    (files, lines), *_ = store.rows("MATCH (f:File) RETURN count(*), sum(f.lines)")
    (sites,), *_ = store.rows("MATCH (u:Unresolved) RETURN sum(size(string_split(u.sites, ' ')))")
    return StoreCounts(
        packages=_count(store, "(n:Package)"),
        files=files,
        lines=int(lines or 0),
        symbols={kind: kinds[kind] for kind in SYMBOL_KINDS if kind in kinds},
        edges={label: _count(store, f"()-[e:{label}]->()") for label in EDGE_PROPERTIES},
        externals=_count(store, "(n:External)"),
        unresolved=_count(store, "(n:Unresolved)"),
        unresolved_sites=int(sites or 0),
        files_with_problems=_count(store, "(f:File) WHERE size(f.problems) > 0"),
    )


def _count(store: Store, pattern: str) -> int:
    return next(iter(store.rows(f"MATCH {pattern} RETURN count(*)")))[0]
