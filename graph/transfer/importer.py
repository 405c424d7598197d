"""Imports an export into a store: the graph, its meta rows and the knowledge, all of it or nothing.

The whole export is read and its digests are checked before anything in the store is replaced (see `handover`). Facts
are written to the cache afterwards; they are keyed by the digest of the code. Whether the working tree matches the
export is not checked here.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec
from golore.graph.database.arrow_spool import Table, table_name
from golore.graph.database.bulk_load import BulkLoad
from golore.graph.database.engine import engine_name
from golore.graph.errors import UsageError
from golore.graph.files.cache_db import Cache, CachedFacts, CachedResolution
from golore.graph.files.graph_digests import file_digest
from golore.graph.files.handover import prepare_successor
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge, Transaction
from golore.graph.files.knowledge_rows import insert_rows, tables_of
from golore.graph.files.manifest import Manifest
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Edge, Node
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, NODE_TYPES, SCHEMA_VERSION
from golore.graph.safety.memory_limit import restore_memory_limit, set_memory_limit
from golore.graph.safety.regular_file import read_regular
from golore.graph.transfer.jsonl_export import FORMAT, Header
from golore.graph.transfer.parquet_export import FACTS, HEADER_NAME, KNOWLEDGE, MARKS, RESOLVED

_TAIL_BYTES: Final = 1 << 16
_BATCH: Final = 4_096
_MAX_HEADER: Final = 1 << 20
_MAX_RATIO: Final = 200
"""Bytes of a table before compression, for each byte on disk."""
_SMALL_TABLE: Final = 16 << 20
"""Bytes before compression that are always allowed."""
_READER_MEMORY: Final = 768 << 20
"""Bytes that reading a table may allocate, for its largest page and for one batch."""
_ROWS: Final = {True: 16_384, False: 1_024}
"""Rows of a batch, of tables of the graph and of others. Facts are large; small row groups slow the load of a graph."""
_INVALID: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, OSError)
"""What decoding the rows of a file that golore did not write may raise."""
_KINDS: Final = {tuple(kind): kind for kind in EDGE_KINDS}
_TABLES: Final[dict[str, Table]] = {table_name(table): table for table in (*NODE_COLUMNS, *EDGE_KINDS)}

_OTHER_COLUMNS: Final = {
    MARKS: frozenset(("id", "value")),
    KNOWLEDGE: frozenset(("label", "row")),
    FACTS: frozenset(CachedFacts._fields),
    RESOLVED: frozenset(CachedResolution._fields),
}
"""The tables that are not of the graph, and the columns that they must have."""

Row = dict[str, Any]


class ImportResult(NamedTuple):
    """Numbers of imported rows."""

    header: Header
    nodes: int
    edges: int
    knowledge: int
    facts: int


class _Content(NamedTuple):
    """Numbers of rows that were read, and the meta rows."""

    nodes: int
    edges: int
    knowledge: int
    meta: Mapping[str, str]


def read_header(source: Path) -> Header:
    """Read the header of an export. Raises `UsageError` if it is not an export, is incomplete, or was made by an
    incompatible golore."""
    if not source.exists():
        raise UsageError(f"There is no {source}. Check the path.")
    fields = _read_json(source / HEADER_NAME) if source.is_dir() else _last_line(source)
    match [fields.get(name) for name in Header._fields]:
        case [int(format), str(golore), int(schema), str(edition), int(knowledge)]:
            header = Header(format, golore, schema, edition, knowledge)
        case _:
            raise UsageError(f"{source} is not a golore export, or is incomplete. Export it again.")
    if (header.format, header.schema) > (FORMAT, SCHEMA_VERSION):
        raise UsageError(f"{source} was made by a newer golore ({header.golore}). Upgrade golore; nothing was changed.")
    if (header.format, header.schema) != (FORMAT, SCHEMA_VERSION):
        raise UsageError(f"{source} was made by an older golore ({header.golore}). Export it again with this version.")
    return header


def import_store(source: Path, directory: Path, *, replace: bool) -> ImportResult:
    """Replace the graph by that of an export and add its knowledge. `replace`: replace the current knowledge, too.

    If the process is killed at any moment, the store is either unchanged or the imported one.
    """
    header = read_header(source)
    with prepare_successor(directory) as successor:
        load = BulkLoad(directory / f"bulk-{os.getpid()}.tmp")
        try:
            with _StagedKnowledge(successor.stage, header) as knowledge:
                read = _read_parquet if source.is_dir() else _read_jsonl
                content = read(source, load, knowledge.put)
            _build(load, successor.database, content.meta, source)
        finally:
            load.discard()
        if replace:
            with Knowledge.open_file(successor.stage / KNOWLEDGE_NAME):
                pass  # an empty file, if the export has no knowledge, so that the current knowledge is deleted
        manifest = Manifest(SCHEMA_VERSION, engine_name(), metadata.version("golore"), successor.database.name)
        successor.take_over(manifest, merge=not replace)
    facts = _import_facts(source, directory) if source.is_dir() else 0
    return ImportResult(header, content.nodes, content.edges, content.knowledge, facts)


def _build(load: BulkLoad, database: Path, meta: Mapping[str, str], source: Path) -> None:
    try:
        load.build(database, meta)
    except (TypeError, ValueError, OverflowError) as failure:  # values of the wrong type
        raise UsageError(f"{source} cannot be read ({failure}). Nothing was changed; export again.") from failure


class _StagedKnowledge:
    """Writes the knowledge of the new store. The file is created with the first row."""

    def __init__(self, stage: Path, header: Header) -> None:
        self._stage = stage
        self._header = header
        self._stack = ExitStack()
        self._write: Transaction | None = None
        self._columns: dict[str, frozenset[str]] = {}
        self._is_newer = False

    def __enter__(self) -> _StagedKnowledge:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._stack.__exit__(*failure)

    def put(self, table: str, row: Row) -> None:
        if self._write is None:
            knowledge = self._stack.enter_context(Knowledge.open_file(self._stage / KNOWLEDGE_NAME))
            self._columns = {name: frozenset(columns) for name, columns in tables_of(knowledge).items()}
            self._write = self._stack.enter_context(knowledge.transaction())
            self._write.run("PRAGMA defer_foreign_keys = ON")
            self._is_newer = self._header.knowledge > next(knowledge.rows("PRAGMA user_version"))[0]
        if self._is_newer or not row.keys() <= self._columns.get(table, frozenset()):
            raise UsageError(
                f"The export was made by a newer golore ({self._header.golore}), with knowledge that this one cannot "
                f"store ({table}). Upgrade golore; nothing was changed."
            )
        insert_rows(self._write, table, [{name: _from_json(value) for name, value in row.items()}])


Put = Callable[[str, Row], None]


def _from_json(value: Any) -> object:
    return base64.b64decode(cast("Row", value)["base64"]) if isinstance(value, dict) else value


def _read_jsonl(source: Path, load: BulkLoad, put: Put) -> _Content:
    closing = _last_line(source)
    digest = blake2b(digest_size=16)
    rows = _RowBatches(load)
    meta: dict[str, str] = {}
    knowledge = lines = 0
    decode = msgspec.json.Decoder(Row).decode
    with source.open("rb") as file:
        try:
            for line in file:
                lines += 1
                row = decode(line)
                match row.pop("type"), row.pop("label"):
                    case "node", "Mark":
                        meta[row["id"]] = row["value"]
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
                        raise ValueError(f"unknown type {kind!r}")
                digest.update(line)
            rows.flush()
        except (*_INVALID, msgspec.MsgspecError) as failure:
            raise UsageError(
                f"{source}, line {lines:,} cannot be read ({failure!r}). Nothing was changed; export again."
            ) from failure
    if (digest.hexdigest(), lines - 1) != (closing.get("digest"), closing.get("lines")):
        raise UsageError(f"{source} was changed or damaged since it was exported. Nothing was changed; export again.")
    return _Content(rows.nodes, rows.edges, knowledge, meta)


class _RowBatches:
    """Converts JSON objects to nodes and edges, and passes them to a load in batches."""

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
            raise ValueError(f"wrong properties for {label}")
        self._edges.setdefault(kind, []).append(Edge(**row))
        self.edges += 1
        self._count()

    def _count(self) -> None:
        self._pending += 1
        if self._pending == _BATCH:
            self.flush()

    def flush(self) -> None:
        for label, nodes in self._nodes.items():
            self._load.nodes(label, nodes)
        for kind, edges in self._edges.items():
            self._load.edges(
                kind, [edge._replace(sites=tuple(edge.sites), access=tuple(edge.access)) for edge in edges]
            )
        self._nodes, self._edges, self._pending = {}, {}, 0


def _read_parquet(source: Path, load: BulkLoad, put: Put) -> _Content:
    tables = _require_tables(source)
    counts = {True: 0, False: 0}
    knowledge = 0
    try:
        for name, table in _TABLES.items():
            # The rows are copied and the engine reads the copy, because a damaged file crashes it.
            for batch in _batches_of(source, name) if name in tables else ():
                load.batch(table, batch)
                counts[isinstance(table, str)] += batch.num_rows
        meta: dict[str, str] = {row["id"]: row["value"] for row in _rows_of(source, MARKS)}
        for row in _rows_of(source, KNOWLEDGE):
            put(row["label"], json.loads(row["row"]))
            knowledge += 1
        for name in (FACTS, RESOLVED):  # read here, too, because they are imported when nothing can be refused any more
            for _ in _batches_of(source, name):
                pass
    except (*_INVALID, MemoryError) as failure:
        raise UsageError(f"{source} cannot be read ({failure!r}). Nothing was changed; export again.") from failure
    return _Content(counts[True], counts[False], knowledge, meta)


def _require_tables(source: Path) -> dict[str, int]:
    """The tables of an export with their numbers of rows. Raises `UsageError` if a file is missing, damaged, not listed
    in the header, or larger than its size on disk explains."""
    listed: Any = _read_json(source / HEADER_NAME).get("tables")
    if not isinstance(listed, dict):
        raise UsageError(f"{source / HEADER_NAME} has no list of tables. Nothing was changed; export again.")
    rows: dict[str, int] = {}
    for name, info in cast("Row", listed).items():
        path = source / f"{name}.parquet"
        match info:
            case {"rows": int(count), "digest": str(digest)} if name in _TABLES or name in _OTHER_COLUMNS:
                if path.is_symlink() or not path.is_file() or file_digest(path) != digest:
                    raise UsageError(f"{path} is missing or damaged. Nothing was changed; export again.")
                _require_bounded(path, name, count)
                rows[name] = count
            case _:
                raise UsageError(f"{source / HEADER_NAME} has an unknown table {name!r}. Nothing was changed.")
    for path in sorted(source.glob("*.parquet")):
        if path.stem not in rows:
            raise UsageError(f"{path} is not listed in {HEADER_NAME}. Nothing was changed; remove it or export again.")
    return rows


def _require_bounded(path: Path, name: str, rows: int) -> None:
    """Raise `UsageError` if a Parquet file could expand to far more memory than it takes on disk.

    golore's exports have no dictionaries, so that a value takes at least 4 bytes before compression.
    """
    try:
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as file:
            found, names = file.metadata, frozenset(file.schema_arrow.names)
            chunks = [
                found.row_group(group).column(column)
                for group in range(found.num_row_groups)
                for column in range(found.num_columns)
            ]
            size = sum(chunk.total_uncompressed_size for chunk in chunks)
            values = sum(chunk.num_values for chunk in chunks)
            encodings = {encoding for chunk in chunks for encoding in chunk.encodings}
    except (*_INVALID, MemoryError) as failure:
        raise UsageError(f"{path} cannot be read ({failure}). Nothing was changed; export again.") from failure
    is_sound = (
        found.num_rows == rows
        and size <= _max_bytes(path)
        and values <= rows * found.num_columns + size // 4
        and rows * 4 <= size
        and not any("DICTIONARY" in encoding for encoding in encodings)
        and names >= _OTHER_COLUMNS.get(name, frozenset())
    )
    if not is_sound:
        raise UsageError(f"{path} is not a table that golore exported. Nothing was changed; export again.")


def _import_facts(source: Path, directory: Path) -> int:
    """Import the cached facts and resolutions, so that the next learn extracts only new code. Returns the number of
    facts."""
    facts = 0
    with Cache.open(directory / CACHE_NAME) as cache:
        for batch in _batches_of(source, FACTS):
            cache.put_many(CachedFacts(**row) for row in batch.to_pylist())
            facts += batch.num_rows
        cache.set_resolutions(CachedResolution(**row) for row in _rows_of(source, RESOLVED))
    return facts


def _rows_of(source: Path, name: str) -> Iterator[Row]:
    for batch in _batches_of(source, name):
        yield from batch.to_pylist()


def _batches_of(source: Path, name: str) -> Iterator[Any]:
    """The record batches of a table. Raises `ValueError` if they take more memory than the size of the file explains,
    whatever its metadata says."""
    path = source / f"{name}.parquet"
    if not path.is_file():
        return
    left = _max_bytes(path)
    columns = sorted(_OTHER_COLUMNS[name]) if name in _OTHER_COLUMNS else None
    # A page can expand to any size, which only the limit stops.
    before = set_memory_limit(_READER_MEMORY)
    try:
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS[columns is None], columns=columns):
                batch.validate(full=True)
                left -= batch.nbytes
                if left < 0:
                    raise ValueError(f"{path.name} expands to more than its size explains")
                yield batch
    finally:
        restore_memory_limit(before)


def _max_bytes(path: Path) -> int:
    """The most bytes that the rows of an exported table may take."""
    return _SMALL_TABLE + _MAX_RATIO * path.stat().st_size


def _last_line(source: Path) -> Row:
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - _TAIL_BYTES))
        tail = file.read()
    try:
        last: Any = json.loads(tail.splitlines()[-1]) if tail.endswith(b"\n") else {}
    except (ValueError, RecursionError):
        last = {}
    return cast("Row", last) if isinstance(last, dict) else {}


def _read_json(path: Path) -> Row:
    try:
        found: Any = json.loads(read_regular(path, _MAX_HEADER, follow=True))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Row", found) if isinstance(found, dict) else {}
