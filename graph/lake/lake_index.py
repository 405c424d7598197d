"""The index of a lake: the uses across repositories in a few sorted files, so that a question reads little.

It is derived from the newest publication of each repository, and can be made again at any time. `made.json`, written
last, says which publications it covers. A repository that has published since is read from its own tables (see
`fleet`), so an old index is slow but not wrong.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from golore.graph.errors import LakeError
from golore.graph.lake.bucket import KeyDigest, Lake
from golore.graph.lake.heads import Document, Head, newest_keys, read_document, read_head
from golore.graph.lake.keys import INDEXES, MADE, HeadKey, index_folder, made_folder, stamp_after
from golore.graph.lake.segments import ACROSS, STD, SUFFIX, SYMBOLS, UNRESOLVED, write_table

INDEXED: Final = (ACROSS, STD, SYMBOLS, UNRESOLVED)
_NAMES: Final = ("name", "kind", "file", "line")
_MOST_RECENT: Final = 4
_RECENT: Final[dict[tuple[str, str], Index]] = {}
_RECENT_LOCK: Final = threading.Lock()
NUMBER: Final = "repository"
"""Column with the position of the repository in `Made.covered`."""


class Covered(msgspec.Struct, frozen=True):
    stamp: str
    publication: str
    head: Head

    @property
    def key(self) -> HeadKey:
        return HeadKey(self.head.repository, self.stamp, self.head.commit, self.publication)


class Made(Document, frozen=True):
    """What an index was made from. `unreadable`: repositories that it lacks, with the reason."""

    made: str
    golore: str
    covered: tuple[Covered, ...]
    unreadable: dict[str, str]
    tables: dict[str, KeyDigest]


class Index(msgspec.Struct, frozen=True):
    folder: str
    made: Made


def newest_index(lake: Lake) -> Index | None:
    """The newest index that this golore can read."""
    folders = [folder for name in lake.names(INDEXES) if (folder := made_folder(name))]
    for folder in sorted(folders, reverse=True):
        try:
            return _index(lake, folder)
        except LakeError:
            continue
    return None


def _index(lake: Lake, folder: str) -> Index:
    """The index in a folder, whose name is random. A server asks for the same one with every question, and what is
    written to a lake never changes, so the last ones stay in memory."""
    key = (lake.name, folder)
    with _RECENT_LOCK:
        found = _RECENT.pop(key, None) or Index(folder, read_document(lake, f"{folder}/{MADE}", Made))
        _RECENT[key] = found
        if len(_RECENT) > _MOST_RECENT:
            del _RECENT[next(iter(_RECENT))]
    return found


def compact(lake: Lake) -> tuple[Index, bool]:
    """Make an index of the newest publications. Returns it, and whether it is new: if nothing was published since the
    last one, that one is returned."""
    keys = newest_keys(lake, {})
    last = newest_index(lake)
    if last is not None and _is_current(last, keys.values()):
        return last, False
    known = {one.key: one.head for one in last.made.covered} if last is not None else {}
    covered: list[Covered] = []
    unreadable: dict[str, str] = {}
    parts: dict[str, list[Any]] = {name: [] for name in INDEXED}
    with TemporaryDirectory(prefix="golore-compact-") as temporary:
        for key in keys.values():
            try:
                head = known.get(key) or read_head(lake, key)
                tables = _tables(lake, key, head, Path(temporary), len(covered))
            except LakeError as failure:
                unreadable[key.repository] = str(failure)
                continue
            covered.append(Covered(key.stamp, key.publication, _without_files(head)))
            for name, table in tables.items():
                parts[name].append(table)
        folder = index_folder(stamp_after(datetime.now(UTC), last.folder.split("/")[1][:22] if last else ""))
        written = {name: _write(lake, folder, name, found, Path(temporary)) for name, found in parts.items() if found}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = Made(now, metadata.version("golore"), tuple(covered), unreadable, written)
    lake.write(f"{folder}/{MADE}", msgspec.json.encode(made, order="sorted"))
    return Index(folder, made), True


def _without_files(head: Head) -> Head:
    """The head, without the files of its store: a question does not need them, and reads the heads of all."""
    store = msgspec.structs.replace(head.store, files={}) if head.store is not None else None
    return msgspec.structs.replace(head, store=store)


def _is_current(index: Index, keys: Iterable[HeadKey]) -> bool:
    """Whether an index covers exactly these publications, with all tables that an index has now."""
    made = index.made
    has_all = set(INDEXED) <= made.tables.keys() or not made.covered
    return has_all and not made.unreadable and {one.key for one in made.covered} == set(keys)


def _tables(lake: Lake, key: HeadKey, head: Head, folder: Path, number: int) -> dict[str, Any]:
    """The tables of a publication that are indexed, with the number of the repository, after checking their digests."""
    pa, pq = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    found: dict[str, Any] = {}
    for name in INDEXED:
        path = folder / f"{number}-{name}"
        if name not in head.tables:
            raise LakeError(f"{key.key} in the lake {lake.name} lacks the table {name}.")
        lake.download(f"{key.folder}/{name}{SUFFIX}", path, head.tables[name])
        try:
            table = pq.read_table(path)
            table = _REDUCED[name](table) if name in _REDUCED else table
            found[name] = table.append_column(NUMBER, pa.repeat(pa.scalar(number, pa.int32()), table.num_rows))
        except (pa.ArrowException, OSError, KeyError) as failure:
            raise LakeError(f"{key.folder}/{name}{SUFFIX} in the lake {lake.name} is damaged.") from failure
        path.unlink()
    return found


def unresolved_counts(table: Any) -> Any:
    """The number of unresolved sites of each name."""
    pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    sites = pc.add(pc.count_substring(table["sites"], " "), 1)
    counted = pa.table({"name": table["name"], "sites": sites.cast(pa.int64())})
    grouped = counted.group_by("name", use_threads=False).aggregate([("sites", "sum")])
    return pa.table({"name": grouped["name"], "sites": grouped["sites_sum"]})


def exported_names(table: Any) -> Any:
    """The declarations that other repositories may name, without fields. A table that was reduced stays as it is."""
    if "exported" not in table.column_names:
        return table
    pc = importlib.import_module("pyarrow.compute")
    table = table.filter(pc.and_(table["exported"], pc.not_equal(table["kind"], "field")))
    return table.filter(pc.invert(pc.ends_with(table["file"], "_test.go"))).select(_NAMES)


_REDUCED: Final = {UNRESOLVED: unresolved_counts, SYMBOLS: exported_names}
"""Tables of which the index has less than the publications."""


def _write(lake: Lake, folder: str, name: str, tables: list[Any], temporary: Path) -> KeyDigest:
    pa = importlib.import_module("pyarrow")
    table = pa.concat_tables(tables).combine_chunks()
    order = [(column, "ascending") for column in (table.column_names[0], NUMBER, *table.column_names[1:-1])]
    path = temporary / f"{name}{SUFFIX}"
    write_table(table.sort_by(order), path, is_small=True)
    return lake.write(f"{folder}/{name}{SUFFIX}", path)
