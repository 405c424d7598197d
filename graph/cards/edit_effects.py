"""The effects of an edit on the cards of other files: files whose uses changed, and lines that moved.

They are derived from the delta that is written to the graph. A card that only mentions lines of an edited file is
correct again once it has the new line numbers; rebuilding it would take a hundred times as long. Not tracked: counts
of callers through an interface, which are updated when all cards are built.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import RELATIONS, USES, EdgeKind
from golore.graph.model.entities import Edge, File, Symbol

_TEST: Final = "_test.go"


class EditEffects(NamedTuple):
    """`files`: the cards of these files must be rebuilt, because uses of their declarations changed. `lines`: for each
    edited file, the new number of each line that cards may mention; empty if the lines are in another order now."""

    files: frozenset[str] = frozenset()
    lines: Mapping[str, Mapping[int, int]] = {}


def effects_of(store: Store, old: Subgraph, new: Subgraph, delta: GraphDelta) -> EditEffects:
    """The effects of a delta, the difference between these two subgraphs. Call it before the delta is applied."""
    before = {row.id: row for row in old.nodes.get("Symbol", ()) if isinstance(row, Symbol)}
    after = {row.id: row for row in new.nodes.get("Symbol", ()) if isinstance(row, Symbol)}
    files = {id: row.file for id, row in (before | after).items()}
    used: set[str] = set()
    for kind, pairs in delta.edges_removed.items():
        used.update(_shown_on_cards(kind, pairs))
    for kind, edges in delta.edges_added.items():
        used.update(_shown_on_cards(kind, ((edge.source, edge.target) for edge in edges)))
    lines: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    edited = _edited_files(old, new)
    for id in before.keys() & after.keys():
        if files[id] in edited:
            lines[files[id]].append((before[id].line, after[id].line))
    for target in _moved_sites(old, new, edited, files, lines):
        used.add(target)
    found = _files_of(store, used, files)
    helpers = {id for id, path in found.items() if path.endswith(_TEST)}
    return EditEffects(
        frozenset((*found.values(), *_used_through(store, new, helpers, files))),
        {path: _line_map(lines[path]) for path in sorted(edited)},
    )


def _used_through(store: Store, new: Subgraph, helpers: Collection[str], files: Mapping[str, str]) -> set[str]:
    """The files that these declarations of test files use, directly or through others: their cards count the tests."""
    if not helpers:
        return set()
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for kind, edges in new.edges.items():
        if kind.label in USES and kind.target == "Symbol":
            for edge in edges:
                uses[edge.source].add(edge.target)
    statement = f"MATCH (a:Symbol {{id: $id}})-[:{'|'.join(USES)}]->(b:Symbol) RETURN b.id"
    found: set[str] = set()
    pending = set(helpers)
    seen: set[str] = set()
    while pending:
        seen |= pending
        used = {target for id in pending for target in uses.get(id, ())}
        used |= {row[0] for id in sorted(pending) for row in store.rows(statement, {"id": id})}
        targets = _files_of(store, used, files)
        found.update(path for path in targets.values() if not path.endswith(_TEST))
        pending = {id for id, path in targets.items() if path.endswith(_TEST)} - seen
    return found


def shift_lines(text: str, path: str, lines: Mapping[int, int]) -> str | None:
    """The text with the new line numbers of a file; None if it mentions a line whose new number is not known. Quoted
    text, such as notes, is not changed."""
    is_known = True

    def new_location(match: re.Match[str]) -> str:
        nonlocal is_known
        if match[1] is None:
            return match[0]
        line = lines.get(int(match[1]))
        is_known = is_known and line is not None
        return f"({path}:{line})"

    shifted = re.sub(rf"“[^”]*”|\({re.escape(path)}:(\d+)\)", new_location, text)
    return shifted if is_known else None


def _shown_on_cards(kind: EdgeKind, ends: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The symbols whose files have cards that show these edges: targets, and for some kinds sources."""
    if kind.label in RELATIONS and kind.target == "Symbol":
        for source, target in ends:
            yield target
            if kind.label in ("IMPLEMENTS", "TESTS"):
                yield source


def _edited_files(old: Subgraph, new: Subgraph) -> set[str]:
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
    """Add the old and new lines of unchanged edges to `lines`; yield targets that are used more or less often now."""
    for kind, edges in new.edges.items():
        if kind.label not in RELATIONS or kind.target != "Symbol":
            continue
        old_edges = {(edge.source, edge.target): edge for edge in old.edges.get(kind, ())}
        for edge in edges:
            path = files.get(edge.source, "")
            old_edge: Edge | None = old_edges.get((edge.source, edge.target))
            if path not in edited or old_edge is None:
                continue
            if len(old_edge.sites) == len(edge.sites):
                lines[path] += zip(old_edge.sites, edge.sites, strict=True)
            else:
                yield edge.target


def _line_map(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Old → new line, without lines that have several new numbers; empty if the order of lines has changed."""
    new_lines: dict[int, int] = {}
    ambiguous: set[int] = set()
    for line, new_line in pairs:
        if new_lines.setdefault(line, new_line) != new_line:
            ambiguous.add(line)
    ordered = [new_lines[line] for line in sorted(new_lines) if line not in ambiguous]
    if any(later < earlier for earlier, later in pairwise(ordered)):
        return {}
    return {line: new_line for line, new_line in new_lines.items() if line not in ambiguous}


def _files_of(store: Store, symbols: set[str], known: Mapping[str, str]) -> dict[str, str]:
    """The file of each of these symbols."""
    wanted = sorted(symbols - known.keys())
    found = {id: known[id] for id in symbols & known.keys()}
    if wanted:
        statement = "UNWIND $ids AS i MATCH (s:Symbol {id: i}) RETURN s.id, s.file"
        found.update((id, file) for id, file in store.rows(statement, {"ids": wanted}))
    return found
