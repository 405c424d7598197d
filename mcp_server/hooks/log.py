"""`hook.log` in the store: what went wrong in hooks, which tell their agents nothing of it."""

import os
import time

LOG_NAME = "hook.log"
_LARGEST = 200_000


def log_failure(store: str, doing: str) -> None:
    """Append the exception that is being handled; an old log makes room at some size. Never fails."""
    import traceback

    log_line(store, f"{doing}: {traceback.format_exc().rstrip()}")


def log_line(store: str, sentence: str) -> None:
    path = os.path.join(store, LOG_NAME)
    try:
        if os.path.exists(path) and os.path.getsize(path) > _LARGEST:
            os.replace(path, f"{path}.old")
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sentence}\n")
    except OSError:
        pass
