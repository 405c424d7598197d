"""Learns in the background after an edit: one process per store at a time, at the lowest priority.

A hook creates a marker file and starts the process, unless one is running. A running process checks the marker again
before it exits, so twenty edits in a row cause one or two learns. If `golore watch` is running, that does the work
instead. No hook waits for the learn.
"""

import os
import sys

from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.system import LOCKS_ARE_INHERITED, lower_priority, try_lock, unlock

MARK_NAME = "relearn.wanted"
LOCK_NAME = "relearn.lock"
WATCH_LOCK_NAME = "watch.lock"
FAILURE_NAME = "relearn.failed"
_PAUSE_AFTER_FAILURE = 60.0
"""Seconds after a failure before the next attempt: what fails for one edit usually fails for the next."""
_MAX_ROUNDS = 20
_NO_LOCK = -1
_MODULE = "golore.mcp_server.hooks.background_learn"


def start_background_learn(root: str, store: str) -> bool:
    """Request a background learn. Returns whether this call started a process for it."""
    if _is_watched(store) or _failed_recently(store):
        return False
    os.close(open_regular(os.path.join(store, MARK_NAME), os.O_WRONLY | os.O_CREAT))
    lock = open_regular(os.path.join(store, LOCK_NAME), os.O_RDWR | os.O_CREAT)
    if not try_lock(lock, exclusive=True):
        os.close(lock)
        return False
    if not LOCKS_ARE_INHERITED:
        unlock(lock)
        os.close(lock)
        start_process(_MODULE, root, store, str(_NO_LOCK))
        return True
    # The lock belongs to the open file, which the new process inherits, so it is never released in between.
    os.set_inheritable(lock, True)
    start_process(_MODULE, root, store, str(lock))
    os.close(lock)
    return True


def learn_while_wanted(root: str, store: str, lock: int) -> int:
    """Learn as long as hooks request it, at most `_MAX_ROUNDS` times; returns how often. Runs in the new process."""
    from pathlib import Path

    from golore.learner.learn import learn

    mark = os.path.join(store, MARK_NAME)
    rounds = 0
    while rounds < _MAX_ROUNDS and _remove(mark):
        rounds += 1
        learn(Path(root), Path(store), workers=0)
        if not os.path.exists(mark):
            # A hook that created the marker after this check found the lock held and started no process. So check
            # once more after releasing the lock, and continue if no other process has taken it.
            unlock(lock)
            if not os.path.exists(mark):
                break
            if not try_lock(lock, exclusive=True):
                break
    return rounds


def _is_watched(store: str) -> bool:
    try:
        descriptor = open_regular(os.path.join(store, WATCH_LOCK_NAME))
    except OSError:
        return False
    try:
        return not try_lock(descriptor, exclusive=False)
    finally:
        os.close(descriptor)


def _failed_recently(store: str) -> bool:
    import time

    try:
        return time.time() - os.stat(os.path.join(store, FAILURE_NAME)).st_mtime < _PAUSE_AFTER_FAILURE
    except OSError:
        return False


def start_process(module: str, *arguments: str) -> None:
    """Start a module of golore at the lowest priority, detached from the agent's session and pipes."""
    from golore.graph.safety.child_processes import python_command, start_detached

    command = python_command("-m", module, *arguments)
    if not LOCKS_ARE_INHERITED:
        start_detached(command)
    elif os.fork() == 0:
        _become(command)


def _become(command: list[str]) -> None:
    """Replace this process, which was forked, by another program."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        lower_priority()
        os.chdir("/")
        os.execv(command[0], command)
    finally:
        os._exit(1)


def _remove(path: str) -> bool:
    """Remove a file. Returns False if it does not exist."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _main() -> None:
    from golore.mcp_server.hooks.log import log_failure

    root, store, lock = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if lock == _NO_LOCK:
        lower_priority()
        lock = open_regular(os.path.join(store, LOCK_NAME), os.O_RDWR | os.O_CREAT)
        if not try_lock(lock, exclusive=True):
            return  # another hook's process was faster, and sees the marker
    failure = os.path.join(store, FAILURE_NAME)
    try:
        learn_while_wanted(root, store, lock)
    except Exception:  # noqa: BLE001  there is no terminal; the failure is logged
        log_failure(store, "relearning")
        os.close(open_regular(failure, os.O_WRONLY | os.O_CREAT))
        os.utime(failure)
    else:
        _remove(failure)


if __name__ == "__main__":
    _main()
