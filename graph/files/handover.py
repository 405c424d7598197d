"""Replaces a whole store, its graph and its knowledge, in one step, for imports and restores.

Graph and knowledge are two files, and no rename replaces both. So the new files are first written completely beside
the current ones; then one rename creates `incoming.json`, and from that moment the store is the new one. A process that
opens a store with this file completes the handover first, in case the process that began it was killed; completing it
twice does no harm.

The current graph is not opened, so that a damaged one can be replaced.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.errors import StoreDamaged, StoreError
from golore.graph.files import locks
from golore.graph.files.atomic_write import replace_file, sync_directory
from golore.graph.files.claim import create_store_directory
from golore.graph.files.graph_digests import record_digests
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, PENDING_NAME, Knowledge
from golore.graph.files.knowledge_rows import copy_rows_from
from golore.graph.files.layout import generation_of, remove_leftovers, unlink_database
from golore.graph.files.manifest import Manifest, read_manifest, write_manifest
from golore.graph.safety.regular_file import NotRegularError, TooLargeError, read_regular
from golore.graph.safety.system import rename_over

_STAGE_NAME: Final = "incoming.tmp"
_WAIT: Final = 30.0
"""Seconds to wait for a running learn."""
_MAX_BYTES: Final = 1 << 16


class Successor(NamedTuple):
    """Where the new store is written: its graph to the file `database`, its knowledge into the directory `stage`."""

    directory: Path
    database: Path
    stage: Path

    def take_over(self, manifest: Manifest, *, merge: bool = False) -> None:
        """Replace the current store. `merge`: keep knowledge that only the current store has. If the stage has no
        knowledge file, the current knowledge stays as it is."""
        has_knowledge = Knowledge.exists(self.stage)
        _sync(self.database)
        record_digests(self.database, {})
        if has_knowledge:
            with Knowledge.open_file(self.stage / KNOWLEDGE_NAME):
                pass  # migrates the file, and folds its log in when it is closed
            _sync(self.stage / KNOWLEDGE_NAME)
            sync_directory(self.stage)
        pending = {"manifest": manifest._asdict(), "knowledge": has_knowledge, "merge": merge}
        replace_file(self.directory / PENDING_NAME, json.dumps(pending).encode(), durable=True)
        finish_handover_locked(self.directory)


@contextmanager
def prepare_successor(directory: Path, *, wait: float = _WAIT) -> Generator[Successor]:
    """Lock out writers and prepare the paths of the new store. Files that have not taken over when the block ends are
    removed."""
    create_store_directory(directory)
    lock = locks.acquire(directory / "writer.lock", exclusive=True, timeout=wait, purpose="replaced")
    try:
        finish_handover_locked(directory)
        stage = directory / _STAGE_NAME
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        successor = Successor(directory, _next_database(directory), stage)
        try:
            yield successor
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            current = current_manifest(directory)
            if current is None or current.graph != successor.database.name:
                unlink_database(successor.database)
    finally:
        lock.release()


def finish_handover(directory: Path, *, wait: float = _WAIT) -> None:
    """Complete an interrupted handover; waits if another process is performing it."""
    if (directory / PENDING_NAME).exists():
        lock = locks.acquire(directory / "writer.lock", exclusive=True, timeout=wait, purpose="opened")
        try:
            finish_handover_locked(directory)
        finally:
            lock.release()


def finish_handover_locked(directory: Path) -> None:
    """Like `finish_handover`, for a caller that holds `writer.lock`."""
    pending = _read_pending(directory)
    if pending is None:
        return
    stage = directory / _STAGE_NAME
    if pending["knowledge"] and Knowledge.exists(stage):
        _copy_knowledge(directory, stage, merge=pending["merge"])
    manifest = Manifest(**pending["manifest"])
    write_manifest(directory, manifest)
    (directory / PENDING_NAME).unlink()
    sync_directory(directory)
    shutil.rmtree(stage, ignore_errors=True)
    remove_leftovers(directory, manifest)


def current_manifest(directory: Path) -> Manifest | None:
    """None if the manifest is missing or damaged."""
    with suppress(StoreDamaged):
        return read_manifest(directory)
    return None


def _read_pending(directory: Path) -> dict[str, Any] | None:
    try:
        return cast("dict[str, Any]", json.loads(read_regular(directory / PENDING_NAME, _MAX_BYTES)))
    except FileNotFoundError:
        return None
    except (ValueError, NotRegularError, TooLargeError) as failure:
        raise StoreDamaged(
            f"{directory / PENDING_NAME} is damaged. Remove it to keep the store as it was before the import or the "
            "restore."
        ) from failure


def _copy_knowledge(directory: Path, stage: Path, *, merge: bool) -> None:
    """Copy the rows into the current file, which other processes may have open. A damaged current file is renamed and
    replaced."""
    path = directory / KNOWLEDGE_NAME
    try:
        with Knowledge.open_file(path) as knowledge:
            if list(knowledge.rows("PRAGMA quick_check(1)")) != [("ok",)]:
                raise StoreDamaged(f"{path} is damaged.")
            copy_rows_from(knowledge, stage / KNOWLEDGE_NAME, merge=merge)
    except StoreDamaged:
        rename_damaged(path)
        rename_over(stage / KNOWLEDGE_NAME, path)
        sync_directory(directory)


def rename_damaged(path: Path) -> None:
    """Rename a damaged file of knowledge to one that is not used."""
    number = 1
    while (target := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with suppress(FileNotFoundError):
        rename_over(path, target)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _next_database(directory: Path) -> Path:
    """An unused file name, even if the manifest is damaged: its number is above all others."""
    current = current_manifest(directory)
    names = [path.name for path in directory.iterdir()] + ([current.graph] if current else [])
    return directory / f"graph-{1 + max(map(generation_of, names), default=0)}.db"


def _sync(path: Path) -> None:
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as failure:
        raise StoreError(
            f"{path} cannot be written: {failure.strerror or failure}. Check the free space and who owns it."
        ) from failure
