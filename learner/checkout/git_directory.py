"""Reads `.git`: whether it belongs to a repository, a submodule or a linked worktree, and which files are tracked.

Reads git's own files and runs no git command, so it works where git is not installed. Of the index it reads only the
names, and of a split index only the names in the index itself. It does not read objects or history.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import Enum
from hashlib import blake2b
from pathlib import Path
from typing import Final

from golore.graph.safety.git_index import index_entries, index_version
from golore.graph.safety.regular_file import read_regular

_FILE_LIMIT: Final = 64 << 20
"""The largest file of git that is read, in bytes, except the index. `packed-refs` has about 60 bytes for each
reference."""
_INDEX_LIMIT: Final = 1 << 30


class GitLink(Enum):
    REPOSITORY = "repository"
    SUBMODULE = "submodule"
    WORKTREE = "worktree"


def classify(directory: Path) -> GitLink:
    """The kind of checkout that the `.git` in this directory belongs to."""
    target = git_directory(directory)
    if target is None or target == directory / ".git":
        return GitLink.REPOSITORY
    if target.parent.name == "worktrees":
        return GitLink.WORKTREE
    return GitLink.SUBMODULE if "modules" in target.parts else GitLink.REPOSITORY


def top_of(root: Path) -> Path | None:
    """The top of the checkout that contains a directory: the nearest directory with a `.git`; None if there is none."""
    return next((directory for directory in (root, *root.parents) if (directory / ".git").exists()), None)


def git_directory(directory: Path) -> Path | None:
    """The git directory of a checkout: `.git`, or the directory that a file `.git` names; None if there is none."""
    link = directory / ".git"
    if link.is_dir():
        return link
    text = read_text(link)
    return directory / text.partition("gitdir:")[2].strip() if text.startswith("gitdir:") else None


def common_directory(directory: Path) -> Path | None:
    """The git directory that all worktrees of a checkout share; None if there is none."""
    git_dir = git_directory(directory)
    if git_dir is None:
        return None
    commondir = read_text(git_dir / "commondir")
    return git_dir / commondir if commondir else git_dir


def sharing_name(root: Path) -> tuple[str, Path] | None:
    """A name for what the worktrees of a repository share about this directory, and their git directory.

    It is made from the path of the git directory, its inode and the time of its creation, so that another repository at
    the same path has another name. None if there is no repository, or if git's own files do not show that the checkout
    belongs to it: a `.git` that a stranger wrote can name any repository of the user. So a linked worktree counts only
    if its repository names it, and a submodule does not count.
    """
    top = top_of(root)
    link = top / ".git" if top is not None else None
    if top is None or link is None or link.is_symlink():
        return None
    git_dir = (git_directory(top) or link).resolve()
    common = git_dir
    if link.is_dir():
        if (git_dir / "commondir").exists():
            return None
    else:
        common = git_dir.parent.parent
        is_named = git_dir.parent.name == "worktrees" and (git_dir / read_text(git_dir / "gitdir")).resolve() == link
        if not is_named or (git_dir / read_text(git_dir / "commondir")).resolve() != common:
            return None
    try:
        inode, is_repository = common.stat().st_ino, (common / "HEAD").exists()
        created = (common / "description").lstat().st_mtime_ns if (common / "description").exists() else 0
    except OSError:
        return None
    parts = (os.fsencode(common), os.fsencode(root.relative_to(top)), f"{inode} {created}".encode())
    return (blake2b(b"\0".join(parts), digest_size=16).hexdigest(), common) if is_repository else None


def other_checkouts(root: Path) -> tuple[Path, ...]:
    """The same directory in the other existing worktrees of its repository, the main one first."""
    top = top_of(root)
    common = common_directory(top) if top is not None else None
    if top is None or common is None:
        return ()
    common = common.resolve()
    links = sorted(read_text(link) for link in common.glob("worktrees/*/gitdir"))
    tops = [common.parent] if common.name == ".git" else []
    tops += [(common / link).parent for link in links if link]
    relative, own_top = root.relative_to(top), top.resolve()
    return tuple(other / relative for other in tops if other != own_top and (other / ".git").exists())


def checkout_of(root: Path) -> GitCheckout | None:
    """The git checkout that contains a directory, or None."""
    top = top_of(root)
    return None if top is None else GitCheckout(top, prefix="/".join((*root.relative_to(top).parts, "")))


_SUBMODULE_PATH: Final = re.compile(r"^\s*path\s*=\s*(.*?)\s*$", re.MULTILINE)


def submodule_paths(directory: Path) -> frozenset[str]:
    """The paths that a checkout's `.gitmodules` names."""
    return frozenset(path.strip('"') for path in _SUBMODULE_PATH.findall(read_text(directory / ".gitmodules")))


class GitCheckout:
    """The tracked paths and submodules of one git checkout in the tree.

    git does not ignore a path that is tracked, even if an ignore file names it. The index is read on the first lookup,
    which many trees never need. Paths are relative to the learned root. `base` is the path of the checkout relative to
    that root, and `prefix` the path of the root relative to the checkout.
    """

    __slots__ = ("_base", "_directories", "_index", "_names", "_prefix", "_submodules", "_top")

    def __init__(self, top: Path, base: str = "", prefix: str = "") -> None:
        self._top = top
        self._base = len(base) + 1 if base else 0
        self._prefix = prefix
        self._index: bytes | None = None
        self._names: frozenset[bytes] = frozenset()
        self._directories: frozenset[bytes] = frozenset()
        self._submodules: frozenset[str] | None = None

    def has_submodule(self, path: str) -> bool:
        """Whether `.gitmodules` names this directory."""
        if self._submodules is None:
            self._submodules = submodule_paths(self._top)
        return self._prefix + path[self._base :] in self._submodules

    def tracks(self, path: str) -> bool:
        """Whether this file is in the index."""
        return self._find(path, "_names")

    def tracks_below(self, path: str) -> bool:
        """Whether this directory is a submodule in the index or contains a path of the index."""
        return self._find(path, "_directories")

    def _find(self, path: str, where: str) -> bool:
        name = os.fsencode(self._prefix + path[self._base :])
        if self._index is None:
            git_dir = git_directory(self._top)
            self._index = _read_bytes(git_dir / "index", _INDEX_LIMIT) if git_dir else b""
        # A name that does not occur in the bytes of the index is not an entry; parsing the entries takes long.
        if name not in self._index and index_version(self._index) != 4:
            return False
        if not self._names:
            common = common_directory(self._top)
            is_sha256 = common is not None and _SHA256_FORMAT.search(read_text(common / "config")) is not None
            self._names, links = _files_and_submodules(self._index, 32 if is_sha256 else 20)
            self._directories = links | {parent for entry in self._names | links for parent in _parents(entry)}
        found: frozenset[bytes] = getattr(self, where)
        return name in found


_SHA256_FORMAT: Final = re.compile(r"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_GITLINK: Final = 0o160000


def _files_and_submodules(data: bytes, object_name_size: int) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The files and the submodules in a git index; both empty if its format is unknown or damaged."""
    files: set[bytes] = set()
    links: set[bytes] = set()
    try:
        for mode, name in index_entries(data, object_name_size) if index_version(data) in (2, 3, 4) else ():
            (links if mode & 0o170000 == _GITLINK else files).add(name)
    except (ValueError, IndexError):
        return frozenset(), frozenset()
    return frozenset(files), frozenset(links)


def _parents(name: bytes) -> Iterator[bytes]:
    while b"/" in name:
        name = name.rpartition(b"/")[0]
        yield name


def read_text(path: Path) -> str:
    """The text of one of git's files, without white space around it; empty if it cannot be read, is too large or is not
    a regular file."""
    return _read_bytes(path, _FILE_LIMIT).decode("utf-8", "replace").strip()


def _read_bytes(path: Path, limit: int) -> bytes:
    try:
        return read_regular(path, limit, follow=True)
    except (OSError, ValueError):  # a path that a file of git names may contain a NUL
        return b""
