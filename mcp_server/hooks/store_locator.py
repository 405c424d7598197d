"""Finds the store of a file, for hooks: the rules of `services.repository`, without its imports."""

import os

from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.trust import STORE_NAME, blake2b_hex, is_trusted

MANIFEST_NAME = "store.json"


def find_store(start: str) -> tuple[str, str] | None:
    """Root and store directory of the learned repository at or above a resolved path; None if there is none. Stores
    that this user's golore did not make are passed over."""
    home = os.environ.get("GOLORE_HOME", "").strip()
    directory = start
    while True:
        store = _store_in_home(home, directory) if home else os.path.join(directory, STORE_NAME)
        if os.path.isfile(os.path.join(store, MANIFEST_NAME)) and is_trusted(directory, store):
            return directory, store
        parent = os.path.dirname(directory)
        if parent == directory or _is_linked_worktree(directory):
            return None
        directory = parent


def _store_in_home(home: str, root: str) -> str:
    name = os.path.basename(root) or "root"
    return os.path.join(os.path.expanduser(home), f"{name}-{blake2b_hex(os.fsencode(root), 6)}")


def _is_linked_worktree(directory: str) -> bool:
    try:
        target = read_regular(os.path.join(directory, ".git"), 4096, follow=True).partition(b"gitdir:")[2].strip()
    except OSError:  # a directory, in the ordinary case
        return False
    return os.path.basename(os.path.dirname(target)) == b"worktrees"
