"""Makes the tables that a repository publishes, from its graph. All are sorted, so that a reader finds a name quickly.

- `own`, `across`, `std`: uses of what the repository itself, another module or the standard library declares, by the
  qualified name of the target. Ids are not used: they differ between builds of the same name.
- `symbols`: what the repository declares, by qualified name.
- `unresolved`: uses whose target is not known, by the name that is used.

A use that is unresolved, but whose possible targets are known, is also a row of the first three, with the kind
`POSSIBLE`: a reader lists it as a candidate, never as a use.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store

OWN: Final = "own"
ACROSS: Final = "across"
STD: Final = "std"
SYMBOLS: Final = "symbols"
UNRESOLVED: Final = "unresolved"
TABLES: Final = (OWN, ACROSS, STD, SYMBOLS, UNRESOLVED)
USE_COLUMNS: Final = ("target", "kind", "source", "file", "sites", "access")
POSSIBLE: Final = "POSSIBLE"
IMPORTS: Final = "IMPORTS"
SUFFIX: Final = ".parquet"
_LABELS: Final = ("CALLS", "REFERENCES", "EMBEDS", "IMPLEMENTS")
_WITH_SITES: Final = ("CALLS", "REFERENCES", "EMBEDS")
_STD_SOURCES: Final = ("std", "builtin", "goroot")
_ROWS: Final = 8_192
"""Rows of a group: what a reader of one name reads at least. With more, a search of many steps was slower."""
_SCOPES: Final = (OWN, ACROSS, STD)
_RANKED: Final = ("target", "kind", "source", "file", "name")
"""Columns of texts that repeat."""
_LARGEST_KEY: Final = 1 << 62


class _Nodes(NamedTuple):
    """Arrays by the offset of a node in its table, which edges are read with. Offsets of removed nodes have nulls."""

    symbols: Any
    files: Any
    externals: Any
    is_std: Any
    packages: Any
    file_packages: Any
    file_names: Any


def write_segments(store: Store, folder: Path) -> dict[str, int]:
    """Write the tables of a store to `folder` and return their numbers of rows."""
    pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    nodes, symbols = _read_nodes(store, pa)
    unresolved, possible = _unresolved(store, pa, nodes, symbols)
    nodes, possible = _encoded(pa, pc, nodes, possible)
    parts: dict[str, list[Any]] = {scope: [possible[scope]] for scope in _SCOPES}
    for label in _LABELS:
        parts[OWN].append(_edges(store, pa, nodes, label, "Symbol"))
        _split(pc, _edges(store, pa, nodes, label, "External"), parts)
    parts[OWN].append(_imports(store, pa, nodes, "Package"))
    _split(pc, _imports(store, pa, nodes, "External"), parts)
    tables = {scope: _distinct(pa, pc, pa.concat_tables(parts[scope]).select(USE_COLUMNS)) for scope in _SCOPES}
    tables |= {SYMBOLS: _sorted(symbols), UNRESOLVED: _sorted(unresolved)}
    for name, table in tables.items():
        write_table(table, folder / f"{name}{SUFFIX}")
    return {name: table.num_rows for name, table in tables.items()}


def write_table(table: Any, path: Path, *, is_small: bool = False) -> None:
    """Pages have checksums, because a reader reads only a few of them and so cannot check the digest of the key.
    `is_small`: take more time for fewer bytes, for what is written once and read by all."""
    # Few of these values repeat within a group of rows, so a dictionary of them takes more than it saves.
    plain = {"source", "sites"} if is_small else set[str]()
    importlib.import_module("pyarrow.parquet").write_table(
        table,
        path,
        write_statistics=table.column_names[:1],
        row_group_size=_ROWS,
        compression="zstd",
        compression_level=9 if is_small else None,
        use_dictionary=[name for name in table.column_names if name not in plain],
        write_page_checksum=True,
    )


def _read_nodes(store: Store, pa: Any) -> tuple[_Nodes, Any]:
    names = ("name", "kind", "file", "line", "signature", "package", "exported", "owner")
    found = store.table(
        "MATCH (s:Symbol) RETURN offset(id(s)), s.qualified_name, s.kind, s.file, s.line, s.signature, s.package, "
        "s.exported, s.owner"
    )
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.bool_(), pa.string())
    offsets, *values = found.columns
    symbols = pa.table([column.cast(type) for column, type in zip(values, types, strict=True)], names=names)
    outside = store.table("MATCH (e:External) RETURN offset(id(e)), e.id, e.source").columns
    packages = store.table("MATCH (p:Package) RETURN offset(id(p)), p.path").columns
    files = store.table("MATCH (f:File) RETURN offset(id(f)), f.package, f.path").columns
    is_std = pa.compute.is_in(outside[2].cast(pa.string()), value_set=pa.array(_STD_SOURCES))
    nodes = _Nodes(
        _by_offset(pa, offsets, symbols["name"]),
        _by_offset(pa, offsets, symbols["file"]),
        _by_offset(pa, outside[0], outside[1]),
        _by_offset(pa, outside[0], is_std),
        _by_offset(pa, packages[0], packages[1]),
        _by_offset(pa, files[0], files[1]),
        _by_offset(pa, files[0], files[2]),
    )
    return nodes, symbols


def _encoded(pa: Any, pc: Any, nodes: _Nodes, possible: dict[str, Any]) -> tuple[_Nodes, dict[str, Any]]:
    """The same nodes and uses, with names and files as numbers of a sorted list: most names occur in many uses, and
    numbers are quicker to copy and to sort than texts."""
    of_names = [nodes.symbols, nodes.externals, nodes.packages, nodes.file_packages]
    of_names += [table[name] for table in possible.values() for name in ("target", "source")]
    of_files = [nodes.files, nodes.file_names, *(table["file"] for table in possible.values())]
    names, files = (
        pc.unique(pa.chunked_array([part for one in found for part in _chunks(pa, one)], pa.string()))
        .drop_null()
        .sort()
        for found in (of_names, of_files)
    )
    lists = {"target": names, "source": names, "file": files}

    def encode(column: Any, values: Any) -> Any:
        indices = pc.index_in(column, value_set=values)
        make = pa.DictionaryArray.from_arrays
        return pa.chunked_array(
            [make(part, values) for part in _chunks(pa, indices)], pa.dictionary(pa.int32(), pa.string())
        )

    for scope, table in possible.items():
        for name, values in lists.items():
            table = table.set_column(table.column_names.index(name), name, encode(table[name], values))
        possible = possible | {scope: table}
    encoded = nodes._replace(
        symbols=encode(nodes.symbols, names),
        externals=encode(nodes.externals, names),
        packages=encode(nodes.packages, names),
        file_packages=encode(nodes.file_packages, names),
        files=encode(nodes.files, files),
        file_names=encode(nodes.file_names, files),
    )
    return encoded, possible


def _chunks(pa: Any, column: Any) -> list[Any]:
    return [column] if isinstance(column, pa.Array) else column.chunks


def _by_offset(pa: Any, offsets: Any, values: Any) -> Any:
    """The values as an array by offset, with null for offsets that no node has."""
    offsets = pa.chunked_array(
        [offsets.cast(pa.int64())] if isinstance(offsets, pa.Array) else offsets.cast(pa.int64()).chunks, pa.int64()
    )
    last = pa.compute.max(offsets).as_py()
    positions = pa.compute.index_in(pa.array(range(-1 if last is None else last + 1), pa.int64()), value_set=offsets)
    return values.take(positions)


def _edges(store: Store, pa: Any, nodes: _Nodes, label: str, target: str) -> Any:
    sites = "e.sites" if label in _WITH_SITES else "''"
    access = "e.access" if label == "REFERENCES" else "''"
    columns = store.table(
        f"MATCH (a:Symbol)-[e:{label}]->(b:{target}) RETURN offset(id(a)), offset(id(b)), {sites}, {access}"
    ).columns
    names = nodes.symbols if target == "Symbol" else nodes.externals
    return _uses(pa, columns, label, nodes.symbols, nodes.files, names, nodes.is_std if target == "External" else None)


def _imports(store: Store, pa: Any, nodes: _Nodes, target: str) -> Any:
    columns = store.table(
        f"MATCH (f:File)-[e:IMPORTS]->(b:{target}) RETURN offset(id(f)), offset(id(b)), e.sites, ''"
    ).columns
    names = nodes.packages if target == "Package" else nodes.externals
    is_std = nodes.is_std if target == "External" else None
    return _uses(pa, columns, IMPORTS, nodes.file_packages, nodes.file_names, names, is_std)


def _uses(pa: Any, columns: Sequence[Any], kind: str, sources: Any, files: Any, targets: Any, is_std: Any) -> Any:
    """The uses of a result with the offsets of both ends, the sites and the accesses."""
    source, target = columns[0].cast(pa.int64()), columns[1].cast(pa.int64())
    found = {
        "target": targets.take(target),
        "kind": pa.repeat(kind, len(source)),
        "source": sources.take(source),
        "file": files.take(source),
        "sites": columns[2].cast(pa.string()),
        "access": columns[3].cast(pa.string()),
    }
    return pa.table(found | ({"std": is_std.take(target)} if is_std is not None else {}))


def _split(pc: Any, table: Any, parts: dict[str, list[Any]]) -> None:
    """Sort uses of external symbols into those of the standard library and the others."""
    parts[STD].append(table.filter(table["std"]).drop_columns(["std"]))
    parts[ACROSS].append(table.filter(pc.invert(table["std"])).drop_columns(["std"]))


def _unresolved(store: Store, pa: Any, nodes: _Nodes, symbols: Any) -> tuple[Any, dict[str, Any]]:
    """The unresolved uses, and one row for each possible target of them, by scope."""
    pc = importlib.import_module("pyarrow.compute")
    *columns, candidates = store.table(
        "MATCH (u:Unresolved) RETURN u.name, u.source, u.file, u.sites, u.reason, u.candidates"
    ).columns
    names = ("name", "source", "file", "sites", "reason")
    table = pa.table([column.cast(pa.string()) for column in columns], names=names)
    candidates = candidates.cast(pa.list_(pa.string()))
    # Of twins, the id of a candidate has the file after an @.
    targets = pc.replace_substring_regex(pc.list_flatten(candidates), "(?s)@.*", "")
    users = table.take(pc.list_parent_indices(candidates))
    rows = pa.table(
        {
            "target": targets,
            "kind": pa.repeat(POSSIBLE, len(targets)),
            "source": users["source"],
            "file": users["file"],
            "sites": users["sites"],
            "access": pa.repeat("", len(targets)),
        }
    )
    is_own = pc.is_in(targets, value_set=symbols["name"])
    is_std = pc.and_not(pc.is_in(targets, value_set=nodes.externals.filter(nodes.is_std)), is_own)
    is_across = pc.invert(pc.or_(is_own, is_std))
    return table, {OWN: rows.filter(is_own), STD: rows.filter(is_std), ACROSS: rows.filter(is_across)}


def _distinct(pa: Any, pc: Any, table: Any) -> Any:
    """Sorted and without repeated rows: twins have one name, so edges to each of them give equal rows."""
    table, keys = _sorted_with_keys(table)
    texts = pa.schema([(name, pa.string()) for name in table.column_names])
    if table.num_rows < 2:
        return table.cast(texts)
    is_new: Any = None
    for column in keys.columns:
        values = column.combine_chunks()
        differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
        is_new = differs if is_new is None else pc.or_(is_new, differs)
    return table.filter(pa.concat_arrays([pa.array([True]), is_new])).cast(texts)


def _sorted(table: Any) -> Any:
    return _sorted_with_keys(table)[0]


def _sorted_with_keys(table: Any) -> tuple[Any, Any]:
    """The table sorted by all its columns, and the columns that it was sorted by, which order rows as the values do.

    The names come first and decide almost always. They are sorted as numbers, several of which are parts of one."""
    pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    table = table.combine_chunks()
    keys: dict[str, Any] = {}
    room = 0
    for name in table.column_names:
        if name not in _RANKED:
            keys[name], room = table[name], 0
            continue
        ranks, count = _ranks(pa, pc, table[name])
        if 0 < count <= room:
            last = next(reversed(keys))
            keys[last] = pc.add(pc.multiply(keys[last], count), ranks)
            room //= max(count, 1)
        else:
            keys[name], room = ranks, _LARGEST_KEY // max(count, 1)
    found = pa.table(keys)
    order = pc.sort_indices(found, sort_keys=[(name, "ascending") for name in keys])
    return table.take(order), found.take(order)


def _ranks(pa: Any, pc: Any, column: Any) -> tuple[Any, int]:
    """For each value, its position among the different values of the column, and the number of these."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # without rows
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(encoded.type):  # of a sorted list (see `_encoded`)
        return encoded.indices.cast(pa.int64()), len(encoded.dictionary)
    encoded = encoded.dictionary_encode()
    position = pc.sort_indices(pc.sort_indices(encoded.dictionary))
    return position.take(encoded.indices).cast(pa.int64()), len(encoded.dictionary)
