"""The directory for what golore remembers about this user and machine, outside of every repository.

Runs in the hook process: imports only `os`.
"""

import os


def state_directory() -> str:
    """`$XDG_STATE_HOME/golore`, by default `~/.local/state/golore`. It need not exist."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # The specification says that a relative path is to be ignored; it would depend on the current directory.
    if not home.startswith("/"):
        home = os.path.expanduser("~/.local/state")  # noqa: PTH111  pathlib is slow to import
    return f"{home}/golore"
