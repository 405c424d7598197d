"""Makes store directories for this user, and moves directories aside that a stranger made (see `trust`)."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreError, StoreUntrusted
from golore.graph.files import locks
from golore.graph.files.atomic_write import replace_file
from golore.graph.safety.state_directory import create_state_directory
from golore.graph.safety.system import user_name
from golore.graph.safety.trust import (
    FOREIGN,
    ID_NAME,
    IRREGULAR,
    LINK,
    MOVED,
    TRACKED,
    UNKNOWN,
    distrust_reason,
    path_of_id,
    register_store,
    store_id,
)

_IGNORE_NAME: Final = ".gitignore"
_LOCK_NAME: Final = "stores.lock"
_BEGUN: Final = re.compile(rf"({re.escape(_IGNORE_NAME)}|{ID_NAME})((\.\d+)?\.tmp)?")
"""The files of a store directory that was only just created."""
_WAIT: Final = 10.0


def create_store_directory(directory: Path, own_id: str = "") -> None:
    """Create the directory of a new store and register it, with a random id unless one is given. A directory that
    exists is not registered."""
    # A directory without an id may be one that another process is just creating: what this process would then remove
    # as left over from a killed one is still in use.
    if not directory.is_dir() or not store_id(str(directory)):
        with _registering(directory):
            # Another process may have created it meanwhile.
            if not directory.is_dir():
                directory.mkdir(parents=True)
                register(directory, own_id)
    ignore = directory / _IGNORE_NAME
    if not ignore.exists():
        replace_file(ignore, b"*\n")


def claim_store(root: Path, directory: Path) -> str:
    """Make sure that the store directory, if it exists, is this user's, before a learn writes to it.

    A directory that this user's golore did not make is renamed, and the returned sentence says so. Raises
    `StoreUntrusted` if that would not help.
    """
    reason = distrust_reason(str(root), str(directory))
    if not reason:
        return ""
    if reason not in (MOVED, UNKNOWN):
        raise StoreUntrusted(describe_distrust(reason, directory))
    with _registering(directory):
        return _claim_strangers(directory) if distrust_reason(str(root), str(directory)) else ""


def _claim_strangers(directory: Path) -> str:
    found = list(directory.iterdir())
    if all(_BEGUN.fullmatch(path.name) and path.is_file() for path in found):
        # Nothing is in it: another process was killed while it created the directory.
        for path in found:
            path.unlink(missing_ok=True)
        register(directory)
        return ""
    aside = set_aside(directory)
    return (
        f"{directory} was not made by golore for you at this path, so it was renamed to {aside.name} and not used. "
        "Run `golore adopt` to see its notes and take them over."
    )


def set_aside(directory: Path) -> Path:
    """Rename a store directory to one that is not used, and return its path."""
    aside = _asides(directory)
    number = 1 + max((_number(path) for path in aside), default=0)
    return directory.rename(directory.with_name(f"{directory.name}.aside-{number}"))


def newest_aside(directory: Path) -> Path | None:
    """The directory that was last renamed by `set_aside`."""
    return max(_asides(directory), key=_number, default=None)


def require_trust(root: Path, directory: Path) -> None:
    """Raise `StoreUntrusted` unless the store is this user's."""
    reason = distrust_reason(str(root), str(directory))
    if reason:
        raise StoreUntrusted(describe_distrust(reason, directory))


def describe_distrust(reason: str, directory: Path) -> str:
    """What is wrong with the store, and what to do."""
    if reason == LINK:
        return f"{directory} is a link or a file, not a directory. Remove it and run `golore learn`."
    if reason == TRACKED:
        return (
            f"git tracks files in {directory}, so it may be somebody else's, and golore does not use it. Run "
            f"`git rm -r --cached {directory.name}` and then `golore learn`."
        )
    if reason == IRREGULAR:
        return (
            f"{directory} contains a link or a special file, so golore does not use it. Rename the directory and "
            "run `golore learn`."
        )
    if reason == FOREIGN:
        return (
            f"{directory} belongs to {user_name(directory.lstat().st_uid)}. Run `golore adopt` to ask questions of it, "
            "or set GOLORE_HOME to a directory of yours and run `golore learn`."
        )
    if reason == MOVED:
        return (
            f"{directory} was made for {path_of_id(store_id(str(directory)))}. Run `golore adopt` to use it here, "
            "or `golore learn` to make a new store; the old one is kept."
        )
    return (
        f"{directory} was not made by golore for you, so it is not used. Run `golore adopt` to see its notes "
        "and take them over, or `golore learn` to make a new store; the old one is kept."
    )


def register(directory: Path, own_id: str = "") -> None:
    """Record an existing store directory as this user's."""
    with _state_errors(directory):
        register_store(str(directory), own_id)


@contextmanager
def _registering(directory: Path) -> Generator[None]:
    """One process at a time creates and claims stores. Otherwise a directory that another process has created, but not
    yet registered, would be taken for a stranger's."""
    with _state_errors(directory):
        lock = locks.acquire(
            Path(create_state_directory()) / _LOCK_NAME, exclusive=True, timeout=_WAIT, purpose="created"
        )
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _state_errors(directory: Path) -> Generator[None]:
    try:
        yield
    except OSError as failure:
        raise StoreError(
            f"golore cannot record that it made {directory}: {failure}. Check who owns the directory that is named, or "
            "set XDG_STATE_HOME to a directory of yours."
        ) from failure


def _asides(directory: Path) -> list[Path]:
    found = directory.parent.glob(f"{directory.name}.aside-*")
    return [path for path in found if _number(path) and path.is_dir() and not path.is_symlink()]


def _number(path: Path) -> int:
    digits = path.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
