"""The whole graph as lines of JSON: every node, then every edge, in a fixed order, the same bytes for the same graph.

`export_store` goes on with what the graph was made from and with the knowledge beside it, and ends with a line by which
an import can tell that the export is whole and fit for it. Times, paths of the machine and what counts writes are left
out, so that two stores with the same content give the same bytes.

The output is written as it is read; no more than a page of edges is held. Reading it back is `importing`'s affair.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib import metadata
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, TextIO

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import frozen, rows_of, tables_of, version_of
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, SCHEMA_VERSION

FORMAT: Final = 1
"""Of what stands beside nodes and edges."""
MARK: Final = "Mark"
HELD: Final = "Held"
EXPORT: Final = "Export"
"""Labels of what is no node of the graph and stands after it: looks like one, so that who reads nodes and edges, and
knows no other sort of line, is not disturbed."""
_LINES: Final = 4_096
_PROJECTED: Final = "projected "
"""Marks that begin so are of this machine: they count its writes (see `projecting`)."""
_object: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_text: Final[Callable[[str], str]] = encode_basestring


class Header(NamedTuple):
    """What an import must know before it takes anything. `edition` is that of the learner that made the graph,
    `knowledge` the version of the tables of knowledge, 0 where there is none."""

    format: int
    golore: str
    schema: int
    edition: str
    knowledge: int


def export_jsonl(store: Store, out: TextIO) -> None:
    """Nodes by label and id, then edges by label, ends' labels, source and target; every property is always there."""
    for chunk in _chunks(_lines(store)):
        out.write(chunk)


def export_store(store: Store, out: TextIO) -> None:
    """The same, and all that an import needs to make the store of it."""
    digest = blake2b(digest_size=16)
    count = 0
    for chunk in _chunks(_all_lines(store)):
        digest.update(chunk.encode())
        count += chunk.count("\n")
        out.write(chunk)
    closing = {**header_of(store)._asdict(), "lines": count, "digest": digest.hexdigest()}
    out.write(f'{{"type":"node","label":"{EXPORT}","id":"golore",{_object(closing)[1:]}\n')


def header_of(store: Store) -> Header:
    version = 0
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge:
            version = version_of(knowledge)
    edition = store.meta().get("extractor", "")
    return Header(FORMAT, metadata.version("golore"), SCHEMA_VERSION, edition, version)


def kept_marks(store: Store) -> dict[str, str]:
    """What the graph was made from, without what says nothing."""
    return {
        name: value
        for name, value in store.meta().items()
        if not name.startswith(_PROJECTED) and value not in ("", "{}")
    }


def held_rows(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """All that is known, in order: the table of each row, and the row as a JSON object."""
    for table, columns in tables_of(knowledge).items():
        for row in rows_of(knowledge, table, columns):
            yield table, _object(dict(zip(columns, map(_plain, row), strict=True)))


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    pending: list[str] = []
    for line in lines:
        pending.append(line)
        if len(pending) == _LINES:
            yield "".join(pending)
            pending.clear()
    if pending:
        yield "".join(pending)


def _all_lines(store: Store) -> Iterator[str]:
    yield from _lines(store)
    for name, value in kept_marks(store).items():
        yield f'{{"type":"node","label":"{MARK}","id":{_text(name)},"value":{_text(value)}}}\n'
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge, frozen(knowledge):
            for number, (table, row) in enumerate(held_rows(knowledge)):
                yield f'{{"type":"node","label":"{HELD}","id":"{number}","table":{_text(table)},"row":{row}}}\n'


def _plain(value: Any) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


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
