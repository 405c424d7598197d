"""Packs the files of a store for a lake, each compressed by itself, and unpacks them.

There is no archive, so there are no paths or links in one: a file is unpacked only under a name that the caller allows,
after its digest was checked, and up to the size that its head gives. Knowledge is never packed. The graph and the cards
contain copies of notes and summaries, so a store that has any is not packed at all (see `reason_not_to_pack`).
"""

from __future__ import annotations

import importlib
import shutil
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.engine import engine_name
from golore.graph.database.store import Store
from golore.graph.errors import LakeError, StoreMissing
from golore.graph.files.cache_db import remove_cache
from golore.graph.files.handover import prepare_successor
from golore.graph.files.identity import graph_identity, record_equivalent_state
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.layout import generation_of
from golore.graph.files.manifest import Manifest, read_manifest
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.lake.bucket import Lake
from golore.graph.lake.heads import Head, WarmStore
from golore.graph.lake.keys import HeadKey
from golore.graph.model.tables import SCHEMA_VERSION
from golore.graph.safety.system import rename_over

_PRIVATE: Final = ("deck_shown", "search_ratings")
"""Tables of the cache about this user: what sessions were shown, and what was rated."""
_KNOWLEDGE: Final = ("notes", "summaries", "ratings")
_PIECE: Final = 1 << 20
_LARGEST: Final = 64 << 30
"""Bytes. The store of Kubernetes has half a gigabyte."""
_WAIT: Final = 30.0


class PackedPart(NamedTuple):
    """A file of the store: its name, the compressed copy, and its size when it is unpacked."""

    name: str
    path: Path
    size: int


def packed_key(head: HeadKey, name: str) -> str:
    return f"{head.folder}/store-{name}.zst"


def reason_not_to_pack(store: Store) -> str:
    """Why the store must stay on this machine; empty if it may be published."""
    found = sum(next(store.rows(f"MATCH (n:{label}) RETURN count(*)"))[0] for label in ("Note", "Summary"))
    if Knowledge.exists(store.directory):
        with Knowledge.open(store.directory) as knowledge:
            found += sum(next(knowledge.rows(f"SELECT count(*) FROM {table}"))[0] for table in _KNOWLEDGE)
    return "it has notes, summaries or ratings, which stay with their owner" if found else ""


@contextmanager
def locked_store(directory: Path) -> Generator[tuple[Store, Manifest]]:
    """Keep writers out during the block. The graph has no log then: one file is all of it."""
    with Store.open(directory, write=True, wait=_WAIT) as store:
        if store.log_bytes:
            identity = graph_identity(directory)
            store.checkpoint()
            record_equivalent_state(directory, identity)
        manifest = read_manifest(directory)
        if manifest is None:
            raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
        yield store, manifest


def pack_store(directory: Path, manifest: Manifest, names: Sequence[str], folder: Path) -> list[PackedPart]:
    """Compress the graph, the cache and the other files with these names, if they exist, into `folder`."""
    parts = [_pack(directory / manifest.graph, manifest.graph, folder)]
    if (directory / CACHE_NAME).is_file():
        copy = folder / CACHE_NAME
        _copy_cache(directory / CACHE_NAME, copy)
        parts.append(_pack(copy, CACHE_NAME, folder))
        copy.unlink()
    return parts + [_pack(directory / name, name, folder) for name in names if (directory / name).is_file()]


def require_fitting(store: WarmStore, edition: str) -> str:
    """Why this golore cannot use a packed store; empty if it can."""
    if store.edition != edition or store.schema != SCHEMA_VERSION:
        return "another version of golore published it"
    return "" if store.engine == engine_name() else f"it was made with the engine {store.engine}"


def install_store(lake: Lake, key: HeadKey, head: Head, directory: Path, names: Sequence[str]) -> None:
    """Make the packed store the graph and the cache of a store directory, which becomes this user's if it is new.
    Notes, summaries and ratings in it stay as they are. Nothing changes if a file of the lake is damaged."""
    store = head.store
    if store is None:
        raise LakeError(f"{key.key} in the lake {lake.name} has no store.")
    _require_names(store, names, key, lake)
    with prepare_successor(directory) as successor:
        for name, file in store.files.items():
            packed, target = successor.stage / f"{name}.zst", successor.stage / name
            lake.download(packed_key(key, name), packed, file.packed)
            _unpack(packed, successor.database if name == store.graph else target, file.size, lake, key)
            packed.unlink()
        remove_cache(directory / CACHE_NAME)
        for name in names:
            (directory / name).unlink(missing_ok=True)
        # A store whose graph is still the old one can have a newer cache, should this process be killed here: it is
        # only a cache, and what is saved about a graph names that graph.
        for name in store.files.keys() - {store.graph}:
            rename_over(successor.stage / name, directory / name)
        successor.take_over(Manifest(store.schema, store.engine, head.golore, successor.database.name))
    record_equivalent_state(directory, store.identity)


def _require_names(store: WarmStore, names: Sequence[str], key: HeadKey, lake: Lake) -> None:
    is_known = bool(generation_of(store.graph)) and store.graph.endswith(".db") and store.graph in store.files
    if not is_known or not store.files.keys() <= {store.graph, CACHE_NAME, *names}:
        raise LakeError(f"{key.key} in the lake {lake.name} lists files that are not of a store, so it is not used.")
    sizes = [size for file in store.files.values() for size in (file.size, file.packed.size)]
    if min(sizes) < 0 or sum(sizes) > _LARGEST:
        raise LakeError(f"{key.key} in the lake {lake.name} has a store of an impossible size, so it is not used.")


def _copy_cache(path: Path, copy: Path) -> None:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as cache:
        cache.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as cache:
        cache.execute("PRAGMA secure_delete = ON")
        tables = {name for (name,) in cache.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in tables.intersection(_PRIVATE):
            cache.execute(f"DELETE FROM {table}")


def _pack(path: Path, name: str, folder: Path) -> PackedPart:
    pa: Any = importlib.import_module("pyarrow")
    target, size = folder / f"{name}.zst", path.stat().st_size
    with path.open("rb") as file, pa.output_stream(str(target), compression="zstd") as stream:
        shutil.copyfileobj(file, stream, _PIECE)
    return PackedPart(name, target, size)


def _unpack(packed: Path, target: Path, size: int, lake: Lake, key: HeadKey) -> None:
    pa: Any = importlib.import_module("pyarrow")
    left = size
    try:
        with pa.input_stream(str(packed), compression="zstd") as stream, target.open("xb") as file:
            while piece := stream.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    break
                file.write(piece)
    except pa.ArrowException as failure:
        raise LakeError(f"{key.key} in the lake {lake.name} has a damaged store, so it is not used.") from failure
    if left:
        raise LakeError(f"{key.key} in the lake {lake.name} has a store of another size, so it is not used.")
