"""Finds the store of a file, for hooks: the rules of `services.repository`, without its imports."""

import os

from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.trust import STORE_NAME, blake2b_hex, is_trusted

MANIFEST_NAME = "store.json"


def find_store(start: str) -> tuple[str, str] | None:
    """Root and store directory of the learned repository at or above a resolved path; None if there is none. Stores
    that this user's golore did not make are passed over."""
    directory = start
    while True:
        store = store_in(directory)
        if os.path.isfile(os.path.join(store, MANIFEST_NAME)) and is_trusted(directory, store):
            return directory, store
        parent = os.path.dirname(directory)
        if parent == directory or linked_git_directory(directory):
            return None
        directory = parent


def store_in(root: str) -> str:
    """The store directory of a repository with this root. It need not exist."""
    home = os.environ.get("GOLORE_HOME", "").strip()
    if not home:
        return os.path.join(root, STORE_NAME)
    name = os.path.basename(root) or "root"
    return os.path.join(os.path.expanduser(home), f"{name}-{blake2b_hex(os.fsencode(root), 6)}")


def linked_git_directory(directory: str) -> str:
    """The git directory that a linked worktree names in its file `.git`; empty if this is not a linked worktree."""
    try:
        target = read_regular(os.path.join(directory, ".git"), 4096, follow=True).partition(b"gitdir:")[2].strip()
    except OSError:  # a directory, in the ordinary case
        return ""
    return os.fsdecode(target) if os.path.basename(os.path.dirname(target)) == b"worktrees" else ""
