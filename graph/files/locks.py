"""Advisory file locks, shared or exclusive, that end with the process that holds them.

Neither engine's own locking is enough (one refuses readers outright, the other lets them see half a write), so every
golore process takes these locks first. They do not stop other programs from opening the files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreBusy
from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.system import after_fork_in_child, try_lock, unlock

_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05
_PRECEDENCE: Final = 2.0
"""Seconds for which a process that waits for an exclusive lock goes before processes that come later."""


class FileLock:
    """A lock that this process holds. `release` may be called twice."""

    __slots__ = ("_descriptor", "_owner", "exclusive", "path")

    def __init__(self, path: Path, descriptor: int, *, exclusive: bool) -> None:
        self.path = path
        self.exclusive = exclusive
        self._descriptor = descriptor
        self._owner = os.getpid()

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0 and self._owner == os.getpid():
            _held_descriptors.discard(descriptor)
            # Closing is not enough: a child process that was forked meanwhile may still have the file open.
            unlock(descriptor)
            os.close(descriptor)


def acquire(path: Path, *, exclusive: bool, timeout: float, purpose: str) -> FileLock:
    """Wait for the lock for at most `timeout` seconds, then raise `StoreBusy`, which names the processes that hold it.

    `purpose` completes the sentence "The store cannot be ...".
    """
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as failure:
        if exclusive or failure.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        descriptor = open_regular(path)
    try:
        _wait(descriptor, exclusive=exclusive, timeout=timeout, purpose=purpose)
    except BaseException:
        os.close(descriptor)
        raise
    _held_descriptors.add(descriptor)
    return FileLock(path, descriptor, exclusive=exclusive)


def acquire_in_turn(path: Path, *, exclusive: bool, timeout: float, purpose: str) -> FileLock:
    """Like `acquire`, for a lock that is almost always shared: an exclusive request goes before those that come later.

    Otherwise there may never be a moment in which nobody holds the lock. But while a long reader such as an export
    delays the exclusive request, other readers must not wait as long, so the precedence ends after `_PRECEDENCE`.
    """
    began = time.monotonic()
    turn = _acquire_turn(path, exclusive=exclusive, timeout=timeout, purpose=purpose)
    try:
        if exclusive and turn is not None:
            with contextlib.suppress(StoreBusy):
                return acquire(path, exclusive=True, timeout=min(timeout, _PRECEDENCE), purpose=purpose)
            turn.release()
        left = max(0.0, timeout - (time.monotonic() - began))
        return acquire(path, exclusive=exclusive, timeout=left, purpose=purpose)
    finally:
        if turn is not None:
            turn.release()


def _acquire_turn(path: Path, *, exclusive: bool, timeout: float, purpose: str) -> FileLock | None:
    """Acquire the lock that orders the requests; None if its file cannot be created, as without write permission."""
    try:
        return acquire(path.with_name(f"{path.name}.turn"), exclusive=exclusive, timeout=timeout, purpose=purpose)
    except OSError:
        return None


def is_held(path: Path) -> bool:
    """Whether a process holds the lock exclusively at this moment."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor, exclusive=False)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, *, exclusive: bool, timeout: float, purpose: str) -> None:
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while not try_lock(descriptor, exclusive=exclusive):
        left = deadline - time.monotonic()
        if left <= 0:
            raise StoreBusy(
                f"The store cannot be {purpose}: {_holder(descriptor)} is using it. "
                "Wait until it is done, or end it, and try again."
            )
        time.sleep(min(pause, left))
        pause = min(pause * 2, _LONGEST_PAUSE)


def _holder(descriptor: int) -> str:
    pids = _pids_in_proc(descriptor)
    return ", ".join(f"process {pid} ({_command(pid)})" for pid in pids) or "another process"


def _pids_in_proc(descriptor: int) -> list[int]:
    """The processes that hold a `flock` on this file, also a shared one; empty if the system has no `/proc/locks`."""
    inode = str(os.fstat(descriptor).st_ino)
    pids: set[int] = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            words = line.split()
            # "1: FLOCK ADVISORY WRITE 4242 fd:01:131 0 EOF"; a waiting process has "->" as its second word.
            if len(words) >= 6 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                pids.add(int(words[4]))
    return sorted(pid for pid in pids if pid > 0)


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        return _shortened([word.decode(errors="replace") for word in words])
    return "unknown command"


def _shortened(words: list[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= 120 else text[:119] + "…"


_held_descriptors: Final[set[int]] = set()


def _close_after_fork() -> None:
    """Close inherited locks: a worker that was forked while a lock was held must not keep it when its parent dies."""
    for descriptor in _held_descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held_descriptors.clear()


after_fork_in_child(_close_after_fork)
