"""What the cards of all files have in common: ranks, histories, and which files are built together.

A plan is made once. It can be saved for processes that each build the cards of one share of the files. All files of a
directory are in the same share, because the card of a package is made of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from golore.graph.cards.page_rank import page_ranks
from golore.graph.cards.related_files import Surroundings, by_directory, history_score, surroundings
from golore.graph.cards.stored_ranks import file_rows, history_from_json
from golore.graph.database.arrow import import_arrow
from golore.graph.database.graph_tables import GraphTables
from golore.graph.history.co_change import FileHistory, History, directory_of, file_histories
from golore.graph.model.edge_kinds import USES, EdgeKind
from golore.graph.queries.file_facts import plain_interfaces

_FILE_WEIGHT: Final = 10
"""What a file adds to the work of its share, in uses of it by other files."""
_BUSY: Final = 5
"""Number of directories that changed most recently, for the card of the repository."""

CARD_NODES: Final[Mapping[str, Sequence[str]]] = {
    "External": ("kind", "name", "id", "package"),
    "File": ("id", "digest", "package", "test", "generated", "origin"),
    "Package": ("id", "path", "name", "dir", "doc", "test"),
    "Repository": ("modules",),
    "Symbol": ("kind", "name", "qualified_name", "file", "line", "exported", "package"),
    "Unresolved": ("file", "name", "sites", "candidates"),
}
"""What cards read of the nodes, apart from the plan."""
CARD_EDGES: Final[Mapping[EdgeKind, Sequence[str]]] = {
    **{EdgeKind(label, "Symbol", "Symbol"): ("sites",) for label in USES},
    EdgeKind("TESTS", "Symbol", "Symbol"): (),
    EdgeKind("IMPLEMENTS", "Symbol", "Symbol"): (),
    EdgeKind("IMPLEMENTS", "Symbol", "External"): ("evidence",),
    EdgeKind("INVOKES", "Symbol", "External"): ("sites",),
}
"""Like `CARD_NODES`, for edges."""
_PLAN_EDGES: Final = (EdgeKind("CONTAINS", "Symbol", "Symbol"), EdgeKind("EMBEDS", "Symbol", "External"))
"""The other edges that the plan is made of."""

RankRow = tuple[str, str, str, float, str]
"""A row for `CardStore.replace_files`: path, directory, stem, rank and encoded history."""


class CardPlan(NamedTuple):
    rows: list[RankRow]
    """all files, also those that are not learned, and their directories"""
    shares: list[list[str]]
    """the learned files, sorted"""
    unlearned: list[str]
    """Go files that the graph does not have, such as those in testdata: their cards have related files, but no text"""
    busy: list[str]
    """the directories that changed most recently"""
    plain: list[int]
    """the numbers of the plain interfaces (see `plain_interfaces`)"""
    ranks: Mapping[str, float]
    coupled: Mapping[str, FileHistory]
    around: Surroundings


class _SavedPlan(msgspec.Struct, array_like=True, gc=False):
    rows: list[RankRow]
    shares: list[list[str]]
    unlearned: list[str]
    busy: list[str]
    plain: list[int]


_decode: Final = msgspec.msgpack.Decoder(_SavedPlan).decode


def make_plan(tables: GraphTables, history: History | None, shares: int = 1) -> CardPlan:
    """The plan for all cards of a graph, whose files are divided into at most so many shares of about the same work."""
    tables.number([*CARD_EDGES, *_PLAN_EDGES])
    files: list[str] = tables.node_columns("File", ("id",))[1]
    uses = uses_between_files(tables)
    ranks = page_ranks(files, uses)
    unlearned = sorted(history.files.difference(files)) if history is not None else []
    all_files = {*files, *unlearned}
    coupled = file_histories(history, all_files)
    rows = file_rows(all_files, by_directory(all_files), ranks, coupled)
    directories = (one for one in coupled.values() if one.path.endswith("/"))
    busy = sorted(directories, key=lambda one: (-one.busy, one.path))[:_BUSY]
    return CardPlan(
        rows,
        _shares(files, uses, shares),
        unlearned,
        [one.path for one in busy],
        sorted(plain_interfaces(tables)),
        ranks,
        coupled,
        surroundings(coupled, all_files),
    )


def save_plan(plan: CardPlan, path: Path) -> None:
    saved = _SavedPlan(plan.rows, plan.shares, plan.unlearned, plan.busy, plan.plain)
    path.write_bytes(msgspec.msgpack.encode(saved))


def load_plan(path: Path) -> CardPlan:
    """A saved plan. Its histories are decoded when they are asked for."""
    saved = _decode(path.read_bytes())
    coupled = _EncodedHistories({row[0]: row[4] for row in saved.rows if row[4]})
    files = [row[0] for row in saved.rows if row[1]]
    ranks = {row[0]: row[3] for row in saved.rows if row[1]}
    around = surroundings(coupled, files, {row[0]: _history_score(row[4]) for row in saved.rows if row[4]})
    return CardPlan(saved.rows, saved.shares, saved.unlearned, saved.busy, saved.plain, ranks, coupled, around)


def _history_score(text: str) -> float:
    """The `history_score` of an encoded history, which begins with "[mass,commits,busy,"."""
    mass, _, busy, _ = text.split(",", 3)
    return history_score(float(mass[1:]), float(busy))


class _EncodedHistories(Mapping[str, FileHistory]):
    """Histories by path, from JSON."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._known: dict[str, FileHistory] = {}

    def __getitem__(self, path: str) -> FileHistory:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = history_from_json(path, self._texts[path])
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def uses_between_files(tables: GraphTables) -> dict[tuple[str, str], int]:
    """(user, used) → number of uses of one file by another."""
    arrow: Any = import_arrow("pyarrow.compute")
    compute = arrow.compute
    numbers, paths = tables.node_columns("Symbol", ("file",))
    names = sorted(set(paths))
    index = {path: at for at, path in enumerate(names)}
    file_of = [0] * (max(numbers, default=-1) + 1)
    for at, path in zip(numbers, paths, strict=True):
        file_of[at] = index[path]
    file_at = arrow.array(file_of, arrow.int64())
    pairs: list[Any] = []
    for label in USES:
        edges = tables.edge_table(EdgeKind(label, "Symbol", "Symbol"))
        if edges is not None:
            user, used = (file_at.take(edges.column(end).combine_chunks()) for end in ("source", "target"))
            pair = compute.add(compute.multiply(user, len(names)), used)
            pairs.append(pair.filter(compute.not_equal(user, used)))
    counted = arrow.chunked_array(pairs, arrow.int64()).value_counts()
    many = len(names)
    return {
        (names[pair // many], names[pair % many]): number
        for pair, number in zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True)
    }


def _shares(files: Collection[str], uses: Mapping[tuple[str, str], int], number: int) -> list[list[str]]:
    """The files by share: directory by directory, the one with the most work first, to the share with the least."""
    if number <= 1 or not files:
        return [sorted(files)]
    work: defaultdict[str, int] = defaultdict(int)
    for path in files:
        work[directory_of(path)] += _FILE_WEIGHT
    for (_, used), count in uses.items():
        work[directory_of(used)] += count
    paths = by_directory(files)
    shares: list[tuple[int, int, list[str]]] = [(0, index, []) for index in range(number)]
    for directory in sorted(paths, key=lambda one: (-work[one], one)):
        done, index, share = min(shares)
        share += paths[directory]
        shares[index] = (done + work[directory], index, share)
    return [sorted(share) for _, _, share in shares if share]
