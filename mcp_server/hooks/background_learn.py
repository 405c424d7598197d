"""Learning again in the background after an edit: one process at a time, at low priority, that ends by itself.

A hook leaves a mark and starts the process, unless one is running, which then looks at the mark once more before it
ends; so twenty edits in a row make a learn or two. Where a watch runs, that does the work. No hook waits for this.
"""

import os
import sys

MARK_NAME = "relearn.wanted"
LOCK_NAME = "relearn.lock"
WATCH_LOCK_NAME = "watch.lock"
FAILURE_NAME = "relearn.failed"
_PAUSE = 60.0
"""Seconds after a failure before the next attempt: what is broken for one file is broken for the next."""
_ROUNDS = 20
_LOWEST_PRIORITY = 19


def start_relearning(root: str, store: str) -> bool:
    """Have the repository learned again soon; the answer is whether this started a process for it."""
    import fcntl

    if _is_watched(store) or _has_failed(store):
        return False
    os.close(os.open(os.path.join(store, MARK_NAME), os.O_WRONLY | os.O_CREAT, 0o666))
    lock = os.open(os.path.join(store, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    # The lock belongs to the open file, which the new process inherits: there is no moment at which nobody has it.
    os.set_inheritable(lock, True)
    if os.fork() == 0:
        _become_learner(root, store, lock)
    os.close(lock)
    return True


def relearn(root: str, store: str, lock: int) -> int:
    """What the process in the background does: learn for as long as somebody wants it; how often it did."""
    import fcntl
    from pathlib import Path

    from golore.learner.learn import learn

    mark = os.path.join(store, MARK_NAME)
    rounds = 0
    while rounds < _ROUNDS and _taken_away(mark):
        rounds += 1
        learn(Path(root), Path(store), workers=0)
        if not os.path.exists(mark):
            # A hook may have left its mark after the look and before the lock is free; then somebody must go on.
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
        descriptor = os.open(os.path.join(store, WATCH_LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _has_failed(store: str) -> bool:
    import time

    try:
        return time.time() - os.stat(os.path.join(store, FAILURE_NAME)).st_mtime < _PAUSE
    except OSError:
        return False


def _become_learner(root: str, store: str, lock: int) -> None:
    """Leave the agent's session, its pipes and its place in the queue behind, and begin anew."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.nice(_LOWEST_PRIORITY)
        os.chdir("/")
        # -P: whatever lies in the directory of the agent must not be imported.
        command = [sys.executable, "-P", "-m", "golore.mcp_server.hooks.background_learn", root, store, str(lock)]
        os.execv(sys.executable, command)
    finally:
        os._exit(1)


def _taken_away(path: str) -> bool:
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
        relearn(root, store, int(lock))
    except Exception:  # noqa: BLE001  nobody is there to read it; the log is
        log_failure(store, "relearning")
        with open(failure, "w", encoding="utf-8"):
            pass
    else:
        _taken_away(failure)


if __name__ == "__main__":
    _main()
