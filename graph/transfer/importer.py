"""An export → a store: the graph, what it was made from, and the knowledge beside it, all of it or nothing.

The whole export is read and its digests are compared before anything of the store is replaced (see `settling`). Facts
go into the cache afterwards: they are found by the digest of the code that they are of. Whether the working tree is
what was learned is not asked here.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec
from golore.graph.database.bulk_load import BulkLoad
from golore.graph.database.engine import engine_name
from golore.graph.database.parquet_spool import Table, table_name
from golore.graph.errors import UsageError
from golore.graph.files.cache_db import Cache, CachedFacts, CachedResolution
from golore.graph.files.handover import prepare_successor
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge, Transaction
from golore.graph.files.knowledge_rows import put_rows, tables_of
from golore.graph.files.manifest import Manifest
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, NODE_TYPES, SCHEMA_VERSION
from golore.graph.transfer.jsonl_export import FORMAT, Header
from golore.graph.transfer.parquet_export import FACTS, HEADER_NAME, KNOWLEDGE, MARKS, RESOLVED, file_digest

_TAIL: Final = 1 << 16
_ROWS: Final = 4_096
_KINDS: Final = {tuple(kind): kind for kind in EDGE_KINDS}
_TABLES: Final[dict[str, Table]] = {table_name(table): table for table in (*NODE_COLUMNS, *EDGE_KINDS)}

Row = dict[str, Any]


class ImportResult(NamedTuple):
    """What was taken, in rows."""

    header: Header
    nodes: int
    edges: int
    knowledge: int
    facts: int


class _Taken(NamedTuple):
    nodes: int
    edges: int
    knowledge: int
    marks: Mapping[str, str]


def read_header(source: Path) -> Header:
    """What an export says of itself; raises `UsageError` where it is none, is cut off, or is not for this golore."""
    if not source.exists():
        raise UsageError(f"There is no {source}. Check the path.")
    told = _read_json(source / HEADER_NAME) if source.is_dir() else _last_line(source)
    try:
        header = Header(*(told[name] for name in Header._fields))
    except KeyError:
        raise UsageError(f"{source} is no export of golore, or a part of one. Export it again.") from None
    if (header.format, header.schema) > (FORMAT, SCHEMA_VERSION):
        raise UsageError(f"{source} was made by a newer golore ({header.golore}). Upgrade golore; nothing was changed.")
    if (header.format, header.schema) != (FORMAT, SCHEMA_VERSION):
        raise UsageError(f"{source} was made by an older golore ({header.golore}). Export it again with a newer one.")
    return header


def import_store(source: Path, directory: Path, *, replace: bool) -> ImportResult:
    """Put what an export holds in the place of the graph. What is known here and not there is kept, or not.

    Killed at any moment, the store is what it was or what the export is.
    """
    header = read_header(source)
    with prepare_successor(directory) as successor:
        load = BulkLoad(directory / f"bulk-{os.getpid()}.tmp")
        try:
            with _Knowing(successor.stage, header) as knowing:
                read = _read_tables if source.is_dir() else _read_lines
                taken = read(source, load, knowing.put)
            load.build(successor.database, taken.marks)
        finally:
            load.discard()
        if replace:
            with Knowledge.at(successor.stage / KNOWLEDGE_NAME):
                pass  # nothing is known there, and nothing shall be here
        manifest = Manifest(SCHEMA_VERSION, engine_name(), metadata.version("golore"), successor.database.name)
        successor.take_over(manifest, merge=not replace)
    facts = _take_facts(source, directory) if source.is_dir() else 0
    return ImportResult(header, taken.nodes, taken.edges, taken.knowledge, facts)


class _Knowing:
    """The knowledge of the store to come; a file is made with the first row."""

    def __init__(self, stage: Path, header: Header) -> None:
        self._stage = stage
        self._header = header
        self._stack = ExitStack()
        self._write: Transaction | None = None
        self._columns: dict[str, frozenset[str]] = {}
        self._is_newer = False

    def __enter__(self) -> _Knowing:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._stack.__exit__(*failure)

    def put(self, table: str, row: Row) -> None:
        if self._write is None:
            knowledge = self._stack.enter_context(Knowledge.at(self._stage / KNOWLEDGE_NAME))
            self._columns = {name: frozenset(columns) for name, columns in tables_of(knowledge).items()}
            self._write = self._stack.enter_context(knowledge.transaction())
            self._write.run("PRAGMA defer_foreign_keys = ON")
            self._is_newer = self._header.knowledge > next(knowledge.rows("PRAGMA user_version"))[0]
        if self._is_newer or not row.keys() <= self._columns.get(table, frozenset()):
            raise UsageError(
                f"The export was made by a newer golore ({self._header.golore}), with knowledge that this one cannot "
                f"keep ({table}). Upgrade golore; nothing was changed."
            )
        put_rows(self._write, table, [{name: _from_plain(value) for name, value in row.items()}])


Put = Callable[[str, Row], None]


def _from_plain(value: Any) -> object:
    return base64.b64decode(cast("Row", value)["base64"]) if isinstance(value, dict) else value


def _read_lines(source: Path, load: BulkLoad, put: Put) -> _Taken:
    closing = _last_line(source)
    digest = blake2b(digest_size=16)
    rows = _Rows(load)
    marks: dict[str, str] = {}
    knowledge = lines = 0
    decode = msgspec.json.Decoder(Row).decode
    with source.open("rb") as file:
        try:
            for line in file:
                lines += 1
                row = decode(line)
                match row.pop("type"), row.pop("label"):
                    case "node", "Mark":
                        marks[row["id"]] = row["value"]
                    case "node", "Held":
                        put(row["table"], row["row"])
                        knowledge += 1
                    case "node", "Export":
                        break
                    case "node", label:
                        rows.node(label, row)
                    case "edge", label:
                        rows.edge(label, row)
                    case kind, _:
                        raise ValueError(f"{kind!r} is unknown")
                digest.update(line)
            rows.flush()
        except (KeyError, TypeError, ValueError, AttributeError) as failure:
            raise UsageError(
                f"{source}, line {lines:,} cannot be read ({failure!r}). Nothing was changed."
            ) from failure
    if digest.hexdigest() != closing["digest"] or lines != closing["lines"] + 1:
        raise UsageError(f"{source} was changed or damaged since it was exported. Nothing was changed; export again.")
    return _Taken(rows.nodes, rows.edges, knowledge, marks)


class _Rows:
    """Objects of nodes and edges on their way into a load, some thousand at a time."""

    def __init__(self, load: BulkLoad) -> None:
        self._load = load
        self._nodes: dict[str, list[Node]] = {}
        self._edges: dict[EdgeKind, list[Edge]] = {}
        self._pending = 0
        self.nodes = 0
        self.edges = 0

    def node(self, label: str, row: Row) -> None:
        make = cast("Callable[..., Node]", NODE_TYPES[label])
        values = {
            name: tuple(cast("list[Any]", value)) if type(value) is list else value for name, value in row.items()
        }
        self._nodes.setdefault(label, []).append(make(**values))
        self.nodes += 1
        self._count()

    def edge(self, label: str, row: Row) -> None:
        kind = _KINDS[label, row.pop("source_label"), row.pop("target_label")]
        if len(row) != len(EDGE_COLUMNS[label]) + 2:
            raise ValueError(f"these are not the properties of {label}")
        self._edges.setdefault(kind, []).append(Edge(**row))
        self.edges += 1
        self._count()

    def _count(self) -> None:
        self._pending += 1
        if self._pending == _ROWS:
            self.flush()

    def flush(self) -> None:
        for label, nodes in self._nodes.items():
            self._load.nodes(label, nodes)
        for kind, edges in self._edges.items():
            self._load.edges(kind, [edge._replace(sites=tuple(edge.sites)) for edge in edges])
        self._nodes, self._edges, self._pending = {}, {}, 0


def _read_tables(source: Path, load: BulkLoad, put: Put) -> _Taken:
    told: Mapping[str, Mapping[str, Any]] = _read_json(source / HEADER_NAME)["tables"]
    for name, table in told.items():
        path = source / f"{name}.parquet"
        if not path.is_file() or file_digest(path) != table["digest"]:
            raise UsageError(f"{path} is missing or damaged. Nothing was changed; export again.")
    counts = {True: 0, False: 0}
    for name, table in _TABLES.items():
        if name in told:
            _link(source / f"{name}.parquet", load.directory / f"{name}.export.parquet")
            load.count({table: told[name]["rows"]})
            counts[isinstance(table, str)] += told[name]["rows"]
    marks = {row["id"]: row["value"] for row in _rows_of(source, MARKS)}
    knowledge = 0
    for row in _rows_of(source, KNOWLEDGE):
        put(row["label"], json.loads(row["row"]))
        knowledge += 1
    return _Taken(counts[True], counts[False], knowledge, marks)


def _take_facts(source: Path, directory: Path) -> int:
    """So that the next learn reads from the code only what is new; without them it takes longer."""
    facts = 0
    with Cache.open(directory / CACHE_NAME) as cache:
        for batch in _batches_of(source, FACTS):
            cache.put_many(CachedFacts(**row) for row in batch)
            facts += len(batch)
        cache.set_resolutions(CachedResolution(**row) for row in _rows_of(source, RESOLVED))
    return facts


def _rows_of(source: Path, name: str) -> Iterator[Row]:
    for batch in _batches_of(source, name):
        yield from batch


def _batches_of(source: Path, name: str) -> Iterator[list[Row]]:
    path = source / f"{name}.parquet"
    if path.is_file():
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as file:
            for batch in file.iter_batches(1_024):
                yield batch.to_pylist()


def _link(source: Path, target: Path) -> None:
    with suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)


def _last_line(source: Path) -> Row:
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - _TAIL))
        end = file.read()
    try:
        last: Any = json.loads(end.splitlines()[-1]) if end.endswith(b"\n") else {}
    except ValueError:
        last = {}
    return cast("Row", last) if isinstance(last, dict) else {}


def _read_json(path: Path) -> Row:
    try:
        return cast("Row", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
