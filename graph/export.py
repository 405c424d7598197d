"""The whole graph as lines of JSON: every node, then every edge, in a fixed order, the same bytes for the same graph.

The output is written as it is read; no more than a page of edges is held. Reading it back is not done here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final, TextIO

from golore.graph.model import EDGE_KINDS, Edge, EdgeKind, Node
from golore.graph.schema import EDGE_COLUMNS, NODE_COLUMNS
from golore.graph.store import Store

_LINES: Final = 4_096
_encode: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def export_jsonl(store: Store, out: TextIO) -> None:
    """Nodes by label and id, then edges by label, ends' labels, source and target; every property is always there."""
    pending: list[str] = []
    for line in _lines(store):
        pending.append(line)
        if len(pending) == _LINES:
            out.write("".join(pending))
            pending.clear()
    out.write("".join(pending))


def _lines(store: Store) -> Iterator[str]:
    for label in sorted(NODE_COLUMNS):
        head = f'{{"type":"node","label":{_encode(label)},'
        for node in store.nodes(label):
            yield head + _properties(node)
    for kind in sorted(EDGE_KINDS):
        yield from _edge_lines(kind, store.edges(kind))


def _properties(node: Node) -> str:
    return _encode(node._asdict())[1:] + "\n"


def _edge_lines(kind: EdgeKind, edges: Iterator[Edge]) -> Iterator[str]:
    names = {column.name for column in EDGE_COLUMNS[kind.label]}
    head = f'{{"type":"edge","label":"{kind.label}","source":'
    labels = f',"source_label":"{kind.source}","target_label":"{kind.target}"'
    for source, target, sites, evidence, pointer in edges:
        line = f'{head}{_encode(source)},"target":{_encode(target)}{labels}'
        if "sites" in names:
            line += f',"sites":[{",".join(map(str, sites))}]'
        if "evidence" in names:
            line += f',"evidence":{_encode(evidence)}'
        if "pointer" in names:
            line += f',"pointer":{"true" if pointer else "false"}'
        yield line + "}\n"
