"""Named snapshots of a store, to restore and to compare.

A snapshot is a store of its own in `snapshots/NAME/`: its graph, its knowledge and a description. The files are copies
that share blocks where the file system supports it; they are never links to the current graph, because the engine
writes into it. Snapshots do not change, so equal files of two snapshots are hard links. The cache is not included,
because it can be derived again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from golore.graph.database.engine import engine_name
from golore.graph.errors import StoreDamaged, StoreError, StoreMissing, UsageError
from golore.graph.files import locks
from golore.graph.files.graph_digests import file_digest
from golore.graph.files.handover import finish_handover_locked, prepare_successor
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge
from golore.graph.files.manifest import MANIFEST_NAME, Manifest, read_manifest, require_compatible, write_manifest
from golore.graph.safety.regular_file import open_regular, read_regular
from golore.graph.safety.system import clone_file, rename_over, try_lock

SNAPSHOTS_NAME: Final = "snapshots"
BEFORE_RESTORE: Final = "before-restore"
NOW: Final = "now"
"""Name of the current store in comparisons; no snapshot can have it."""
_DESCRIPTION_NAME: Final = "snapshot.json"
_WAIT: Final = 30.0
_MAX_BYTES: Final = 1 << 20
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Snapshot(NamedTuple):
    """`files` maps file names to digests; `golore` is the version that made the graph."""

    name: str
    created: str
    golore: str
    bytes: int
    files: Mapping[str, str]
    path: Path


def take_snapshot(directory: Path, name: str, *, replace: bool = False) -> Snapshot:
    """Save a copy of the current store. Waits for a running learn, but not for readers or for writers of notes."""
    _require_name(name)
    folder = directory / SNAPSHOTS_NAME
    if (folder / name).exists() and not replace:
        raise UsageError(f"There is already a snapshot {name}. Choose another name, or use --replace.")
    temporary = folder / f"{name}.{os.getpid()}.tmp"
    # Processes that take snapshots hold a lock for their directory, so that others do not remove it.
    with ExitStack() as in_use:
        with _locked(directory) as manifest:
            _remove_leftovers(folder)
            temporary.mkdir(parents=True)
            in_use.callback(shutil.rmtree, temporary, ignore_errors=True)
            in_use.enter_context(_claimed(temporary))
            for path in _graph_files(directory, manifest):
                _copy(path, temporary / path.name)
            if Knowledge.exists(directory):
                with Knowledge.open_file(directory / KNOWLEDGE_NAME) as knowledge:
                    list(knowledge.rows("VACUUM INTO ?", (str(temporary / KNOWLEDGE_NAME),)))
        write_manifest(temporary, manifest)
        snapshot = _describe(temporary, name, manifest)
        _link_equal_files(folder, snapshot, temporary)
        if replace and (folder / name).exists():
            # Removing takes long. If this process is killed meanwhile, the new snapshot has its name already.
            replaced = folder / f"{name}.{os.getpid()}.old.tmp"
            (folder / name).rename(replaced)
            in_use.callback(shutil.rmtree, replaced, ignore_errors=True)
        temporary.rename(folder / name)
    return snapshot._replace(path=folder / name)


def snapshots(directory: Path) -> list[Snapshot]:
    """All readable snapshots, oldest first."""
    found: list[Snapshot] = []
    for path in (directory / SNAPSHOTS_NAME).glob(f"*/{_DESCRIPTION_NAME}"):
        if path.parent.suffix != ".tmp":
            with suppress(StoreDamaged):
                found.append(_read(path.parent))
    return sorted(found, key=lambda snapshot: (snapshot.created, snapshot.name))


def snapshot_named(directory: Path, name: str) -> Snapshot:
    path = directory / SNAPSHOTS_NAME / name
    if not _NAME.fullmatch(name) or not path.is_dir():
        known = ", ".join(snapshot.name for snapshot in snapshots(directory))
        raise UsageError(
            f"There is no snapshot {name}. {f'Choose one of: {known}.' if known else 'There are no snapshots yet.'}"
        )
    return _read(path)


def restore_snapshot(directory: Path, name: str) -> Snapshot:
    """Replace the store by a snapshot, even if the store is damaged. If the process is killed at any moment, the store
    is either unchanged or restored."""
    snapshot = snapshot_named(directory, name)
    require_intact(snapshot)
    with prepare_successor(directory) as successor:
        manifest = read_manifest(snapshot.path)
        if manifest is None:
            raise StoreDamaged(f"{snapshot.path / MANIFEST_NAME} is missing. Restore another snapshot.")
        require_compatible(manifest, snapshot.path, engine_name())
        for path in _graph_files(snapshot.path, manifest):
            _copy(path, directory / (successor.database.name + path.name.removeprefix(manifest.graph)))
        knowledge = snapshot.path / KNOWLEDGE_NAME
        if knowledge.exists():
            _copy(knowledge, successor.stage / KNOWLEDGE_NAME)
        else:
            Knowledge.open_file(successor.stage / KNOWLEDGE_NAME).close()
        successor.take_over(manifest._replace(graph=successor.database.name))
    return snapshot


def remove_snapshot(directory: Path, name: str) -> None:
    shutil.rmtree(snapshot_named(directory, name).path)


@contextmanager
def knowledge_of(snapshot: Snapshot) -> Generator[Knowledge | None]:
    """The knowledge of a snapshot, or None. It is read from a copy, because opening the file would change it."""
    with TemporaryDirectory(prefix="golore-") as directory:
        if Knowledge.exists(snapshot.path):
            shutil.copyfile(snapshot.path / KNOWLEDGE_NAME, Path(directory) / KNOWLEDGE_NAME)
            with Knowledge.open_file(Path(directory) / KNOWLEDGE_NAME) as knowledge:
                yield knowledge
        else:
            yield None


def require_intact(snapshot: Snapshot) -> None:
    """Raise `StoreDamaged` if a file of the snapshot is missing or has another digest."""
    for name, digest in snapshot.files.items():
        path = snapshot.path / name
        if not path.is_file() or file_digest(path) != digest:
            raise StoreDamaged(f"{path} is missing or damaged. Restore another snapshot, or run `golore learn --full`.")


@contextmanager
def _locked(directory: Path) -> Generator[Manifest]:
    """Prevent changes of the graph during the block."""
    if not directory.is_dir():
        raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
    writer = locks.acquire(directory / "writer.lock", exclusive=True, timeout=_WAIT, purpose="copied")
    try:
        finish_handover_locked(directory)
        manifest = read_manifest(directory)
        if manifest is None:
            raise StoreMissing(f"There is no store in {directory}. Run `golore learn` first.")
        # A reader may complete an interrupted fold of the log, for which it takes this lock exclusively.
        reader = locks.acquire_in_turn(directory / "lock", exclusive=False, timeout=_WAIT, purpose="copied")
        try:
            yield manifest
        finally:
            reader.release()
    finally:
        writer.release()


def _remove_leftovers(folder: Path) -> None:
    """Remove directories of processes that were killed. The caller must hold `writer.lock`."""
    for leftover in folder.glob("*.tmp"):
        with _claimed(leftover) as is_free:
            if is_free:
                shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _claimed(directory: Path) -> Generator[bool]:
    """Hold the lock for a temporary directory, a file beside it. Yields False if another process holds it."""
    path = directory.with_suffix(".lock")
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    is_free = try_lock(descriptor, exclusive=True)
    try:
        yield is_free
    finally:
        os.close(descriptor)
        if is_free:
            with suppress(OSError):
                path.unlink()


def _graph_files(directory: Path, manifest: Manifest) -> list[Path]:
    """The database and its log."""
    database = directory / manifest.graph
    if not database.is_file():
        raise StoreDamaged(f"{database} is missing. Run `golore learn --full` to rebuild it.")
    return [database, *sorted(directory.glob(f"{manifest.graph}.*"))]


def _describe(temporary: Path, name: str, manifest: Manifest) -> Snapshot:
    paths = [path for path in sorted(temporary.iterdir()) if path.name != MANIFEST_NAME]
    digests = {path.name: file_digest(path) for path in paths}
    size = sum(path.stat().st_size for path in paths)
    created = datetime.now(UTC).isoformat(timespec="microseconds")
    snapshot = Snapshot(name, created, manifest.golore, size, digests, temporary)
    description = snapshot._asdict()
    del description["path"]
    (temporary / _DESCRIPTION_NAME).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return snapshot


def _link_equal_files(folder: Path, snapshot: Snapshot, temporary: Path) -> None:
    """Replace files by hard links to equal files of other snapshots."""
    others = {digest: other.path / name for other in snapshots(folder.parent) for name, digest in other.files.items()}
    for name, digest in snapshot.files.items():
        other = others.get(digest)
        if other is not None and other.is_file() and file_digest(other) == digest:
            linked = temporary / f"{name}.link"
            with suppress(OSError):  # another file system, or one without links
                os.link(other, linked)
                rename_over(linked, temporary / name)


def _read(path: Path) -> Snapshot:
    try:
        description: dict[str, Any] = json.loads(read_regular(path / _DESCRIPTION_NAME, _MAX_BYTES))
        return Snapshot(**description, path=path)
    except (OSError, ValueError, TypeError) as failure:
        raise StoreDamaged(f"The snapshot {path.name} cannot be read ({failure}). Remove {path}.") from failure


def _copy(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as old, target.open("wb") as new:
            if not clone_file(old.fileno(), new.fileno()):
                shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())
    except OSError as failure:
        raise StoreError(
            f"{target} cannot be written: {failure.strerror or failure}. Check the free space and who owns it."
        ) from failure


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.endswith(".tmp") or name == NOW:
        raise UsageError(
            f"{name!r} cannot name a snapshot. Use letters, digits, dots, dashes and underscores; {NOW!r} is taken."
        )
