"""Detects whether anything has changed in some directories, with inotify of the Linux kernel.

The kernel records a change before the call that made it returns, so a check afterwards sees it without delay. It does
not say what changed. Not seen: changes by other machines on a network file system, and writes to mapped memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLY_DIRECTORY = 0x400, 0x800, 0x0100_0000
_EVENTS: Final = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_DIRECTORY


class Watch:
    """Watched directories, without their subdirectories. After the first change, `is_stirred` stays true."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_stirred = False

    @property
    def has_changed(self) -> bool:
        """Whether anything has changed since the watch was started."""
        if not self._is_stirred:
            try:
                self._is_stirred = bool(os.read(self._descriptor, 65536))
            except BlockingIOError:
                return False
        return self._is_stirred

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            self._is_stirred = True
            os.close(descriptor)


def watch(directories: Iterable[str]) -> Watch | None:
    """Start watching. None if the system cannot, or if its limit is reached."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    for directory in directories:
        if libc.inotify_add_watch(descriptor, os.fsencode(directory), _EVENTS) < 0:
            with suppress(OSError):
                os.close(descriptor)
            return None
    return Watch(descriptor)
