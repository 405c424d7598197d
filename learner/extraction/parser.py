"""The only door to tree-sitter: the Go grammar, its parser, and its node kinds as integers.

Kinds are looked up in the grammar by name when this module loads, so a grammar that renames one fails at once.
Nothing here knows what the nodes mean; `extract` and `emit` do.
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
"""Lines and columns are asked for, but nobody reads them: places are byte offsets here."""
_END_OF_FILE: Final = 0xFFFFFFFF


@cache
def _parser() -> Parser:
    return Parser(LANGUAGE)


def parse(source: bytes, cuts: Mapping[int, int] | None = None) -> Tree:
    """The tree of a source, without what lies between the braces at these offsets, closing ones by opening ones."""
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
    """The children of the root, one at a time: a node keeps the children it was asked for, so the root is not asked."""
    cursor = tree.walk()
    more = cursor.goto_first_child()
    while more:
        if (node := cursor.node) is not None:
            yield node
        more = cursor.goto_next_sibling()


def kind(name: str, named: bool = True) -> int:
    """The grammar's number for a kind of node."""
    found = LANGUAGE.id_for_node_kind(name, named)
    if not found:
        raise LookupError(f"the Go grammar has no node kind {name!r}")
    return found


__all__ = ["GRAMMAR", "LANGUAGE", "Node", "Tree", "kind", "parse", "top_level"]
