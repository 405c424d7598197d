"""Snapshots: the store as it is at a moment, under a name, to go back to and to compare with.

A snapshot is a store of its own, `snapshots/NAME/`: its graph, its knowledge and what both are. The files are copies,
clones of the same blocks where the file system has such; never links to the graph in use, into which the engine writes.
Snapshots do not change, so two of the same graph are two names of one file. Nothing that can be derived again is kept.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from golore.graph.database.engine import engine_name
from golore.graph.errors import StoreDamaged, StoreError, StoreMissing, UsageError
from golore.graph.files import locks
from golore.graph.files.handover import finish_handover_locked, prepare_successor
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge
from golore.graph.files.manifest import MANIFEST_NAME, Manifest, read_manifest, require_ours, write_manifest
from golore.graph.transfer.parquet_export import file_digest

SNAPSHOTS_NAME: Final = "snapshots"
BEFORE_RESTORE: Final = "before-restore"
NOW: Final = "now"
"""What the store as it is is called in comparisons; no snapshot is."""
_ABOUT_NAME: Final = "snapshot.json"
_WAIT: Final = 30.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CLONE: Final = 0x40049409
"""FICLONE of Linux: another file of the same blocks, on Btrfs, XFS and the like."""


class Snapshot(NamedTuple):
    """`files` are the digests of its files by name, `golore` the version that made the graph."""

    name: str
    created: str
    golore: str
    bytes: int
    files: Mapping[str, str]
    path: Path


def take_snapshot(directory: Path, name: str, *, replace: bool = False) -> Snapshot:
    """Keep the store as it is. A learn that goes on is waited for; readers and writers of notes are not in the way."""
    _require_name(name)
    room = directory / SNAPSHOTS_NAME
    if (room / name).exists() and not replace:
        raise UsageError(f"There is a snapshot {name} already. Choose another name, or give --replace.")
    part = room / f"{name}.{os.getpid()}.tmp"
    try:
        with _held(directory) as manifest:
            for left in room.glob("*.tmp"):
                shutil.rmtree(left, ignore_errors=True)
            part.mkdir(parents=True)
            for path in _graph_files(directory, manifest):
                _copy(path, part / path.name)
            if Knowledge.exists(directory):
                with Knowledge.at(directory / KNOWLEDGE_NAME) as knowledge:
                    list(knowledge.rows("VACUUM INTO ?", (str(part / KNOWLEDGE_NAME),)))
        write_manifest(part, manifest)
        snapshot = _describe(part, name, manifest)
        _share(room, snapshot, part)
        if replace:
            shutil.rmtree(room / name, ignore_errors=True)
        part.rename(room / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return snapshot._replace(path=room / name)


def snapshots(directory: Path) -> list[Snapshot]:
    """All that can be read, oldest first."""
    found: list[Snapshot] = []
    for path in (directory / SNAPSHOTS_NAME).glob(f"*/{_ABOUT_NAME}"):
        if path.parent.suffix != ".tmp":
            with suppress(StoreDamaged):
                found.append(_read(path.parent))
    return sorted(found, key=lambda snapshot: (snapshot.created, snapshot.name))


def snapshot_named(directory: Path, name: str) -> Snapshot:
    path = directory / SNAPSHOTS_NAME / name
    if not _NAME.fullmatch(name) or not path.is_dir():
        known = ", ".join(snapshot.name for snapshot in snapshots(directory))
        raise UsageError(f"There is no snapshot {name}. {f'There are: {known}.' if known else 'There are none.'}")
    return _read(path)


def restore_snapshot(directory: Path, name: str) -> Snapshot:
    """Make the store what it was, whatever is wrong with it now. Killed at any moment, it is the one or the other."""
    snapshot = snapshot_named(directory, name)
    require_whole(snapshot)
    with prepare_successor(directory) as successor:
        manifest = read_manifest(snapshot.path)
        if manifest is None:
            raise StoreDamaged(f"{snapshot.path / MANIFEST_NAME} is missing, so the snapshot cannot be restored.")
        require_ours(manifest, snapshot.path, engine_name())
        for path in _graph_files(snapshot.path, manifest):
            _copy(path, directory / (successor.database.name + path.name.removeprefix(manifest.graph)))
        kept = snapshot.path / KNOWLEDGE_NAME
        if kept.exists():
            _copy(kept, successor.stage / KNOWLEDGE_NAME)
        else:
            Knowledge.at(successor.stage / KNOWLEDGE_NAME).close()
        successor.take_over(manifest._replace(graph=successor.database.name))
    return snapshot


def remove_snapshot(directory: Path, name: str) -> None:
    shutil.rmtree(snapshot_named(directory, name).path)


@contextmanager
def knowledge_of(snapshot: Snapshot) -> Generator[Knowledge | None]:
    """What it knows, read from a copy: opening the file would change it."""
    with TemporaryDirectory(prefix="golore-") as room:
        if Knowledge.exists(snapshot.path):
            shutil.copyfile(snapshot.path / KNOWLEDGE_NAME, Path(room) / KNOWLEDGE_NAME)
            with Knowledge.at(Path(room) / KNOWLEDGE_NAME) as knowledge:
                yield knowledge
        else:
            yield None


def require_whole(snapshot: Snapshot) -> None:
    for name, digest in snapshot.files.items():
        path = snapshot.path / name
        if not path.is_file() or file_digest(path) != digest:
            raise StoreDamaged(f"{path} is missing or damaged. Restore another snapshot, or learn anew.")


@contextmanager
def _held(directory: Path) -> Generator[Manifest]:
    """Keep the graph as it is for a block."""
    if not directory.is_dir():
        raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
    writer = locks.acquire(directory / "writer.lock", exclusive=True, timeout=_WAIT, purpose="kept")
    try:
        finish_handover_locked(directory)
        manifest = read_manifest(directory)
        if manifest is None:
            raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
        # A reader may finish a killed writer's work, for which it takes this one alone.
        reader = locks.acquire_in_turn(directory / "lock", exclusive=False, timeout=_WAIT, purpose="kept")
        try:
            yield manifest
        finally:
            reader.release()
    finally:
        writer.release()


def _graph_files(directory: Path, manifest: Manifest) -> list[Path]:
    """The graph and the log beside it."""
    database = directory / manifest.graph
    if not database.is_file():
        raise StoreDamaged(f"{database} is missing. Run `golore learn --full` to make it anew.")
    return [database, *sorted(directory.glob(f"{manifest.graph}.*"))]


def _describe(part: Path, name: str, manifest: Manifest) -> Snapshot:
    paths = [path for path in sorted(part.iterdir()) if path.name != MANIFEST_NAME]
    digests = {path.name: file_digest(path) for path in paths}
    size = sum(path.stat().st_size for path in paths)
    created = datetime.now(UTC).isoformat(timespec="microseconds")
    snapshot = Snapshot(name, created, manifest.golore, size, digests, part)
    about = snapshot._asdict()
    del about["path"]
    (part / _ABOUT_NAME).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return snapshot


def _share(room: Path, snapshot: Snapshot, part: Path) -> None:
    """Let it be one file with that of another snapshot where the content is the same."""
    others = {digest: other.path / name for other in snapshots(room.parent) for name, digest in other.files.items()}
    for name, digest in snapshot.files.items():
        other = others.get(digest)
        if other is not None and other.is_file() and file_digest(other) == digest:
            linked = part / f"{name}.link"
            with suppress(OSError):  # another file system, or one without links
                os.link(other, linked)
                linked.replace(part / name)


def _read(path: Path) -> Snapshot:
    try:
        about: dict[str, Any] = json.loads((path / _ABOUT_NAME).read_text(encoding="utf-8"))
        return Snapshot(**about, path=path)
    except (OSError, ValueError, TypeError) as failure:
        raise StoreDamaged(f"The snapshot {path.name} cannot be read ({failure}). Remove {path}.") from failure


def _copy(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as old, target.open("wb") as new:
            try:
                fcntl.ioctl(new.fileno(), _CLONE, old.fileno())
            except OSError:
                shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())
    except OSError as failure:
        raise StoreError(f"{target} cannot be written: {failure.strerror or failure}.") from failure


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.endswith(".tmp") or name == NOW:
        raise UsageError(
            f"{name!r} cannot name a snapshot. Use letters, digits, dots, dashes and underscores; {NOW!r} is taken."
        )
