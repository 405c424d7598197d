"""Where the store of a file is, for a hook: the rule of `place` again, without what that imports."""

import os

STORE_NAME = ".golore"
MANIFEST_NAME = "store.json"


def find_store(start: str) -> tuple[str, str] | None:
    """The root of the learned repository at or above a real path, and the directory of its store."""
    home = os.environ.get("GOLORE_HOME", "").strip()
    directory = start
    while True:
        store = _below_home(home, directory) if home else os.path.join(directory, STORE_NAME)
        if os.path.isfile(os.path.join(store, MANIFEST_NAME)):
            return directory, store
        above = os.path.dirname(directory)
        if above == directory or _is_linked_worktree(directory):
            return None
        directory = above


def blake2b_hex(data: bytes, size: int) -> str:
    """The digest that the learner gives to a file's bytes, for size 16."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=size).hexdigest()


def _below_home(home: str, root: str) -> str:
    name = os.path.basename(root) or "root"
    return os.path.join(os.path.expanduser(home), f"{name}-{blake2b_hex(os.fsencode(root), 6)}")


def _is_linked_worktree(directory: str) -> bool:
    try:
        with open(os.path.join(directory, ".git"), "rb") as file:
            target = file.read(4096).partition(b"gitdir:")[2].strip()
    except OSError:  # a directory, in the ordinary case
        return False
    return os.path.basename(os.path.dirname(target)) == b"worktrees"
