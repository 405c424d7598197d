"""Whether anything has happened in some directories, opened of the Linux kernel.

The kernel notes a change before the call that made it returns, so who asks afterwards is told, without a delay. What
changed is not told. Not seen: changes made by other machines on a network file system, and writes to mapped memory.
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
    """Watched directories, not what is below them. After the first change it stays stirred."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_stirred = False

    @property
    def is_stirred(self) -> bool:
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
    """Begin to watch; None where the system cannot, or will not watch so many."""
    if sys.platform != "linux":
        return None
    system = ctypes.CDLL(None, use_errno=True)
    descriptor: int = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    for directory in directories:
        if system.inotify_add_watch(descriptor, os.fsencode(directory), _EVENTS) < 0:
            with suppress(OSError):
                os.close(descriptor)
            return None
    return Watch(descriptor)
