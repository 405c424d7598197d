"""Replaces a file as a whole: readers see the old content or the new, and a killed writer leaves the old.

The new content is written beside the file, to `NAME.PID.tmp`, and renamed over it. What a killed writer left is removed
by the next one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from golore.graph.safety.system import BINARY, copy_owner, is_running, rename_over, set_mode, sync_directory

__all__ = ["remove_leftovers_beside", "replace_file", "replacing", "sync_directory"]

_LEFTOVER: Final = r"\.([1-9]\d{0,9})\.tmp"


@contextmanager
def replacing(path: Path, *, durable: bool = False, keep_status: bool = False) -> Generator[BinaryIO]:
    """Yield the file to write to. If the block raises, the old file stays. `durable`: after the block, the new content
    survives a power failure. `keep_status`: the new file has the owner, the group and the mode of the old one; raises
    `PermissionError` if this user may not give it these."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    remove_leftovers_beside(path)
    temporary.unlink(missing_ok=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
        # Others must not read the new file before it has its final mode.
        with os.fdopen(os.open(temporary, flags, 0o600 if keep_status else 0o666), "wb") as file:
            if keep_status:
                _copy_status(path, file.fileno())
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        rename_over(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        sync_directory(path.parent)


def replace_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    with replacing(path, durable=durable) as file:
        file.write(content)


def remove_leftovers_beside(path: Path) -> None:
    """Remove the temporary files of writers of this path that no longer run."""
    pattern = re.compile(re.escape(path.name) + _LEFTOVER)
    for other in path.parent.iterdir() if path.parent.is_dir() else ():
        found = pattern.fullmatch(other.name)
        if found and not is_running(int(found[1])) and other.is_file() and not other.is_symlink():
            with suppress(OSError):
                other.unlink()


def _copy_status(source: Path, descriptor: int) -> None:
    try:
        copy_owner(source.stat(), descriptor)
    except FileNotFoundError:
        set_mode(descriptor, 0o644)
