"""Writes the whole store as a directory of Parquet files: one for each table of the graph, for its meta rows, for the
rows of knowledge, and for the cached facts and resolutions that a learn would otherwise have to compute again.

`export.json` has the header that an import checks, with the digest of each file. The directory gets its name when it
is complete. The same store gives the same bytes, with the same version of Arrow.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.arrow_spool import table_name
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.files.cache_db import Cache
from golore.graph.files.graph_digests import file_digest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import read_transaction
from golore.graph.files.read_only_caches import ReadOnlyCaches
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS, edge_columns_of, node_columns_of
from golore.graph.transfer.jsonl_export import encoded_rows, exported_meta, header_of

HEADER_NAME: Final = "export.json"
KNOWLEDGE: Final = "knowledge"
MARKS: Final = "marks"
FACTS: Final = "facts"
RESOLVED: Final = "resolved"
_BATCH: Final = 16_384
_FACTS_BATCH: Final = 256
"""Facts are large: a hundred kilobytes for a long file."""


class _Table(NamedTuple):
    """A file to write: the names and types of its columns, and its content in batches, column by column."""

    name: str
    columns: tuple[tuple[str, str], ...]
    batches: Iterable[Sequence[Sequence[Any]]]


def export_parquet(store: Store, output: Path) -> None:
    """Write the export to the directory `output`. Replaces an earlier export of that name; raises `UsageError` if it is
    anything else."""
    if output.exists() and not (output / HEADER_NAME).is_file():
        raise UsageError(f"{output} exists and is not an export. Choose another name.")
    temporary = output.with_name(f"{output.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        tables = {table.name: _write(temporary, table) for table in _tables(store)}
        header = {**header_of(store)._asdict(), "tables": {name: info for name, info in tables.items() if info["rows"]}}
        (temporary / HEADER_NAME).write_text(json.dumps(header, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        if output.exists():
            old = output.with_name(f"{output.name}.{os.getpid()}.old")
            output.rename(old)
            temporary.rename(output)
            shutil.rmtree(old)
        else:
            temporary.rename(output)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _tables(store: Store) -> Iterator[_Table]:
    for label in sorted(NODE_COLUMNS):
        types = tuple((column.name, column.type) for column in NODE_COLUMNS[label])
        yield _Table(label, types, (node_columns_of(label, rows) for rows in batched(store.nodes(label), _BATCH)))
    for kind in sorted(EDGE_KINDS):
        types = (("source", "STRING"), ("target", "STRING"))
        types += tuple((column.name, column.type) for column in EDGE_COLUMNS[kind.label])
        rows = batched(store.edges(kind), _BATCH)
        yield _Table(table_name(kind), types, (edge_columns_of(kind, batch) for batch in rows))
    meta = exported_meta(store)
    yield _Table(MARKS, (("id", "STRING"), ("value", "STRING")), [[list(meta), list(meta.values())]] if meta else [])
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge, read_transaction(knowledge):
            rows = batched(encoded_rows(knowledge), _BATCH)
            yield _Table(KNOWLEDGE, (("label", "STRING"), ("row", "STRING")), map(_transposed, rows))
    yield from _cache_tables(store.directory / CACHE_NAME)


def _cache_tables(path: Path) -> Iterator[_Table]:
    if not path.is_file():
        return
    with Cache.open(path) as cache, ReadOnlyCaches((path,)) as facts:
        keys = sorted(cache.keys())
        fact_rows = (row for key in keys if (row := facts.facts(key)) is not None)
        types = (("key", "STRING"), *((name, "BYTES") for name in ("head", "outline", "shape", "body")))
        yield _Table(FACTS, types, (_transposed(batch) for batch in batched(fact_rows, _FACTS_BATCH)))
        resolved = cache.get_resolutions(sorted(cache.resolution_keys()))
        types = (("path", "STRING"), ("key", "STRING"), ("rows", "BYTES"))
        yield _Table(RESOLVED, types, [_transposed(rows)] if (rows := sorted(resolved)) else [])


def _write(directory: Path, table: _Table) -> dict[str, object]:
    pa = importlib.import_module("pyarrow")
    types: dict[str, Any] = {
        "STRING": pa.string(),
        "INT64": pa.int64(),
        "BOOL": pa.bool_(),
        "STRING[]": pa.list_(pa.string()),
        "BYTES": pa.binary(),
    }
    schema: Any = pa.schema([(name, types[type]) for name, type in table.columns])
    writer: Any = None
    path, rows = directory / f"{table.name}.parquet", 0
    try:
        for columns in table.batches:
            if writer is None:
                writer = importlib.import_module("pyarrow.parquet").ParquetWriter(
                    path, schema, compression="zstd", use_dictionary=False, write_statistics=False
                )
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            rows += len(columns[0])
    finally:
        if writer is not None:
            writer.close()
    return {"rows": rows, "digest": file_digest(path) if rows else ""}


def batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch


def _transposed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [[row[at] for row in rows] for at in range(len(rows[0]))]
