"""Reads from git's index whether files below a path are tracked, without running git.

Runs in the hook process: imports only `os` and `regular_file`. Covers index versions 2 to 4, split indexes, sparse
indexes, and both kinds of object names.
"""

import os

from golore.graph.files.regular_file import read_regular

_MAX_SIZE = 512 << 20
_HEADER = 12
_STATUS = 40
"""Bytes of an entry before the object name."""


def is_tracked(root: str, name: str) -> bool:
    """Whether git tracks files in the directory `name` of `root`. False outside a git checkout."""
    found = _find_git_directory(root)
    if found is None:
        return False
    git_directory, top = found
    inside = os.path.relpath(root, top)
    prefix = os.fsencode(name if inside == "." else f"{inside}/{name}") + b"/"
    indexes = ["index", *(file for file in os.listdir(git_directory) if file.startswith("sharedindex."))]
    return any(_names(git_directory, index, prefix) for index in indexes)


def _find_git_directory(root: str) -> tuple[str, str] | None:
    """The git directory and the top directory of the checkout that contains `root`."""
    top = root
    while True:
        path = os.path.join(top, ".git")
        if os.path.isdir(path):
            return path, top
        if os.path.isfile(path):
            target = read_regular(path, 1 << 16, follow=True).partition(b"gitdir:")[2].strip()
            directory = os.path.join(top, os.fsdecode(target))
            return (directory, top) if os.path.isdir(directory) else None
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent


def _names(git_directory: str, index: str, prefix: bytes) -> bool:
    try:
        data = read_regular(os.path.join(git_directory, index), _MAX_SIZE)
    except FileNotFoundError:
        return False
    if data[:4] != b"DIRC":
        return False
    if int.from_bytes(data[4:8], "big") >= 4:
        return _has_compressed_entry(data, prefix, _object_name_size(git_directory))
    return _has_entry(data, prefix)


def _has_entry(data: bytes, prefix: bytes) -> bool:
    """Names are complete, and the two bytes before a name contain its length."""
    position = data.find(prefix, _HEADER)
    while position >= 0:
        end = data.find(b"\0", position)
        for flags in (position - 2, position - 4):  # version 3 may have two more bytes in between
            length = int.from_bytes(data[flags : flags + 2], "big") & 0xFFF
            if length in (end - position, 0xFFF):
                return True
        position = data.find(prefix, position + 1)
    return False


def _has_compressed_entry(data: bytes, prefix: bytes, object_name_size: int) -> bool:
    """Names omit what they share with the name before. They are sorted, so the search ends behind the prefix."""
    name = b""
    position = _HEADER
    for _ in range(int.from_bytes(data[8:12], "big")):
        position += _STATUS + object_name_size
        flags = int.from_bytes(data[position : position + 2], "big")
        position += 4 if flags & 0x4000 else 2
        byte = data[position]
        position += 1
        omitted = byte & 0x7F
        while byte & 0x80:
            byte = data[position]
            position += 1
            omitted = ((omitted + 1) << 7) | (byte & 0x7F)
        end = data.index(b"\0", position)
        name = name[: len(name) - omitted] + data[position:end]
        position = end + 1
        if name.startswith(prefix):
            return True
        if name > prefix:
            return False
    return False


def _object_name_size(git_directory: str) -> int:
    common = git_directory
    try:
        common = os.path.join(common, os.fsdecode(read_regular(os.path.join(common, "commondir"), 1 << 16).strip()))
    except FileNotFoundError:
        pass
    try:
        config = read_regular(os.path.join(common, "config"), 1 << 20).lower()
    except FileNotFoundError:
        return 20
    return 32 if b"objectformat" in config and b"sha256" in config else 20
