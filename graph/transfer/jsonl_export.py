"""Writes the whole graph as JSON lines: every node, then every edge, in a fixed order; equal graphs give equal bytes.

`export_store` also writes the meta rows of the graph and the rows of `knowledge.db`, and ends with a line by which an
import checks that the export is complete and compatible. The time of the export, paths of the machine and counters of
writes are left out, so that two stores with the same content give the same bytes.

Lines are written as the graph is read; at most a page of edges is in memory. `importer` reads them.
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
from golore.graph.files.knowledge_rows import read_transaction, rows_of, tables_of, version_of
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, SCHEMA_VERSION

FORMAT: Final = 1
"""Version of the format of the lines that are not nodes or edges of the graph."""
MARK: Final = "Mark"
HELD: Final = "Held"
EXPORT: Final = "Export"
"""Labels of the lines after the graph: meta rows, knowledge rows, and, as the last line, the header. They have the form
of nodes, so that programs that expect only nodes and edges can read them."""
_LINES: Final = 4_096
_PROJECTED: Final = "projected "
"""Prefix of meta rows that are specific to this machine: the state of its projections (see `projection`)."""
_object: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_text: Final[Callable[[str], str]] = encode_basestring


class Header(NamedTuple):
    """What an import checks first. `edition` is the version of the learner that made the graph; `knowledge` is the
    version of the knowledge tables, 0 if there is no knowledge."""

    format: int
    golore: str
    schema: int
    edition: str
    knowledge: int


def export_jsonl(store: Store, out: TextIO) -> None:
    """Write nodes by label and id, then edges by label, labels of the ends, source and target. Every property is always
    present."""
    for chunk in _chunks(_lines(store)):
        out.write(chunk)


def export_store(store: Store, out: TextIO) -> None:
    """Like `export_jsonl`, followed by everything else that an import needs to restore the store."""
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


def exported_meta(store: Store) -> dict[str, str]:
    """The meta rows to export: not those of this machine, and no empty values."""
    return {
        name: value
        for name, value in store.meta().items()
        if not name.startswith(_PROJECTED) and value not in ("", "{}")
    }


def encoded_rows(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """All rows of knowledge in a fixed order: the table of each row, and the row as a JSON object."""
    for table, columns in tables_of(knowledge).items():
        for row in rows_of(knowledge, table, columns):
            yield table, _object(dict(zip(columns, map(_to_json, row), strict=True)))


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
    for name, value in exported_meta(store).items():
        yield f'{{"type":"node","label":"{MARK}","id":{_text(name)},"value":{_text(value)}}}\n'
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge, read_transaction(knowledge):
            for number, (table, row) in enumerate(encoded_rows(knowledge)):
                yield f'{{"type":"node","label":"{HELD}","id":"{number}","table":{_text(table)},"row":{row}}}\n'


def _to_json(value: Any) -> object:
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
    with_sites, with_evidence, with_pointer, with_access = (
        name in names for name in ("sites", "evidence", "pointer", "access")
    )
    head = f'{{"type":"edge","label":"{kind.label}","source":'
    labels = f',"source_label":"{kind.source}","target_label":"{kind.target}"'
    for source, target, sites, evidence, pointer, access in edges:
        line = f'{head}{_text(source)},"target":{_text(target)}{labels}'
        if with_sites:
            line += f',"sites":[{",".join(map(str, sites))}]'
        if with_evidence:
            line += f',"evidence":{_text(evidence)}'
        if with_pointer:
            line += ',"pointer":true' if pointer else ',"pointer":false'
        if with_access:
            line += f',"access":[{",".join(map(_text, access))}]'
        yield line + "}\n"
