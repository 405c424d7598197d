"""The directory for what golore keeps about this user, outside all repositories: which stores it made, and logs.

Runs in the hook process: imports only `os`.
"""

import os


def state_directory() -> str:
    """`$XDG_STATE_HOME/golore`, by default `~/.local/state/golore`. It need not exist."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification says to ignore a relative path. It would also lead into the repository.
    base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "golore")


def create_state_directory(*parts: str) -> str:
    """Create the directory, or one below it, readable by this user only, and return its path."""
    path = os.path.join(state_directory(), *parts)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path
