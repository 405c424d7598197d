"""Runs an action again and again in forked processes, each killed one step later than the one before."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

_STEPS = frozenset(("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "sqlite3.connect"))


def kill_at_each_step(action: Callable[[], object], reset: Callable[[], None], check: Callable[[], None]) -> int:
    """Reset, run the action up to a step that opens or changes a file, kill it and check; until the action ends by
    itself. Returns the number of kills. The process must have no threads, and the action no open files."""
    for last in range(1, 10_000):
        reset()
        child = os.fork()
        if not child:
            _run_until(action, last)
        status = os.waitpid(child, 0)[1]
        check()
        if not os.WIFSIGNALED(status):
            assert status == 0, status
            return last - 1
    raise AssertionError("it does not end")


def _run_until(action: Callable[[], object], last: int) -> None:
    seen = 0

    def count(event: str, _: tuple[object, ...]) -> None:
        nonlocal seen
        if event in _STEPS:
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        sys.addaudithook(count)
        action()
        code = 0
    finally:
        os._exit(code)
