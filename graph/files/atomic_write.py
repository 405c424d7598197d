"""Replaces a file as a whole: readers see the old content or the new, and a killed writer leaves the old.

The new content is written beside the file, to `NAME.PID.tmp`, and renamed over it.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Generator[BinaryIO]:
    """Yield the file to write to. If the block raises, the old file stays. `durable`: after the block, the new content
    survives a power failure."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as file:
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


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
