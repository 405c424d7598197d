"""Replaces a file as a whole: readers see the old content or the new, and a killed writer leaves the old.

The new content is written beside the file, to `NAME.PID.tmp`, and renamed over it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, durable: bool = False, keep_status: bool = False) -> Generator[BinaryIO]:
    """Yield the file to write to. If the block raises, the old file stays. `durable`: after the block, the new content
    survives a power failure. `keep_status`: the new file has the owner, the group and the mode of the old one; raises
    `PermissionError` if this user may not give it these."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        # Others must not read the new file before it has its final mode.
        with os.fdopen(os.open(temporary, flags, 0o600 if keep_status else 0o666), "wb") as file:
            if keep_status:
                _copy_status(path, file.fileno())
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        sync_directory(path.parent)


def replace_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    with replacing(path, durable=durable) as file:
        file.write(content)


def _copy_status(source: Path, descriptor: int) -> None:
    try:
        wanted = source.stat()
    except FileNotFoundError:
        os.fchmod(descriptor, 0o644)
        return
    found = os.fstat(descriptor)
    if (found.st_uid, found.st_gid) != (wanted.st_uid, wanted.st_gid):
        os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
