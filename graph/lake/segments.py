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
    parts: dict[str, list[Any]] = {scope: [] for scope in _SCOPES}
    for label in _LABELS:
        parts[OWN].append(_edges(store, pa, nodes, label, "Symbol"))
        _split(pc, _edges(store, pa, nodes, label, "External"), parts)
    parts[OWN].append(_imports(store, pa, nodes, "Package"))
    _split(pc, _imports(store, pa, nodes, "External"), parts)
    unresolved, possible = _unresolved(store, pa, nodes, symbols)
    for scope, table in possible.items():
        parts[scope].append(table)
    tables = {scope: _distinct(pa, pc, pa.concat_tables(parts[scope]).select(USE_COLUMNS)) for scope in _SCOPES}
    tables |= {SYMBOLS: _sorted(symbols), UNRESOLVED: _sorted(unresolved)}
    for name, table in tables.items():
        write_table(table, folder / f"{name}{SUFFIX}")
    return {name: table.num_rows for name, table in tables.items()}


def write_table(table: Any, path: Path) -> None:
    """Pages have checksums, because a reader reads only a few of them and so cannot check the digest of the key."""
    importlib.import_module("pyarrow.parquet").write_table(
        table, path, row_group_size=_ROWS, compression="zstd", write_page_checksum=True
    )


def _read_nodes(store: Store, pa: Any) -> tuple[_Nodes, Any]:
    names = ("name", "kind", "file", "line", "signature", "package", "exported", "owner")
    columns = store.columns(
        "MATCH (s:Symbol) RETURN offset(id(s)), s.qualified_name, s.kind, s.file, s.line, s.signature, s.package, "
        "s.exported, s.owner"
    )
    offsets, *values = columns or [[] for _ in range(len(names) + 1)]
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.bool_(), pa.string())
    symbols = pa.table([pa.array(column, type) for column, type in zip(values, types, strict=True)], names=names)
    outside = store.columns("MATCH (e:External) RETURN offset(id(e)), e.id, e.source") or [[], [], []]
    packages = store.columns("MATCH (p:Package) RETURN offset(id(p)), p.path") or [[], []]
    files = store.columns("MATCH (f:File) RETURN offset(id(f)), f.package, f.path") or [[], [], []]
    is_std = [source in _STD_SOURCES for source in outside[2]]
    nodes = _Nodes(
        _by_offset(pa, offsets, values[0]),
        _by_offset(pa, offsets, values[2]),
        _by_offset(pa, outside[0], outside[1]),
        _by_offset(pa, outside[0], is_std, "bool"),
        _by_offset(pa, packages[0], packages[1]),
        _by_offset(pa, files[0], files[1]),
        _by_offset(pa, files[0], files[2]),
    )
    return nodes, symbols


def _by_offset(pa: Any, offsets: Sequence[int], values: Sequence[Any], type: str = "string") -> Any:
    found: list[Any] = [None] * (max(offsets, default=-1) + 1)
    for offset, value in zip(offsets, values, strict=True):
        found[offset] = value
    return pa.array(found, type)


def _edges(store: Store, pa: Any, nodes: _Nodes, label: str, target: str) -> Any:
    sites = "e.sites" if label in _WITH_SITES else "''"
    access = "e.access" if label == "REFERENCES" else "''"
    columns = store.columns(
        f"MATCH (a:Symbol)-[e:{label}]->(b:{target}) RETURN offset(id(a)), offset(id(b)), {sites}, {access}"
    ) or [[], [], [], []]
    sources, targets = pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.int64())
    names = nodes.symbols if target == "Symbol" else nodes.externals
    found = {
        "target": names.take(targets),
        "kind": pa.repeat(label, len(sources)),
        "source": nodes.symbols.take(sources),
        "file": nodes.files.take(sources),
        "sites": pa.array(columns[2], pa.string()),
        "access": pa.array(columns[3], pa.string()),
    }
    return pa.table(found | ({"std": nodes.is_std.take(targets)} if target == "External" else {}))


def _imports(store: Store, pa: Any, nodes: _Nodes, target: str) -> Any:
    columns = store.columns(
        f"MATCH (f:File)-[e:IMPORTS]->(b:{target}) RETURN offset(id(f)), offset(id(b)), e.sites"
    ) or [[], [], []]
    sources, targets = pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.int64())
    names = nodes.packages if target == "Package" else nodes.externals
    found = {
        "target": names.take(targets),
        "kind": pa.repeat(IMPORTS, len(sources)),
        "source": nodes.file_packages.take(sources),
        "file": nodes.file_names.take(sources),
        "sites": pa.array(columns[2], pa.string()),
        "access": pa.repeat("", len(sources)),
    }
    return pa.table(found | ({"std": nodes.is_std.take(targets)} if target == "External" else {}))


def _split(pc: Any, table: Any, parts: dict[str, list[Any]]) -> None:
    """Sort uses of external symbols into those of the standard library and the others."""
    parts[STD].append(table.filter(table["std"]).drop_columns(["std"]))
    parts[ACROSS].append(table.filter(pc.invert(table["std"])).drop_columns(["std"]))


def _unresolved(store: Store, pa: Any, nodes: _Nodes, symbols: Any) -> tuple[Any, dict[str, Any]]:
    """The unresolved uses, and one row for each possible target of them, by scope."""
    columns = store.columns(
        "MATCH (u:Unresolved) RETURN u.name, u.source, u.file, u.sites, u.reason, u.candidates"
    ) or [[] for _ in range(6)]
    fields = [pa.array(column, pa.string()) for column in columns[:5]]
    table = pa.table(fields, names=("name", "source", "file", "sites", "reason"))
    own = set(symbols["name"].to_pylist())
    is_std = dict(zip(nodes.externals.to_pylist(), nodes.is_std.to_pylist(), strict=True))
    rows: dict[str, list[tuple[str, ...]]] = {scope: [] for scope in _SCOPES}
    for _, source, file, sites, _, candidates in zip(*columns, strict=True):
        for candidate in candidates:
            # Of twins, the id of a candidate has the file after an @.
            target = candidate.partition("@")[0]
            scope = OWN if target in own else STD if is_std.get(target) else ACROSS
            rows[scope].append((target, POSSIBLE, source, file, sites, ""))
    types = [(name, pa.string()) for name in USE_COLUMNS]
    possible = {
        scope: pa.table([list(column) for column in zip(*found, strict=True)] or [[]] * 6, schema=pa.schema(types))
        for scope, found in rows.items()
    }
    return table, possible


def _distinct(pa: Any, pc: Any, table: Any) -> Any:
    """Sorted and without repeated rows: twins have one name, so edges to each of them give equal rows."""
    table = _sorted(table).combine_chunks()
    if table.num_rows < 2:
        return table
    is_new: Any = None
    for column in table.columns:
        values = column.combine_chunks()
        differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
        is_new = differs if is_new is None else pc.or_(is_new, differs)
    return table.filter(pa.concat_arrays([pa.array([True]), is_new]))


def _sorted(table: Any) -> Any:
    table = table.combine_chunks()
    return table.sort_by([(name, "ascending") for name in table.column_names])
