"""Vectors as properties of the nodes they describe: `vector`, and `vector_key`, the digest of the text it was made of.

The columns exist only in graphs that have vectors, because their type contains the number of dimensions. They are a
copy: the vectors themselves are in files beside the graph (see `search.vectors`).

A few vectors are set in place. For many, the whole graph is loaded again beside the current one, with its vectors. Of
384 numbers, loading 50,000 vectors takes 7 s of processor time in Ladybug; setting 100 in one transaction takes 0.06 s,
500 take 0.5 s, and setting 100,000 had not ended after 90 s.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Final, Protocol, TypeVar

from golore.graph.database.arrow import import_arrow
from golore.graph.database.arrow_spool import ArrowFile, spool_schema
from golore.graph.database.bulk_load import BulkLoad
from golore.graph.database.change_log import NO_CHANGES, record_changed_nodes
from golore.graph.database.store import Store
from golore.graph.database.vector_changes import VECTOR, VECTOR_KEY, VECTOR_LABELS
from golore.graph.files.identity import graph_identity, record_equivalent_state
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.tables import META_TABLE, NODE_COLUMNS, node_columns_of

_MARK: Final = "projected vectors"
"""Name of the meta row that identifies the vectors of a graph. Exports leave out rows with this beginning."""
_BATCH: Final = 100
"""Vectors in one transaction."""
_LOADED: Final = 4_096
_NUMBER_BYTES: Final = 4
_POOL_PER_BYTE: Final = 4
_MOST_RESERVED: Final = 2 << 30
"""Bytes of buffer pool for vectors, for each of their bytes and at most: the COPY of 100,000 vectors of 384 numbers
failed with a pool of 550 MB."""

_Row = TypeVar("_Row")
Keys = Mapping[str, Mapping[str, str]]
"""Label → id of a node → key of its text. A node without a text, or without a vector, has an empty key."""


class Vectors(Protocol):
    """Finds vectors by the keys of their texts."""

    @property
    def dimensions(self) -> int: ...

    def vector(self, key: str) -> list[float] | None:
        """A vector of length 1, or None if there is none."""
        ...


def stored_mark(store: Store) -> str:
    """Identifies the vectors in the graph; empty if it has none."""
    return store.meta().get(_MARK, "")


def stored_keys(store: Store) -> dict[str, dict[str, str]]:
    """The keys of the texts whose vectors the graph has."""
    found: dict[str, dict[str, str]] = {}
    for label in VECTOR_LABELS:
        ids, keys = store.columns(f"MATCH (n:{label}) RETURN n.id, n.{VECTOR_KEY}")
        found[label] = dict(zip(ids, keys, strict=True))
    return found


def stored_keys_of(store: Store, label: str, ids: Iterable[str]) -> dict[str, str]:
    statement = f"UNWIND $ids AS i MATCH (n:{label} {{id: i}}) RETURN n.id, n.{VECTOR_KEY}"
    return dict(store.rows(statement, {"ids": sorted(ids)}))


def set_vectors(store: Store, keys: Keys, vectors: Vectors) -> None:
    """Set the vectors of some nodes of a graph that has vectors. `store` is open for writing."""
    rows = [(label, id, key) for label, by_id in sorted(keys.items()) for id, key in sorted(by_id.items())]

    def statements(batch: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
        for label in VECTOR_LABELS:
            settings = [
                {"id": id, "key": key, "vector": vectors.vector(key)} for one, id, key in batch if one == label and key
            ]
            cleared = [id for one, id, key in batch if one == label and not key]
            if settings:
                yield (
                    f"UNWIND $rows AS r MATCH (n:{label} {{id: r.id}}) "
                    f"SET n.{VECTOR} = r.vector, n.{VECTOR_KEY} = r.key",
                    {"rows": settings},
                )
            if cleared:
                yield (
                    f"UNWIND $ids AS i MATCH (n:{label} {{id: i}}) SET n.{VECTOR} = NULL, n.{VECTOR_KEY} = ''",
                    {"ids": cleared},
                )

    for at in range(0, len(rows), _BATCH):
        with _same_graph(store):
            store.write(list(statements(rows[at : at + _BATCH])))


def load_vectors(store: Store, keys: Keys, vectors: Vectors, mark: str) -> None:
    """Load the graph again, with these vectors and no others. `store` is open for writing."""
    meta = {**store.meta(), _MARK: mark}
    columns = tuple(
        f"ALTER TABLE {label} ADD {column}"
        for label in VECTOR_LABELS
        for column in (f"{VECTOR} FLOAT[{vectors.dimensions}]", f"{VECTOR_KEY} STRING DEFAULT ''")
    )
    count = sum(1 for by_id in keys.values() for key in by_id.values() if key)
    reserved = min(_POOL_PER_BYTE * _NUMBER_BYTES * vectors.dimensions * count, _MOST_RESERVED)
    generation = store.generation
    with _same_graph(store), store.bulk_load(meta, columns=columns) as load:
        load.reserve(reserved)
        for label in NODE_COLUMNS:
            if label in VECTOR_LABELS:
                _load_nodes(load, label, store, keys.get(label, {}), vectors)
            else:
                for rows in batched(store.nodes(label), _LOADED):
                    load.nodes(label, rows)
        for kind in EDGE_KINDS:
            for rows in batched(store.edges(kind), _LOADED):
                load.edges(kind, rows)
    record_changed_nodes(store.directory, generation, store.generation_on_disk, NO_CHANGES)


def remove_vectors(store: Store) -> None:
    """Remove the vectors from the graph. `store` is open for writing."""
    if stored_mark(store):
        drops: list[tuple[str, dict[str, Any]]] = [
            (f"ALTER TABLE {label} DROP {column}", {}) for label in VECTOR_LABELS for column in (VECTOR, VECTOR_KEY)
        ]
        with _same_graph(store):
            store.write([*drops, (f"MATCH (m:{META_TABLE} {{id: $id}}) DELETE m", {"id": _MARK})])


@contextmanager
def _same_graph(store: Store) -> Generator[None]:
    """Records that the graph is still the one that was learned."""
    identity = graph_identity(store.directory)
    yield
    record_equivalent_state(store.directory, identity)


def _load_nodes(load: BulkLoad, label: str, store: Store, keys: Mapping[str, str], vectors: Vectors) -> None:
    """Spool the nodes of a label with two more columns."""
    pa = import_arrow()
    schema: Any = spool_schema(NODE_COLUMNS[label])
    schema = schema.append(pa.field(VECTOR, pa.list_(pa.float32(), vectors.dimensions)))
    schema = schema.append(pa.field(VECTOR_KEY, pa.string()))
    writer: ArrowFile | None = None
    try:
        for nodes in batched(store.nodes(label), _LOADED):
            writer = writer or ArrowFile(load.directory / f"{label}.vectors.arrow", schema)
            named = [keys.get(node[0], "") for node in nodes]
            values = [*node_columns_of(label, nodes), named]
            fields = [field for field in schema if field.name != VECTOR]
            arrays = [pa.array(column, field.type) for column, field in zip(values, fields, strict=True)]
            arrays.insert(-1, _vector_array(pa, [vectors.vector(key) if key else None for key in named], vectors))
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            load.count({label: len(nodes)})
    finally:
        if writer is not None:
            writer.close()


def _vector_array(pa: Any, found: Sequence[list[float] | None], vectors: Vectors) -> Any:
    """Made of one buffer, because Arrow converts lists of lists number by number."""
    nothing = [0.0] * vectors.dimensions
    numbers = array("f", chain.from_iterable(nothing if one is None else one for one in found))
    flat = pa.Array.from_buffers(pa.float32(), len(numbers), [None, pa.py_buffer(numbers)])
    missing = pa.array([one is None for one in found])
    return pa.FixedSizeListArray.from_arrays(flat, vectors.dimensions, mask=missing)


def batched(rows: Iterable[_Row], size: int) -> Iterator[list[_Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
