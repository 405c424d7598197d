"""Builds the adjacency file from the graph.

Reading a graph of a million edges takes seconds, and memory that a server should not keep, so that it is done in a
process of its own (see `graph.changes.program_builder`). It gives up as soon as a writer appears, as any reader should;
until the file exists, searches query the graph itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from golore.graph.database.store import Store
from golore.graph.files import locks
from golore.graph.gc_pause import gc_disabled
from golore.graph.model.edge_kinds import EDGE_KINDS, STEPS
from golore.graph.queries.adjacency_file import NO_TEXT, Parts, write_adjacency

_SYMBOL: Final = (
    "s.id, offset(id(s)), s.kind, s.name, s.qualified_name, s.package, s.file, s.line, s.owner, s.end_line, s.start, "
    "s.`end`, s.doc"
)
_EXTERNAL: Final = "e.id, offset(id(e)), e.kind, e.name, e.package, e.source"
_CONVERSIONS: Final = "MATCH (:Symbol)-[e:CONVERTS]->(b:Symbol) RETURN DISTINCT offset(id(b)), e.evidence"
_Ends = tuple[list[int], list[int]]


class _Interrupted(Exception):
    """A writer needs the graph."""


class _Numbers:
    """The numbers of nodes, by their offsets in the engine's tables."""

    def __init__(self, symbols: Sequence[int], externals: Sequence[int]) -> None:
        self.symbols = len(symbols)
        self.total = len(symbols) + len(externals)
        self.by_table = {
            "Symbol": {offset: number for number, offset in enumerate(symbols)},
            "External": {offset: number + len(symbols) for number, offset in enumerate(externals)},
        }


def make_adjacency(directory: Path) -> bool:
    """Build the file for the current graph. Returns False if a writer interrupted it."""
    try:
        with gc_disabled(), Store.open(directory, write=False) as store:
            generation = store.generation
            symbols = _sorted_rows(_read(store, f"MATCH (s:Symbol) RETURN {_SYMBOL}"))
            externals = _sorted_rows(_read(store, f"MATCH (e:External) RETURN {_EXTERNAL}"))
            numbers = _Numbers([row[1] for row in symbols], [row[1] for row in externals])
            ends = {label: _ends(store, label, numbers) for label in STEPS}
            offsets, evidence = _read(store, _CONVERSIONS)
            converted = map(numbers.by_table["Symbol"].__getitem__, offsets)
            conversions = sorted(zip(converted, evidence, strict=True))
        with gc_disabled():
            parts = _parts(symbols, externals, numbers.total, ends, conversions)
    except _Interrupted:
        return False
    write_adjacency(directory, generation, parts)
    return True


def _read(store: Store, statement: str) -> list[list[Any]]:
    if locks.is_held(store.directory / "writer.lock"):
        raise _Interrupted
    return store.columns(statement)


def _sorted_rows(columns: list[list[Any]]) -> list[tuple[Any, ...]]:
    return sorted(zip(*columns, strict=True))


def _ends(store: Store, label: str, numbers: _Numbers) -> _Ends:
    """The numbers of the sources and targets of all edges of a label that start at symbols."""
    sources: list[int] = []
    targets: list[int] = []
    for kind in EDGE_KINDS:
        if kind.label == label and kind.source == "Symbol":
            pattern = f"MATCH (a:Symbol)-[:{label}]->(b:{kind.target})"
            first, last = _read(store, f"{pattern} RETURN offset(id(a)), offset(id(b))")
            sources += map(numbers.by_table["Symbol"].__getitem__, first)
            targets += map(numbers.by_table[kind.target].__getitem__, last)
    return sources, targets


def _parts(
    symbols: list[tuple[Any, ...]],
    externals: list[tuple[Any, ...]],
    total: int,
    ends: dict[str, _Ends],
    conversions: list[tuple[int, str]],
) -> Parts:
    no_texts = [""] * len(externals)
    columns: dict[str, list[str]] = {
        "kind": [row[2] for row in symbols] + [row[2] for row in externals],
        "name": [row[3] for row in symbols] + [row[3] for row in externals],
        "package": [row[5] for row in symbols] + [row[4] for row in externals],
        "file": [row[6] for row in symbols] + no_texts,
        "owner": [row[8] for row in symbols] + no_texts,
        "source": [""] * len(symbols) + [row[5] for row in externals],
    }
    other_names = {row[4] for row in symbols if row[4] != row[0]}
    other_texts = {row[12] for row in symbols}.union(text for _, text in conversions)
    texts = sorted(other_names.union(other_texts, *map(set, columns.values())))
    index = {text: number for number, text in enumerate(texts)}
    numbers = {name: array("I", map(index.__getitem__, column)) for name, column in columns.items()}
    numbers["qualified"] = array("I", (NO_TEXT if row[4] == row[0] else index[row[4]] for row in symbols))
    for name, at in (("line", 7), ("end line", 9), ("start", 10), ("end", 11)):
        numbers[name] = array("I", [row[at] for row in symbols])
    numbers["doc"] = array("I", [index[row[12]] for row in symbols])
    ids = [row[0] for row in symbols] + [row[0] for row in externals]
    by_location = _by_location(columns["file"], [*numbers["line"], *(0 for _ in externals)], ids)
    numbers["place"] = _inverse(by_location)
    links: dict[str, tuple[array[int], array[int]]] = {}
    for label, (sources, targets) in ends.items():
        if ">" in STEPS[label]:
            links[f"{label}>"] = _by_source(sources, targets, total)
        if "<" in STEPS[label]:
            links[f"{label}<"] = _by_source(targets, sources, total)
    owned = _owned(*ends["CONTAINS"], numbers["name"], len(texts))
    converted = array("I", [number for number, _ in conversions]), array("I", [index[text] for _, text in conversions])
    return Parts(ids, len(symbols), texts, numbers, links, owned, converted, by_location)


def _by_location(files: Sequence[str], lines: Sequence[int], ids: Sequence[str]) -> array[int]:
    """The nodes in the order of `edges.by_location`."""
    return array("I", sorted(range(len(ids)), key=lambda number: (files[number], lines[number], ids[number])))


def _inverse(ordered: array[int]) -> array[int]:
    """The position of each node in an order."""
    positions = array("I", bytes(4 * len(ordered)))
    for position, number in enumerate(ordered):
        positions[number] = position
    return positions


def _owned(
    owners: Sequence[int], members: Sequence[int], names: Sequence[int], total: int
) -> tuple[array[int], array[int], array[int]]:
    """The members of types by their names (see `OWNED`)."""
    ordered = sorted([(names[member], owner, member) for owner, member in zip(owners, members, strict=True)])
    counts = [0] * (total + 1)
    for name, _, _ in ordered:
        counts[name + 1] += 1
    return (
        array("I", accumulate(counts)),
        array("I", [row[1] for row in ordered]),
        array("I", [row[2] for row in ordered]),
    )


def _by_source(sources: Iterable[int], targets: Iterable[int], total: int) -> tuple[array[int], array[int]]:
    """Where each source's targets start, and the targets, sorted."""
    # Integers that combine both ends sort several times faster than pairs.
    pairs = sorted([source << 32 | target for source, target in zip(sources, targets, strict=True)])
    counts = [0] * (total + 1)
    for pair in pairs:
        counts[(pair >> 32) + 1] += 1
    return array("I", accumulate(counts)), array("I", [pair & NO_TEXT for pair in pairs])
