"""Decides whether a store was made by this user's golore.

A repository may come with a `.golore` directory that a stranger made: its cards and notes would speak to the agent, and
its links would lead to other files of the user. So every store has a random id in the file `id`, and the user's state
directory records the id together with the path and the owner of the store. A store without this record is not used.

Runs in the hook process: imports only C modules of the standard library and small modules of golore.
"""

import os
import stat

from golore.graph.safety.git_index import is_tracked
from golore.graph.safety.regular_file import open_regular, read_regular
from golore.graph.safety.state_directory import create_state_directory, state_directory
from golore.graph.safety.system import rename_over, user_id

STORE_NAME = ".golore"
ID_NAME = "id"
_ID_LENGTH = 32
_RECORDS = "stores"

LINK = "link"
TRACKED = "tracked"
IRREGULAR = "irregular"
FOREIGN = "foreign"
MOVED = "moved"
UNKNOWN = "unknown"


def blake2b_hex(data: bytes, size: int) -> str:
    """BLAKE2b digest. With size 16 it is the digest that the learner records for a file."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=size).hexdigest()


def distrust_reason(root: str, store: str) -> str:
    """Why the store may not be used: one of the constants above. Empty if it is trusted, or does not exist.

    `TRACKED`: git tracks files in it. `IRREGULAR`: it contains links or special files. `FOREIGN`: it is not registered,
    and another user owns it. `MOVED`: it was made by this user's golore at another path. `UNKNOWN`: it was not.
    """
    try:
        status = os.lstat(store)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return _defect(root, store, status) or ("" if _is_registered(store, status) else _stranger(store, status))


def is_trusted(root: str, store: str) -> bool:
    """Whether the store exists and may be used. Looks first for the record, which the stores of strangers lack."""
    try:
        status = os.lstat(store)
    except OSError:
        return False
    return _is_registered(store, status) and not _defect(root, store, status)


def _is_registered(store: str, status: os.stat_result) -> bool:
    own_id = store_id(store)
    record = _read(os.path.join(state_directory(), _RECORDS, _record_name(store)))
    return bool(own_id) and record == _record(store, own_id, status.st_uid)


def _defect(root: str, store: str, status: os.stat_result) -> str:
    if not stat.S_ISDIR(status.st_mode):
        return LINK
    if os.path.dirname(store) == root and os.path.basename(store) == STORE_NAME and is_tracked(root, STORE_NAME):
        return TRACKED
    with os.scandir(store) as entries:
        if not all(entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) for entry in entries):
            return IRREGULAR
    return ""


def _stranger(store: str, status: os.stat_result) -> str:
    if status.st_uid != user_id():
        return FOREIGN
    own_id = store_id(store)
    return MOVED if own_id and path_of_id(own_id) else UNKNOWN


def register_store(store: str, own_id: str = "") -> None:
    """Record an existing directory as a store of this user. If it has no id, it gets the given one or a random one."""
    found_id = store_id(store)
    own_id = found_id or own_id or os.urandom(_ID_LENGTH // 2).hex()
    if not found_id:
        _write(os.path.join(store, ID_NAME), own_id.encode())
    folder = create_state_directory(_RECORDS)
    _write(os.path.join(folder, _record_name(store)), _record(store, own_id, os.lstat(store).st_uid))


def forget_store(store: str) -> None:
    """Delete the record of a store, if there is one."""
    try:
        os.unlink(os.path.join(state_directory(), _RECORDS, _record_name(store)))
    except OSError:
        pass


def registered_stores() -> list[str]:
    """The paths of all stores that are recorded, sorted. They need not exist."""
    folder = os.path.join(state_directory(), _RECORDS)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    records = (_read(os.path.join(folder, name)).split(b"\n", 2) for name in names)
    return sorted(os.fsdecode(fields[2]) for fields in records if len(fields) == 3)


def store_id(store: str) -> str:
    """The id of a store; empty if it has none."""
    try:
        text = read_regular(os.path.join(store, ID_NAME), _ID_LENGTH).decode("ascii", "replace")
    except OSError:
        return ""
    return text if len(text) == _ID_LENGTH and all(letter in "0123456789abcdef" for letter in text) else ""


def path_of_id(own_id: str) -> str:
    """A path at which this user's golore made or adopted a store with this id; empty if there is none."""
    folder = os.path.join(state_directory(), _RECORDS)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    for name in names:
        fields = _read(os.path.join(folder, name)).split(b"\n", 2)
        if len(fields) == 3 and fields[0] == own_id.encode():
            return os.fsdecode(fields[2])
    return ""


def _record(store: str, own_id: str, owner: int) -> bytes:
    return f"{own_id}\n{owner}\n".encode() + os.fsencode(store)


def _record_name(store: str) -> str:
    return blake2b_hex(os.fsencode(store), 16)


def _read(path: str) -> bytes:
    try:
        return read_regular(path, 1 << 16)
    except OSError:
        return b""


def _write(path: str, content: bytes) -> None:
    # One process at a time registers stores, so the name of what a killed one left is used again.
    temporary = f"{path}.tmp"
    descriptor = open_regular(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    rename_over(temporary, path)
