"""`hook.log` in the user's state directory: failures of hooks, which hooks do not report to their agents."""

import os
import time

from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.state_directory import create_state_directory

LOG_NAME = "hook.log"
_MAX_SIZE = 200_000
_MAX_LINE = 8_000


def log_failure(store: str, action: str) -> None:
    """Log the exception that is being handled. Never fails."""
    import traceback

    log_line(store, f"{action}: {traceback.format_exc().rstrip()}")


def log_line(store: str, sentence: str) -> None:
    """Append a line about a store. Control characters are escaped, because paths and texts of a repository may contain
    any. A log that has grown too large is renamed to `hook.log.old` first. Never fails."""
    text = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {store or '-'}: {sentence}"
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)[:_MAX_LINE]
    try:
        path = os.path.join(create_state_directory(), LOG_NAME)
        if os.path.exists(path) and os.path.getsize(path) > _MAX_SIZE:
            os.replace(path, f"{path}.old")
        descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, line.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            os.close(descriptor)
    except OSError:
        pass
