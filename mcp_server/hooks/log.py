"""`hook.log` in the store: failures of hooks, which hooks do not report to their agents."""

import os
import time

LOG_NAME = "hook.log"
_MAX_SIZE = 200_000


def log_failure(store: str, action: str) -> None:
    """Append the exception that is being handled. Never fails."""
    import traceback

    log_line(store, f"{action}: {traceback.format_exc().rstrip()}")


def log_line(store: str, sentence: str) -> None:
    """Append a line. A log that has grown too large is renamed to `hook.log.old` first. Never fails."""
    path = os.path.join(store, LOG_NAME)
    try:
        if os.path.exists(path) and os.path.getsize(path) > _MAX_SIZE:
            os.replace(path, f"{path}.old")
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sentence}\n")
    except OSError:
        pass
