"""For tests of processes that end themselves by an alarm, which `conftest` blocks."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def unblocked_alarm() -> Generator[None]:
    """Processes that are started in the block get the signal SIGALRM."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
