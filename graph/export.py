"""The whole graph as lines of JSON: every node, then every edge, in a fixed order, the same bytes for the same graph.

The output is written as it is read; no more than a page of edges is held. Reading it back is not done here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring
from typing import Final, TextIO

from golore.graph.model import EDGE_KINDS, Edge, EdgeKind
from golore.graph.schema import EDGE_COLUMNS, NODE_COLUMNS
from golore.graph.store import Store

_LINES: Final = 4_096
_object: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_text: Final[Callable[[str], str]] = encode_basestring


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
        head = f'{{"type":"node","label":"{label}",'
        for node in store.nodes(label):
            yield f"{head}{_object(node._asdict())[1:]}\n"
    for kind in sorted(EDGE_KINDS):
        yield from _edge_lines(kind, store.edges(kind))


def _edge_lines(kind: EdgeKind, edges: Iterator[Edge]) -> Iterator[str]:
    names = {column.name for column in EDGE_COLUMNS[kind.label]}
    with_sites, with_evidence, with_pointer = (name in names for name in ("sites", "evidence", "pointer"))
    head = f'{{"type":"edge","label":"{kind.label}","source":'
    labels = f',"source_label":"{kind.source}","target_label":"{kind.target}"'
    for source, target, sites, evidence, pointer in edges:
        line = f'{head}{_text(source)},"target":{_text(target)}{labels}'
        if with_sites:
            line += f',"sites":[{",".join(map(str, sites))}]'
        if with_evidence:
            line += f',"evidence":{_text(evidence)}'
        if with_pointer:
            line += ',"pointer":true' if pointer else ',"pointer":false'
        yield line + "}\n"
