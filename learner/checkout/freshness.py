"""Which files have changed since the store was made.

Each learn leaves a snapshot beside the graph: size, time and digest of every file it read, and the times of the
directories it listed. Where all of these are as they were, nothing has changed, and no directory has to be listed.
Where a directory's time differs the tree is walked again; where a file's differs its digest decides. A time so recent
that a later write could bear the same one is never believed.

Of code outside, vendored or put in its place by a `replace`, the files that were read are looked at; new ones there are
not seen, nor is the module cache, where nothing changes, nor git's index.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from golore.graph.database.store import Store
from golore.graph.errors import RepositoryError, StoreError
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.files.identity import graph_identity
from golore.learner.checkout.discovery import Discovery, aside, configs_above, digest, discover

SNAPSHOT_NAME: Final = "snapshot.msgpack"
EDITS_NAME: Final = "edits.msgpack"
RECENT_NS: Final = 2_000_000_000
_VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that are not as they were learned, go.mod and go.work among them."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.added) + len(self.edited) + len(self.deleted)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self.added, *self.edited, *self.deleted}))


class SeenFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file as it was read. A time of 0 is one not to be believed."""

    size: int
    mtime_ns: int
    digest: str


class SeenFiles(msgspec.Struct, frozen=True, array_like=True):
    """What a learn saw. It counts only beside the very graph that was made from it."""

    version: int
    graph: str
    files: dict[str, SeenFile]
    directories: dict[str, int]
    ignores: dict[str, int]
    added: tuple[str, ...] = ()
    """Files that a later walk found and the graph does not have, so that the next question need not walk again."""
    gone: tuple[str, ...] = ()
    """Files of the graph that a later walk did not find."""
    documents: tuple[str, ...] | None = None
    """The documents that were there; what has become of them is `documents`' affair."""
    also: tuple[str, ...] = ()
    """Directories that were learned although Go would leave them out (see `discover`)."""
    outside: dict[str, SeenFile] = {}
    """Files that no walk finds, of vendored code and of such beside the repository, by their paths from the root."""


def record_seen_files(
    directory: Path,
    found: Discovery,
    files: Mapping[str, CachedFile],
    since_ns: int,
    outside: Iterable[CachedFile] = (),
) -> None:
    """Leave the snapshot of a walk that began at a certain time, for the graph as it is now."""
    beyond = {relpath(file.path, found.root): SeenFile(file.size, file.mtime_ns, file.digest) for file in outside}
    seen: dict[str, SeenFile] = {}
    for file in found.files:
        read = files.get(file.path)
        if read is not None:
            seen[file.path] = SeenFile(read.size, read.mtime_ns, read.digest)
    for config in found.configs:
        mtime_ns = _time(f"{found.root}/{config.path}", since_ns)
        seen[config.path] = SeenFile(len(config.data), mtime_ns, digest(config.data))
    _write(directory, _snapshot(graph_identity(directory), found, seen, beyond, since_ns))


class Edits(msgspec.Struct, frozen=True, array_like=True):
    """Files that were learned again since a snapshot was left, so that not all of it has to be written for each."""

    version: int
    base: str
    """The graph that the snapshot is of."""
    graph: str
    files: dict[str, SeenFile]


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """How a snapshot begins; the rest is passed over."""

    version: int
    graph: str


def record_edits(directory: Path, graph: str, files: Iterable[CachedFile]) -> None:
    """Add edited files to what is remembered of the graph as it was before (`graph_identity`), for the one it is now.

    Where nothing is remembered of that one, nothing is of this.
    """
    head = _decoded(directory / SNAPSHOT_NAME, _Head)
    if head is None or head.version != _VERSION:
        return
    seen = {file.path: SeenFile(file.size, file.mtime_ns, file.digest) for file in files}
    before = _decoded(directory / EDITS_NAME, Edits)
    if head.graph != graph:
        if before is None or (before.version, before.base, before.graph) != (_VERSION, head.graph, graph):
            return
        seen = before.files | seen
    with suppress(OSError):
        _replace(directory / EDITS_NAME, Edits(_VERSION, head.graph, graph_identity(directory), seen))


def found_documents(root: Path, directory: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of the documents there are; a walk for them is spared where the last one would find the same."""
    snapshot = _read(directory)
    if snapshot is not None and snapshot.documents is not None and _is_walk_spared(root, snapshot):
        return _statuses(root, snapshot.documents)
    return {file.path: (file.size, file.mtime_ns) for file in discover(root).documents}


def changes_since(root: Path, store: Store) -> Changes | None:
    """What has changed since the graph was made; None where that cannot be told, for want of the cache."""
    directory = store.directory
    if not (directory / "cache.db").is_file():
        return None
    since_ns = time.time_ns()
    snapshot = _read(directory)
    if snapshot is None:
        return changes_since_graph(root, store)
    is_walked = not _is_walk_spared(root, snapshot)
    if is_walked:
        try:
            found = discover(root, also=snapshot.also)
        except RepositoryError:
            return Changes(deleted=tuple(sorted(snapshot.files)))
        current = {file.path: (file.size, file.mtime_ns) for file in found.files}
        current |= _statuses(root, (config.path for config in found.configs))
        added, gone = current.keys() - snapshot.files.keys(), snapshot.files.keys() - current.keys()
        snapshot = _snapshot(snapshot.graph, found, snapshot.files, snapshot.outside, since_ns)
        snapshot = msgspec.structs.replace(snapshot, added=tuple(sorted(added)), gone=tuple(sorted(gone)))
    else:
        current = _statuses(root, (snapshot.files.keys() - set(snapshot.gone)) | set(snapshot.added))
    current |= _statuses(root, snapshot.outside)
    changes, confirmed = _compared(root, snapshot.files | snapshot.outside, current, since_ns)
    if is_walked or any(seen.mtime_ns for seen in confirmed.values()):
        # The next question need not read again what has just been read.
        outside = {path: confirmed.pop(path, seen) for path, seen in snapshot.outside.items()}
        _write(directory, msgspec.structs.replace(snapshot, files=snapshot.files | confirmed, outside=outside))
    return changes


def changes_since_graph(root: Path, store: Store) -> Changes:
    """The same without a snapshot, from the digests in the graph: slower, and nothing is known of go.mod files."""
    cached = _cached_files(store.directory / "cache.db")
    known: dict[str, SeenFile] = {}
    for path, learned in store.rows("MATCH (f:File) RETURN f.path, f.digest"):
        last = cached.get(path)
        is_believed = last is not None and last.digest == learned
        known[path] = SeenFile(last.size, last.mtime_ns, learned) if last and is_believed else SeenFile(0, 0, learned)
    try:
        files = discover(root, also=aside(known)).files
    except RepositoryError:
        files = ()
    current: dict[str, tuple[int, int]] = {file.path: (file.size, file.mtime_ns) for file in files}
    return _compared(root, known, current, time.time_ns())[0]


def _cached_files(path: Path) -> dict[str, CachedFile]:
    """Nothing where there is no cache: then every file is read."""
    if not path.is_file():
        return {}
    try:
        with Cache.open(path) as cache:
            return cache.files()
    except StoreError:
        return {}


def _is_walk_spared(root: Path, snapshot: SeenFiles) -> bool:
    """Whether a walk would list the same names and ignore the same of them."""
    stat, base = os.stat, f"{root}/"
    above = {config.path for config in configs_above(root, snapshot.files)}
    if above != {path for path in snapshot.files if path.startswith("../")}:
        return False
    try:
        for times in (snapshot.ignores, snapshot.directories):
            for path, mtime_ns in times.items():
                if not mtime_ns or stat(base + path).st_mtime_ns != mtime_ns:
                    return False
    except OSError:
        return False
    return True


def _statuses(root: Path, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    stat, base = os.stat, f"{root}/"
    found: dict[str, tuple[int, int]] = {}
    for path in paths:
        try:
            status = stat(base + path)
        except OSError:
            continue
        found[path] = (status.st_size, status.st_mtime_ns)
    return found


def _compared(
    root: Path, known: Mapping[str, SeenFile], current: Mapping[str, tuple[int, int]], since_ns: int
) -> tuple[Changes, dict[str, SeenFile]]:
    """The changes, and the files that had to be read and turned out to be the same."""
    edited: list[str] = []
    confirmed: dict[str, SeenFile] = {}
    for path, (size, mtime_ns) in current.items():
        seen = known.get(path)
        if seen is None or (mtime_ns == seen.mtime_ns and size == seen.size):
            continue
        if _digest_of(f"{root}/{path}") == seen.digest:
            confirmed[path] = SeenFile(size, _believed(mtime_ns, since_ns), seen.digest)
        else:
            edited.append(path)
    added, deleted = current.keys() - known.keys(), known.keys() - current.keys()
    return Changes(tuple(sorted(added)), tuple(sorted(edited)), tuple(sorted(deleted))), confirmed


def _digest_of(path: str) -> str:
    try:
        return digest(Path(path).read_bytes())
    except OSError:
        return ""


def _believed(mtime_ns: int, since_ns: int) -> int:
    return mtime_ns if mtime_ns < since_ns - RECENT_NS else 0


def _time(path: str, since_ns: int) -> int:
    try:
        return _believed(os.stat(path).st_mtime_ns, since_ns)  # noqa: PTH116  thousands of these: a Path costs as much
    except OSError:
        return 0


def _snapshot(
    graph: str, found: Discovery, files: dict[str, SeenFile], outside: dict[str, SeenFile], since_ns: int
) -> SeenFiles:
    base = f"{found.root}/"
    return SeenFiles(
        _VERSION,
        graph,
        files,
        {path: _time(base + path, since_ns) for path in found.directories},
        {path: _time(base + path, since_ns) for path in found.ignores},
        documents=tuple(file.path for file in found.documents),
        also=found.also,
        outside=outside,
    )


def _read(directory: Path) -> SeenFiles | None:
    snapshot = _decoded(directory / SNAPSHOT_NAME, SeenFiles)
    if snapshot is None or snapshot.version != _VERSION:
        return None
    graph = graph_identity(directory)
    if snapshot.graph == graph:
        return snapshot
    edits = _decoded(directory / EDITS_NAME, Edits)
    if edits is None or (edits.version, edits.base, edits.graph) != (_VERSION, snapshot.graph, graph):
        return None
    return msgspec.structs.replace(snapshot, graph=graph, files=snapshot.files | edits.files)


_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def _decoded(path: Path, type: type[_Struct]) -> _Struct | None:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=type)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(directory: Path, snapshot: SeenFiles) -> None:
    """Replace it whole, if there is a graph that it belongs to; a store that cannot be written to goes without."""
    with suppress(OSError):
        if snapshot.graph and snapshot.graph == graph_identity(directory):
            _replace(directory / SNAPSHOT_NAME, snapshot)


def _replace(path: Path, content: msgspec.Struct) -> None:
    replace_file(path, msgspec.msgpack.encode(content))
