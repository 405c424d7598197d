"""Reads from git's index whether files below a path are tracked, without running git.

Runs in the hook process: imports only `os` and `regular_file`. Covers index versions 2 to 4, split indexes, sparse
indexes, and both kinds of object names.
"""

import os

from golore.graph.safety.regular_file import read_regular

_MAX_SIZE = 512 << 20
_HEADER = 12
_MODE_OFFSET = 24
_STATUS = 40
"""Bytes of an entry before the object name."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def is_tracked(root: str, name: str) -> bool:
    """Whether git tracks files in the directory `name` of `root`. False outside a git checkout."""
    found = _find_git_directory(root)
    if found is None:
        return False
    git_directory, top = found
    inside = os.path.relpath(root, top).replace(os.sep, "/")
    prefix = os.fsencode(name if inside == "." else f"{inside}/{name}") + b"/"
    indexes = ["index", *(file for file in os.listdir(git_directory) if file.startswith("sharedindex."))]
    return any(_has_entry_below(git_directory, index, prefix) for index in indexes)


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


def index_entries(data: bytes, object_name_size: int) -> "Iterator[tuple[int, bytes]]":
    """Mode and name of each entry of an index, in the order of the names. Raises `ValueError` or `IndexError` if the
    index is damaged."""
    version = index_version(data)
    position, name = _HEADER, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = position
        mode = int.from_bytes(data[start + _MODE_OFFSET : start + _MODE_OFFSET + 4], "big")
        position += _STATUS + object_name_size
        position += 4 if data[position] & 0x40 else 2  # the flags, and two more bytes in version 3
        kept = 0
        if version == 4:  # names omit what they share with the name before
            omitted, position = _variable_length_number(data, position)
            kept = len(name) - omitted
        end = data.index(b"\0", position)
        name = name[:kept] + data[position:end]
        position = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        yield mode, name


def index_version(data: bytes) -> int:
    """The version of an index; 0 if it is none."""
    return int.from_bytes(data[4:8], "big") if data[:4] == b"DIRC" and len(data) >= _HEADER else 0


def _variable_length_number(data: bytes, at: int) -> tuple[int, int]:
    """A number in git's variable-length encoding, and the offset after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | data[at] & 0x7F
    return value, at + 1


def _has_entry_below(git_directory: str, index: str, prefix: bytes) -> bool:
    try:
        data = read_regular(os.path.join(git_directory, index), _MAX_SIZE)
    except FileNotFoundError:
        return False
    version = index_version(data)
    # Only version 4 shortens names; parsing the entries takes long.
    if not version or (version < 4 and prefix not in data):
        return False
    try:
        for _, name in index_entries(data, _object_name_size(git_directory)):
            if name >= prefix:
                return name.startswith(prefix)
    except (ValueError, IndexError):
        return prefix in data
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
