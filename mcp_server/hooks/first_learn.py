"""Learns a repository for the first time, in the background, when an agent works in it and it has no store.

Only the git checkout that the agent was started in is learned, and linked worktrees of it: the user has installed the
hook, and opened an agent there. A home directory, what contains it, and a checkout with a store of somebody else are
never learned. The learn is announced once. If it fails, it is not tried again for a day.

Runs in the hook process: imports only small modules.
"""

import os
import sys

from golore.graph.safety.regular_file import open_regular
from golore.graph.safety.state_directory import create_state_directory
from golore.graph.safety.trust import blake2b_hex, is_trusted
from golore.mcp_server.hooks.background_learn import start_process
from golore.mcp_server.hooks.store_locator import linked_git_directory, store_in

ANNOUNCEMENT = (
    "golore has not learned this repository yet and is learning it now, in the background. "
    "Facts about its Go files follow with later events."
)
FIRST_LEARNS = "first-learns"
_PAUSE_AFTER_FAILURE = 86_400.0
_SETTINGS_NAME = "settings.toml"


def unlearned_checkout(cwd: str, files: list[str]) -> tuple[str, str] | None:
    """Root and store of the checkout to learn: that of the first existing file, or else of the agent's working
    directory. None if it may not be learned, or has no Go code at its top and none of the files."""
    try:
        return _unlearned_checkout(cwd, files)
    except ValueError:
        return None  # a path that no file can have


def _unlearned_checkout(cwd: str, files: list[str]) -> tuple[str, str] | None:
    own = _top_of(os.path.realpath(cwd))
    top = own
    existing = [path for file in files if os.path.isfile(path := os.path.realpath(os.path.join(cwd, file)))]
    if existing:
        top = _top_of(os.path.dirname(existing[0]))
    elif files:
        return None
    if not top or not own or (top != own and _common_directory(top) != _common_directory(own)):
        return None
    if not existing and not has_go_code(top):
        return None
    store = store_in(top)
    if os.path.lexists(store) and not is_trusted(top, store):
        return None
    is_allowed = os.access(top, os.W_OK) and not contains_home(top) and _is_wanted()
    return (top, store) if is_allowed else None


def start_first_learn(root: str, store: str) -> bool:
    """Start a process that learns, unless one was started before. Returns whether this call did."""
    marker = os.path.join(create_state_directory(FIRST_LEARNS), blake2b_hex(os.fsencode(root), 16))
    try:
        os.close(open_regular(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        if _is_recent(marker):
            return False
        os.utime(marker)
    start_process("golore.mcp_server.hooks.first_learn", root, store, marker)
    return True


def _is_recent(marker: str) -> bool:
    import time

    try:
        return time.time() - os.stat(marker).st_mtime < _PAUSE_AFTER_FAILURE
    except OSError:
        return False


def _top_of(directory: str) -> str:
    """The top of the git checkout that contains a directory; empty if there is none. A submodule belongs to the
    checkout around it."""
    found = ""
    while True:
        link = os.path.join(directory, ".git")
        if os.path.isfile(os.path.join(link, "HEAD")) or linked_git_directory(directory):
            return directory
        if os.path.isfile(link):
            found = directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return found
        directory = parent


def _common_directory(top: str) -> str:
    """The git directory that a checkout shares with its linked worktrees, as its own files say."""
    linked = linked_git_directory(top)
    return os.path.dirname(os.path.dirname(os.path.join(top, linked))) if linked else os.path.join(top, ".git")


def has_go_code(top: str) -> bool:
    """Whether a directory itself has a Go file or a module."""
    return any(name in ("go.mod", "go.work") or name.endswith(".go") for name in os.listdir(top))


def contains_home(top: str) -> bool:
    """Whether a resolved directory is the user's home, or contains it, as the root does."""
    home = os.path.realpath(os.path.expanduser("~"))
    return home == top or home.startswith(os.path.join(top, "")) or os.path.dirname(top) == top


def _is_wanted() -> bool:
    """Whether the user's own settings allow it. A file that cannot be read switches hooks off."""
    home = os.environ.get("XDG_CONFIG_HOME", "") or os.path.join(os.path.expanduser("~"), ".config")
    path = os.path.join(home, "golore", _SETTINGS_NAME)
    if not os.path.exists(path):
        return True
    from golore.mcp_server.hooks.hook_settings import read_hook_settings

    try:
        table = read_hook_settings(path, follow=True)
    except (OSError, ValueError, AttributeError):
        return False
    return bool(table.get("enabled", True)) and bool(table.get("relearn", True))


def _main() -> None:
    from pathlib import Path

    from golore.learner.learn import learn
    from golore.mcp_server.hooks.log import log_failure

    root, store, marker = sys.argv[1:]
    try:
        learn(Path(root), Path(store), workers=0)
        os.unlink(marker)
    except Exception:  # noqa: BLE001  there is no terminal; the failure is logged
        log_failure(store, "learning for the first time")


if __name__ == "__main__":
    _main()
