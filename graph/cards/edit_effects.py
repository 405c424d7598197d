"""What an edit means for the cards of other files: whose declarations are used otherwise now, and where lines went.

Found from the difference that is written to the graph. A card that only names lines of an edited file is as true as
before once these have their new numbers; making it anew would take a hundred times as long. Not followed: counts of
callers behind an interface, which wait until all cards are made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import RELATIONS, EdgeKind
from golore.graph.model.entities import Edge, File, Symbol


class EditEffects(NamedTuple):
    """`files`: what is said of their declarations has changed. `lines`: for each edited file, the new numbers of the
    lines that cards may name; none where they are no longer in the same order."""

    files: frozenset[str] = frozenset()
    lines: Mapping[str, Mapping[int, int]] = {}


def effects_of(store: Store, old: Subgraph, new: Subgraph, delta: GraphDelta) -> EditEffects:
    """What follows from a delta that was made of these two slices. Asked before it is applied."""
    before = {row.id: row for row in old.nodes.get("Symbol", ()) if isinstance(row, Symbol)}
    after = {row.id: row for row in new.nodes.get("Symbol", ()) if isinstance(row, Symbol)}
    files = {id: row.file for id, row in (before | after).items()}
    used: set[str] = set()
    for kind, pairs in delta.edges_removed.items():
        used.update(_mattering(kind, pairs))
    for kind, edges in delta.edges_added.items():
        used.update(_mattering(kind, ((edge.source, edge.target) for edge in edges)))
    lines: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    edited = _edited(old, new)
    for id in before.keys() & after.keys():
        if files[id] in edited:
            lines[files[id]].append((before[id].line, after[id].line))
    for target in _moved_sites(old, new, edited, files, lines):
        used.add(target)
    return EditEffects(
        frozenset(_files_of(store, used, files)), {path: _in_order(lines[path]) for path in sorted(edited)}
    )


def shift_lines(text: str, path: str, lines: Mapping[int, int]) -> str | None:
    """A text with the new numbers of a file's lines; None if it names one whose number is not known. What it quotes,
    such as notes, stays as it is."""
    is_known = True

    def number(match: re.Match[str]) -> str:
        nonlocal is_known
        if match[1] is None:
            return match[0]
        line = lines.get(int(match[1]))
        is_known = is_known and line is not None
        return f"({path}:{line})"

    written = re.sub(rf"“[^”]*”|\({re.escape(path)}:(\d+)\)", number, text)
    return written if is_known else None


def _mattering(kind: EdgeKind, ends: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The symbols of whose files the cards tell of such edges."""
    if kind.label in RELATIONS and kind.target == "Symbol":
        for source, target in ends:
            yield target
            if kind.label in ("IMPLEMENTS", "TESTS"):
                yield source


def _edited(old: Subgraph, new: Subgraph) -> set[str]:
    before = {row.id: row.digest for row in old.nodes.get("File", ()) if isinstance(row, File)}
    after = {row.id: row.digest for row in new.nodes.get("File", ()) if isinstance(row, File)}
    return {path for path in before.keys() & after.keys() if before[path] != after[path]}


def _moved_sites(
    old: Subgraph,
    new: Subgraph,
    edited: Collection[str],
    files: Mapping[str, str],
    lines: defaultdict[str, list[tuple[int, int]]],
) -> Iterator[str]:
    """Adds where the sites of edges have gone; yields targets that are used more or less often than before."""
    for kind, edges in new.edges.items():
        if kind.label not in RELATIONS or kind.target != "Symbol":
            continue
        known = {(edge.source, edge.target): edge for edge in old.edges.get(kind, ())}
        for edge in edges:
            path = files.get(edge.source, "")
            last: Edge | None = known.get((edge.source, edge.target))
            if path not in edited or last is None:
                continue
            if len(last.sites) == len(edge.sites):
                lines[path] += zip(last.sites, edge.sites, strict=True)
            else:
                yield edge.target


def _in_order(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Where each line went, without those that went to several; nothing where lines have changed places."""
    found: dict[int, int] = {}
    doubtful: set[int] = set()
    for line, now in pairs:
        if found.setdefault(line, now) != now:
            doubtful.add(line)
    ordered = [found[line] for line in sorted(found) if line not in doubtful]
    if any(later < earlier for earlier, later in pairwise(ordered)):
        return {}
    return {line: now for line, now in found.items() if line not in doubtful}


def _files_of(store: Store, symbols: set[str], known: Mapping[str, str]) -> set[str]:
    wanted = sorted(symbols - known.keys())
    found = {known[id] for id in symbols & known.keys()}
    if wanted:
        statement = "UNWIND $ids AS i MATCH (s:Symbol {id: i}) RETURN s.file"
        found.update(row[0] for row in store.rows(statement, {"ids": wanted}))
    return found
