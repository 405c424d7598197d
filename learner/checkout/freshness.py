"""Finds the files that have changed since the last learn.

Each learn writes a snapshot beside the graph: the state (see `file_state`) and the digest of every file it read, and
the ctimes of the directories it listed. If all of these are the same, nothing has changed, and no directory has to be
listed. If the ctime of a directory differs, the tree is walked again; if the state of a file differs, its digest
decides. If an mtime is so recent that a later write could have the same one, nothing is trusted.

Of code outside the tree (vendored, in GOPATH, or in a directory that a `replace` names) only the files that were read
are checked; new files are not noticed. The module cache and GOROOT, which do not change, and git's index are not
checked.

Every question asks this, and hardly ever is a walk needed, so `discovery` is imported by the functions that walk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from golore.graph.database.store import Store
from golore.graph.errors import RepositoryError, StoreError
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.cache_db import Cache, CachedFile
from golore.graph.files.file_state import (
    RECENT_NS,
    UNKNOWN,
    FileState,
    is_unchanged,
    state_from,
    state_to_record,
)
from golore.graph.files.identity import graph_identity
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.configs_above import configs_above
from golore.learner.checkout.content_digest import digest

if TYPE_CHECKING:
    from golore.learner.checkout.discovery import Discovery

SNAPSHOT_NAME: Final = "snapshot.msgpack"
EDITS_NAME: Final = "edits.msgpack"
_VERSION: Final = 4
_MAX_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that differ from the learned ones, including go.mod and go.work."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.added) + len(self.edited) + len(self.deleted)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self.added, *self.edited, *self.deleted}))


class SeenFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The state of a file when it was read, as `state_to_record` returns it, and its digest."""

    state: FileState
    digest: str


class SeenFiles(msgspec.Struct, frozen=True, array_like=True):
    """The snapshot that a learn writes. It is valid only for the graph with the identity `graph`."""

    version: int
    graph: str
    files: dict[str, SeenFile]
    directories: dict[str, int]
    """The ctime of each directory that was listed; 0 if it cannot be trusted."""
    ignores: dict[str, int]
    """The same for each ignore file."""
    added: tuple[str, ...] = ()
    """Files that a later walk found and the graph does not have, so that the next check need not walk again."""
    gone: tuple[str, ...] = ()
    """Files of the graph that a later walk did not find."""
    documents: tuple[str, ...] | None = None
    """The documents that the walk found. Changes of their contents are found in `learner.documents`."""
    also: tuple[str, ...] = ()
    """Directories that were learned although Go skips them (see `discover`)."""
    outside: dict[str, SeenFile] = {}
    """Files of vendored code and of code outside the repository, which no walk finds, by path relative to the root."""


def record_seen_files(
    directory: Path,
    found: Discovery,
    files: Mapping[str, CachedFile],
    since_ns: int,
    outside: Iterable[CachedFile] = (),
) -> None:
    """Write the snapshot of a walk that began at `since_ns`, for the current graph."""
    external = {relpath(file.path, found.root): SeenFile(file.state, file.digest) for file in outside}
    seen: dict[str, SeenFile] = {}
    for file in found.files:
        read = files.get(file.path)
        if read is not None:
            seen[file.path] = SeenFile(read.state, read.digest)
    states = _states(found.root, (config.path for config in found.configs))
    for config in found.configs:
        state = states.get(config.path, UNKNOWN)._replace(size=len(config.data))
        seen[config.path] = SeenFile(state_to_record(state, since_ns), digest(config.data))
    _write(directory, _make_snapshot(graph_identity(directory), found, seen, external, since_ns))


class Edits(msgspec.Struct, frozen=True, array_like=True):
    """Files that were learned again since the snapshot, so that an edit does not rewrite the whole snapshot."""

    version: int
    base: str
    """The identity of the graph that the snapshot belongs to."""
    graph: str
    files: dict[str, SeenFile]


class _SnapshotHeader(msgspec.Struct, frozen=True, array_like=True):
    """The first fields of a snapshot; decoding it skips the rest."""

    version: int
    graph: str


def record_edits(directory: Path, graph: str, files: Iterable[CachedFile]) -> None:
    """Record files that were learned again, so that the snapshot is valid for the current graph.

    `graph` is the `graph_identity` before the update. Does nothing if there is no snapshot for that graph.
    """
    header = _decode(directory / SNAPSHOT_NAME, _SnapshotHeader)
    if header is None or header.version != _VERSION:
        return
    seen = {file.path: SeenFile(file.state, file.digest) for file in files}
    before = _decode(directory / EDITS_NAME, Edits)
    if header.graph != graph:
        if before is None or (before.version, before.base, before.graph) != (_VERSION, header.graph, graph):
            return
        seen = before.files | seen
    with suppress(OSError):
        _replace(directory / EDITS_NAME, Edits(_VERSION, header.graph, graph_identity(directory), seen))


def found_documents(root: Path, directory: Path) -> dict[str, FileState]:
    """The state of each document. Walks the tree only if a walk might find other files than the last one."""
    snapshot = _read(directory)
    if snapshot is not None and snapshot.documents is not None and _is_walk_unneeded(root, snapshot):
        return _states(root, snapshot.documents)
    from golore.learner.checkout.discovery import discover

    return {file.path: file.state for file in discover(root).documents}


def changes_since(root: Path, store: Store) -> Changes | None:
    """The changes since the graph was made; None if there is no `cache.db`, without which they are unknown.

    Writes what it found to the snapshot, so that the next check walks and reads less.
    """
    directory = store.directory
    if not (directory / "cache.db").is_file():
        return None
    since_ns = time.time_ns()
    snapshot = _read(directory)
    if snapshot is None:
        return changes_since_graph(root, store)
    is_walked = not _is_walk_unneeded(root, snapshot)
    if is_walked:
        from golore.learner.checkout.discovery import discover

        try:
            found = discover(root, also=snapshot.also)
        except RepositoryError:
            return Changes(deleted=tuple(sorted(snapshot.files)))
        current: dict[str, FileState] = {file.path: file.state for file in found.files}
        current |= _states(root, (config.path for config in found.configs))
        added, gone = current.keys() - snapshot.files.keys(), snapshot.files.keys() - current.keys()
        snapshot = _make_snapshot(snapshot.graph, found, snapshot.files, snapshot.outside, since_ns)
        snapshot = msgspec.structs.replace(snapshot, added=tuple(sorted(added)), gone=tuple(sorted(gone)))
    else:
        current = _states(root, (snapshot.files.keys() - set(snapshot.gone)) | set(snapshot.added))
    current |= _states(root, snapshot.outside)
    changes, confirmed = _compare(root, snapshot.files | snapshot.outside, current, since_ns)
    if is_walked or any(seen.state.mtime_ns for seen in confirmed.values()):
        # The next check need not read these files again.
        outside = {path: confirmed.pop(path, seen) for path, seen in snapshot.outside.items()}
        _write(directory, msgspec.structs.replace(snapshot, files=snapshot.files | confirmed, outside=outside))
    return changes


def changes_since_graph(root: Path, store: Store) -> Changes:
    """Like `changes_since`, but without a snapshot, from the digests in the graph: slower, and ignores module files."""
    from golore.learner.checkout.discovery import discover, skipped_directories

    cached = _cached_files(store.directory / "cache.db")
    known: dict[str, SeenFile] = {}
    for path, learned in store.rows("MATCH (f:File) RETURN f.path, f.digest"):
        entry = cached.get(path)
        is_same = entry is not None and entry.digest == learned
        known[path] = SeenFile(entry.state if entry and is_same else UNKNOWN, learned)
    try:
        files = discover(root, also=skipped_directories(known)).files
    except RepositoryError:
        files = ()
    current: dict[str, FileState] = {file.path: file.state for file in files}
    return _compare(root, known, current, time.time_ns())[0]


def _cached_files(path: Path) -> dict[str, CachedFile]:
    """The files in the cache; empty if it is missing or unreadable, so that every file is read."""
    if not path.is_file():
        return {}
    try:
        with Cache.open(path) as cache:
            return cache.files()
    except StoreError:
        return {}


def _is_walk_unneeded(root: Path, snapshot: SeenFiles) -> bool:
    """Whether a walk would list the same names and apply the same ignore rules, judging by ctimes."""
    stat, base = os.stat, f"{root}/"
    above = {config.path for config in configs_above(root, snapshot.files)}
    if above != {path for path in snapshot.files if path.startswith("../")}:
        return False
    try:
        for times in (snapshot.ignores, snapshot.directories):
            for path, ctime_ns in times.items():
                if not ctime_ns or stat(base + path).st_ctime_ns != ctime_ns:
                    return False
    except OSError:
        return False
    return True


def _states(root: Path, paths: Iterable[str]) -> dict[str, FileState]:
    stat, base = os.stat, f"{root}/"
    found: dict[str, FileState] = {}
    for path in paths:
        try:  # noqa: SIM105  tens of thousands of these: `suppress` takes a quarter as long as the call
            found[path] = state_from(stat(base + path))
        except OSError:
            pass
    return found


def _compare(
    root: Path, known: Mapping[str, SeenFile], current: Mapping[str, FileState], since_ns: int
) -> tuple[Changes, dict[str, SeenFile]]:
    """The changes, and the files that had to be read and have the same digest."""
    edited: list[str] = []
    confirmed: dict[str, SeenFile] = {}
    for path, state in current.items():
        seen = known.get(path)
        if seen is None or is_unchanged(seen.state, state):
            continue
        if _digest_of(f"{root}/{path}") == seen.digest:
            confirmed[path] = SeenFile(state_to_record(state, since_ns, seen.state), seen.digest)
        else:
            edited.append(path)
    added, deleted = current.keys() - known.keys(), known.keys() - current.keys()
    return Changes(tuple(sorted(added)), tuple(sorted(edited)), tuple(sorted(deleted))), confirmed


def _digest_of(path: str) -> str:
    try:
        return digest(read_regular(path, SOURCE_LIMIT, follow=True))
    except OSError:
        return ""


def _trusted_ctime(path: str, since_ns: int) -> int:
    """The ctime of a directory or an ignore file; 0 if it has changed so recently that a later write could have the
    same one."""
    try:
        status = os.stat(path)  # noqa: PTH116  thousands of these: a Path costs as much
    except OSError:
        return 0
    return status.st_ctime_ns if status.st_mtime_ns < since_ns - RECENT_NS else 0


def _make_snapshot(
    graph: str, found: Discovery, files: dict[str, SeenFile], outside: dict[str, SeenFile], since_ns: int
) -> SeenFiles:
    base = f"{found.root}/"
    return SeenFiles(
        _VERSION,
        graph,
        files,
        {path: _trusted_ctime(base + path, since_ns) for path in found.directories},
        {path: _trusted_ctime(base + path, since_ns) for path in found.ignores},
        documents=tuple(file.path for file in found.documents),
        also=found.also,
        outside=outside,
    )


def _read(directory: Path) -> SeenFiles | None:
    snapshot = _decode(directory / SNAPSHOT_NAME, SeenFiles)
    if snapshot is None or snapshot.version != _VERSION:
        return None
    graph = graph_identity(directory)
    if snapshot.graph == graph:
        return snapshot
    edits = _decode(directory / EDITS_NAME, Edits)
    if edits is None or (edits.version, edits.base, edits.graph) != (_VERSION, snapshot.graph, graph):
        return None
    return msgspec.structs.replace(snapshot, graph=graph, files=snapshot.files | edits.files)


_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def _decode(path: Path, type: type[_Struct]) -> _Struct | None:
    try:
        return msgspec.msgpack.decode(read_regular(path, _MAX_BYTES), type=type)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _write(directory: Path, snapshot: SeenFiles) -> None:
    """Replace the snapshot if it belongs to the current graph. If the store cannot be written, there is no snapshot."""
    with suppress(OSError):
        if snapshot.graph and snapshot.graph == graph_identity(directory):
            _replace(directory / SNAPSHOT_NAME, snapshot)


def _replace(path: Path, content: msgspec.Struct) -> None:
    replace_file(path, msgspec.msgpack.encode(content))
