"""The files in a store's directory: their names, and which of them are left over from writers that died.

What is in the files is known to `store`, `manifest` and `cache`.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from golore.graph.errors import StoreError
from golore.graph.files import locks
from golore.graph.files.manifest import Manifest


def prepare_directory(directory: Path, manifest: Manifest | None) -> str:
    """Make it ready for a writer; the answer is a sentence on what had to be removed, if anything had."""
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    generation = _generation(manifest.graph) if manifest else 0
    # A database that was current once may have been left to a reader; one that never was is a dead writer's.
    left = [name for name in remove_leftovers(directory, manifest) if _generation(name) not in range(1, generation)]
    return f"Removed what an interrupted learn had left: {', '.join(left)}." if left else ""


def remove_leftovers(directory: Path, manifest: Manifest | None) -> list[str]:
    """Remove what dead writers left and databases no longer current, unless a reader may still be at one of them."""
    try:
        held = locks.acquire(directory / "lock", exclusive=True, timeout=0, purpose="cleaned")
    except StoreError:
        return []
    current = manifest.graph if manifest else ""
    removed: list[str] = []
    try:
        for path in sorted(directory.iterdir()):
            if path.name.endswith(".tmp"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            elif path.name.startswith("graph-") and not (current and path.name.startswith(current)):
                path.unlink()
            else:
                continue
            removed.append(path.name)
    finally:
        held.release()
    return removed


def next_database(directory: Path, manifest: Manifest | None) -> Path:
    """Where a new database goes: never over the current one, whose log would be taken for its own."""
    return directory / f"graph-{1 if manifest is None else _generation(manifest.graph) + 1}.db"


def unlink_database(database: Path) -> None:
    for path in (database, *_companions(database)):
        path.unlink(missing_ok=True)


def _companions(database: Path) -> list[Path]:
    return sorted(database.parent.glob(f"{database.name}.*"))


def fingerprint(database: Path) -> str:
    """Names what a database holds, as far as the sizes and times of its files tell."""
    told: list[str] = []
    for path in (database, *_companions(database)):
        with suppress(FileNotFoundError):
            status = path.stat()
            told.append(f"{path.name}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(told)


def has_log(database: Path) -> bool:
    return bool(_companions(database))


def _generation(name: str) -> int:
    digits = name.removeprefix("graph-").partition(".db")[0]
    return int(digits) if digits.isdecimal() else 0
