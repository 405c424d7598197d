"""The state of a file on disk, which shows without reading the file whether its content may have changed.

Size and mtime are not enough: a program can write other bytes of the same number and restore the mtime. The ctime and
the inode cannot be set. They also change when a checkout is copied, so a different state only means that the content
has to be compared.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

RECENT_NS: Final = 2_000_000_000
_LARGEST: Final = (1 << 63) - 1


class FileState(NamedTuple):
    """In a recorded state, `mtime_ns` is 0 if it was too recent to be trusted, and `inode` is 0 if it is unstable."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


UNKNOWN: Final = FileState(0, 0, 0, 0)
"""The recorded state of a file whose content has to be compared."""


def state_from(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & _LARGEST)


def is_unchanged(recorded: FileState, now: FileState) -> bool:
    return recorded == now or (not recorded.inode and recorded[:3] == now[:3])


def state_to_record(now: FileState, since_ns: int, last: FileState = UNKNOWN) -> FileState:
    """The state to record for a file that was read after `since_ns`. An mtime so recent that a later write could have
    the same one is not trusted.

    `last`: the state that was recorded for the same content. Some network filesystems return another inode every time;
    if nothing else has changed, the inode is not compared again.
    """
    mtime_ns = now.mtime_ns if now.mtime_ns < since_ns - RECENT_NS else 0
    return FileState(now.size, mtime_ns, now.ctime_ns, 0 if last[:3] == now[:3] else now.inode)
