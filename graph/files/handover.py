"""A store that becomes another one as a whole, by an import or a restore: its graph and its knowledge at once.

These are two files, and no rename replaces both. So what is to come is laid beside them first, complete; then a note is
put there by one rename, and from that moment on the store is the new one. Whoever opens a store with such a note does
what it says before anything else, in case the one that left it was killed; doing it twice does no harm.

The current graph is not opened here, so that a damaged one can be replaced. What the rows mean is not known here.
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
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, PENDING_NAME, Knowledge
from golore.graph.files.knowledge_rows import take_rows
from golore.graph.files.layout import remove_leftovers, unlink_database
from golore.graph.files.manifest import Manifest, read_manifest, write_manifest

_STAGE_NAME: Final = "incoming.tmp"
_WAIT: Final = 30.0
"""Seconds to wait for a learn that goes on."""


class Successor(NamedTuple):
    """Where the files of a store to come are laid: the graph's, and the directory of its knowledge."""

    directory: Path
    database: Path
    stage: Path

    def take_over(self, manifest: Manifest, *, merge: bool = False) -> None:
        """Make it the store. `merge`: what is known here and not there is kept. Without a file of knowledge in the
        stage, all that is known here is."""
        has_knowledge = Knowledge.exists(self.stage)
        _sync(self.database)
        if has_knowledge:
            with Knowledge.at(self.stage / KNOWLEDGE_NAME):
                pass  # brought up to date, and its log folded in
            _sync(self.stage / KNOWLEDGE_NAME)
            sync_directory(self.stage)
        note = {"manifest": manifest._asdict(), "knowledge": has_knowledge, "merge": merge}
        replace_file(self.directory / PENDING_NAME, json.dumps(note).encode(), durable=True)
        finish_handover_locked(self.directory)


@contextmanager
def prepare_successor(directory: Path, *, wait: float = _WAIT) -> Generator[Successor]:
    """Keep writers away and make room for a store to come; what has not taken over when the block ends is removed."""
    directory.mkdir(parents=True, exist_ok=True)
    held = locks.acquire(directory / "writer.lock", exclusive=True, timeout=wait, purpose="replaced")
    try:
        finish_handover_locked(directory)
        ignore = directory / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
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
        held.release()


def finish_handover(directory: Path, *, wait: float = _WAIT) -> None:
    """Finish what a killed process has begun; who is still at it is waited for."""
    if (directory / PENDING_NAME).exists():
        held = locks.acquire(directory / "writer.lock", exclusive=True, timeout=wait, purpose="opened")
        try:
            finish_handover_locked(directory)
        finally:
            held.release()


def finish_handover_locked(directory: Path) -> None:
    """The same for one that holds `writer.lock`."""
    note = _read_pending(directory)
    if note is None:
        return
    stage = directory / _STAGE_NAME
    if note["knowledge"] and Knowledge.exists(stage):
        _take_knowledge(directory, stage, merge=note["merge"])
    manifest = Manifest(**note["manifest"])
    write_manifest(directory, manifest)
    (directory / PENDING_NAME).unlink()
    sync_directory(directory)
    shutil.rmtree(stage, ignore_errors=True)
    remove_leftovers(directory, manifest)


def current_manifest(directory: Path) -> Manifest | None:
    """None also where it is damaged."""
    with suppress(StoreDamaged):
        return read_manifest(directory)
    return None


def _read_pending(directory: Path) -> dict[str, Any] | None:
    try:
        text = (directory / PENDING_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return cast("dict[str, Any]", json.loads(text))
    except ValueError as failure:
        raise StoreDamaged(
            f"{directory / PENDING_NAME} is damaged. Remove it to keep the store as it was before the import."
        ) from failure


def _take_knowledge(directory: Path, stage: Path, *, merge: bool) -> None:
    """Into the file that is there, which others may have open; one that is damaged is put aside and replaced."""
    path = directory / KNOWLEDGE_NAME
    try:
        with Knowledge.at(path) as knowledge:
            if list(knowledge.rows("PRAGMA quick_check(1)")) != [("ok",)]:
                raise StoreDamaged(f"{path} is damaged.")
            take_rows(knowledge, stage / KNOWLEDGE_NAME, merge=merge)
    except StoreDamaged:
        _put_aside(path)
        (stage / KNOWLEDGE_NAME).replace(path)
        sync_directory(directory)


def _put_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with suppress(FileNotFoundError):
        path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _next_database(directory: Path) -> Path:
    """A name that no graph here has or had, also where nothing tells which one is current."""
    current = current_manifest(directory)
    names = [path.name for path in directory.glob("graph-*")] + ([current.graph] if current else [])
    numbers = (name.removeprefix("graph-").partition(".db")[0] for name in names)
    return directory / f"graph-{1 + max((int(n) for n in numbers if n.isdecimal()), default=0)}.db"


def _sync(path: Path) -> None:
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as failure:
        raise StoreError(f"{path} cannot be written: {failure.strerror or failure}.") from failure
