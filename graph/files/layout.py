"""The files in a store directory: their names, and the removal of files that interrupted writers left."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreError
from golore.graph.files import locks
from golore.graph.files.manifest import Manifest
from golore.graph.safety.system import is_running

_OUR_DIRECTORIES: Final = re.compile(r"bulk-\d+\.tmp|incoming\.tmp")
_OUR_FILES: Final = re.compile(r"(plan|id)\.tmp|(\.gitignore|[\w-]+(\.[\w-]+)?)\.(?P<writer>[1-9]\d{0,9})\.tmp")
"""`NAME.PID.tmp` is a file that `atomic_write` had not yet renamed."""
_DATABASES: Final = re.compile(r"graph-(\d+)\.(db(\.[a-z]+)*|digests)")


def prepare_directory(directory: Path, manifest: Manifest | None) -> str:
    """Prepare the directory for a writer. Returns a sentence about removed files, or an empty string."""
    generation = generation_of(manifest.graph) if manifest else 0
    # An older database was kept for a reader that had it open; other files were left by an interrupted writer.
    left = [name for name in remove_leftovers(directory, manifest) if generation_of(name) not in range(1, generation)]
    return f"Removed files left by an interrupted learn: {', '.join(left)}." if left else ""


def remove_leftovers(directory: Path, manifest: Manifest | None) -> list[str]:
    """Remove files of interrupted writers and databases that are no longer current, and return their names. Removes
    nothing while a reader has the store open.

    Files that are derived from the graph are replaced without the lock, so a file may be in use or vanish meanwhile.
    """
    try:
        lock = locks.acquire(directory / "lock", exclusive=True, timeout=0, purpose="cleaned")
    except StoreError:
        return []
    current = generation_of(manifest.graph) if manifest else 0
    removed: list[str] = []
    try:
        for path in sorted(directory.iterdir()):
            if path.is_symlink():
                continue
            if path.is_dir():
                if not _OUR_DIRECTORIES.fullmatch(path.name):
                    continue
                shutil.rmtree(path)
            elif _is_left_behind(path.name) or generation_of(path.name) not in (0, current):
                path.unlink(missing_ok=True)
            else:
                continue
            removed.append(path.name)
    finally:
        lock.release()
    return removed


def _is_left_behind(name: str) -> bool:
    """Whether a name is that of a temporary file whose writer no longer runs."""
    found = _OUR_FILES.fullmatch(name)
    return found is not None and not (found["writer"] and is_running(int(found["writer"])))


def next_database(directory: Path, manifest: Manifest | None) -> Path:
    """The path of a new database. Never the current one's: the engine would apply the current log to the new file."""
    return directory / f"graph-{1 if manifest is None else generation_of(manifest.graph) + 1}.db"


def unlink_database(database: Path) -> None:
    for path in (*database_files(database), digests_file(database)):
        path.unlink(missing_ok=True)


def database_files(database: Path) -> list[Path]:
    """The database and its log."""
    return [database, *sorted(database.parent.glob(f"{database.name}.*"))]


def digests_file(database: Path) -> Path:
    """The file with the digests of the database's files (see `graph_digests`)."""
    return database.with_suffix(".digests")


def fingerprint(database: Path) -> str:
    """Identifies the content of a database by the sizes and times of its files."""
    parts: list[str] = []
    for path in database_files(database):
        with suppress(FileNotFoundError):
            status = path.stat()
            parts.append(f"{path.name}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(parts)


def generation_of(name: str) -> int:
    """The number of the database that a file belongs to; 0 if it belongs to none."""
    found = _DATABASES.fullmatch(name)
    return int(found[1]) if found else 0
