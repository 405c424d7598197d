"""Learns in the background after an edit: one process per store at a time, at the lowest priority.

A hook creates a marker file and starts the process, unless one is running. A running process checks the marker again
before it exits, so twenty edits in a row cause one or two learns. If `golore watch` is running, that does the work
instead. No hook waits for the learn.
"""

import os
import sys

from golore.graph.safety.regular_file import open_regular

MARK_NAME = "relearn.wanted"
LOCK_NAME = "relearn.lock"
WATCH_LOCK_NAME = "watch.lock"
FAILURE_NAME = "relearn.failed"
_PAUSE_AFTER_FAILURE = 60.0
"""Seconds after a failure before the next attempt: what fails for one edit usually fails for the next."""
_MAX_ROUNDS = 20
_LOWEST_PRIORITY = 19


def start_background_learn(root: str, store: str) -> bool:
    """Request a background learn. Returns whether this call started a process for it."""
    import fcntl

    if _is_watched(store) or _failed_recently(store):
        return False
    os.close(open_regular(os.path.join(store, MARK_NAME), os.O_WRONLY | os.O_CREAT))
    lock = open_regular(os.path.join(store, LOCK_NAME), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    # The lock belongs to the open file, which the new process inherits, so it is never released in between.
    os.set_inheritable(lock, True)
    if os.fork() == 0:
        _become_learner(root, store, lock)
    os.close(lock)
    return True


def learn_while_wanted(root: str, store: str, lock: int) -> int:
    """Learn as long as hooks request it, at most `_MAX_ROUNDS` times; returns how often. Runs in the new process."""
    import fcntl
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
            fcntl.flock(lock, fcntl.LOCK_UN)
            if not os.path.exists(mark):
                break
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                break
    return rounds


def _is_watched(store: str) -> bool:
    import fcntl

    try:
        descriptor = open_regular(os.path.join(store, WATCH_LOCK_NAME))
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _failed_recently(store: str) -> bool:
    import time

    try:
        return time.time() - os.stat(os.path.join(store, FAILURE_NAME)).st_mtime < _PAUSE_AFTER_FAILURE
    except OSError:
        return False


def _become_learner(root: str, store: str, lock: int) -> None:
    """Detach from the agent's session and pipes, lower the priority, and replace this process by the learner."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.nice(_LOWEST_PRIORITY)
        os.chdir("/")
        from golore.graph.safety.child_processes import python_command

        command = python_command("-m", "golore.mcp_server.hooks.background_learn", root, store, str(lock))
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

    root, store, lock = sys.argv[1:]
    failure = os.path.join(store, FAILURE_NAME)
    try:
        learn_while_wanted(root, store, int(lock))
    except Exception:  # noqa: BLE001  there is no terminal; the failure is logged
        log_failure(store, "relearning")
        os.close(open_regular(failure, os.O_WRONLY | os.O_CREAT))
        os.utime(failure)
    else:
        _remove(failure)


if __name__ == "__main__":
    _main()
