"""The only module that uses tree-sitter: the Go grammar, its parser, and its node kinds as integers.

`node_kinds` looks up all kinds by name when it is imported, so a grammar that renames one fails at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

import tree_sitter_go
from tree_sitter import Language, Node, Parser, Point, Range, Tree

LANGUAGE: Final = Language(tree_sitter_go.language())
GRAMMAR: Final = "tree-sitter-go 0.25"
_UNUSED_POINT: Final = Point(0, 0)
"""tree-sitter requires rows and columns of ranges; golore uses byte offsets only."""
_END_OF_FILE: Final = 0xFFFFFFFF


@cache
def _parser() -> Parser:
    return Parser(LANGUAGE)


def parse(source: bytes, cuts: Mapping[int, int] | None = None) -> Tree:
    """Parse a source. `cuts` are pairs of braces whose contents are left out: offset of the opening → closing one."""
    parser = _parser()
    if not cuts:
        parser.included_ranges = []
        return parser.parse(source)
    ranges: list[Range] = []
    at = 0
    for start, end in cuts.items():
        ranges.append(Range(_UNUSED_POINT, _UNUSED_POINT, at, start + 1))
        at = end
    ranges.append(Range(_UNUSED_POINT, _UNUSED_POINT, at, _END_OF_FILE))
    parser.included_ranges = ranges
    return parser.parse(source)


def top_level(tree: Tree) -> Iterator[Node]:
    """Yield the children of the root one at a time, by a cursor: the root node would cache all of its `children`."""
    cursor = tree.walk()
    more = cursor.goto_first_child()
    while more:
        if (node := cursor.node) is not None:
            yield node
        more = cursor.goto_next_sibling()


def kind(name: str, named: bool = True) -> int:
    """Return the grammar's number of a node kind. Raises LookupError if the grammar has no such kind."""
    found = LANGUAGE.id_for_node_kind(name, named)
    if not found:
        raise LookupError(f"the Go grammar has no node kind {name!r}")
    return found


__all__ = ["GRAMMAR", "LANGUAGE", "Node", "Tree", "kind", "parse", "top_level"]
