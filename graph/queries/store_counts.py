"""Counts what the store contains, and keeps the counts beside the graph until it changes.

Counting reads all edges, which takes longer than everything else in a learn that finds nothing to do.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec
from golore.graph.database.store import Store
from golore.graph.files.atomic_write import replace_file
from golore.graph.model.edge_kinds import EDGE_PROPERTIES
from golore.graph.model.entities import SYMBOL_KINDS
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
    path = store.directory / _NAME
    with suppress(OSError, msgspec.MsgspecError):
        kept = msgspec.json.decode(read_regular(path, _MAX_BYTES), type=_Kept)
        if kept.generation == store.generation_on_disk:
            return kept.counts
    counts = _count_all(store)
    with suppress(OSError):  # a store that is not writable
        replace_file(path, msgspec.json.encode(_Kept(store.generation, counts)))
    return counts


def _count_all(store: Store) -> StoreCounts:
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
