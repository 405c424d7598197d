"""Copies of published stores on this machine: one directory for each publication, complete before it is used.

    FOLDER/REPOSITORY/PUBLICATION/store      the store, as `golore pull` unpacks it
    FOLDER/REPOSITORY/PUBLICATION/done.json  written last, with what was published
    FOLDER/REPOSITORY/PUBLICATION/used.lock  shared by the processes that use it

REPOSITORY is a digest of the names of lake and repository. Several processes may share the folder: one installs a
publication, the others wait for it. The graph never changes; notes are written to `knowledge.db` and to the cards. An
older publication is removed when no process uses it, after its notes were copied to the newer one.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.database.store import Store
from golore.graph.errors import LakeError, StoreBusy
from golore.graph.files import locks
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.event_log import all_events
from golore.graph.knowledge.event_replay import add_received
from golore.graph.lake.bucket import Lake
from golore.graph.lake.heads import Head, read_head
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.packed_store import install_store, require_fitting
from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.trust import forget_store
from golore.graph.search.index import open_index
from golore.learner.derived.search_step import adopt_index
from golore.learner.pipeline.version import learner_version
from golore.mcp_server.server.loopback import make_private
from golore.mcp_server.services.knowledge.graph_vectors import drop_foreign_vectors
from golore.mcp_server.services.published_names import STORE_FILES

_DONE_NAME: Final = "done.json"
_USED_NAME: Final = "used.lock"
_STORE_NAME: Final = "store"
_TREE_NAME: Final = "tree"
_WAIT: Final = 600.0
"""Seconds to wait for another process that installs the same publication."""
_MOST_TRIED: Final = 5
"""Publications that are tried, the newest first."""
_MAX_BYTES: Final = 1 << 20


class Installed(msgspec.Struct, frozen=True):
    """A publication that is on this machine. `message`: why a newer one is not used; usually empty."""

    repository: str
    commit: str
    version: str
    published: str
    publication: str
    message: str = ""


class InstalledStore(NamedTuple):
    """`root` is an empty directory in place of the checkout. `used` keeps the directory from being removed."""

    publication: Installed
    directory: Path
    used: locks.FileLock

    @property
    def store(self) -> Path:
        return self.directory / _STORE_NAME

    @property
    def root(self) -> Path:
        return self.directory / _TREE_NAME


def repository_folder(folder: Path, lake: Lake, repository: str) -> Path:
    """The directory of a repository. Its name tells other users nothing."""
    digest = blake2b(f"{lake.name}\n{repository}".encode(), digest_size=12).hexdigest()
    return folder / digest


def install_newest(folder: Path, lake: Lake, keys: Sequence[HeadKey]) -> InstalledStore:
    """The newest of these publications, which are of one repository, that this golore can use; it is installed if it is
    not here. Raises `LakeError` if there is none."""
    make_private(folder)
    reasons: list[str] = []
    for key in sorted(keys, key=lambda one: (one.stamp, one.publication), reverse=True)[:_MOST_TRIED]:
        try:
            return _install(folder, lake, key, reasons[0] if reasons else "")
        except LakeError as failure:
            reasons.append(str(failure))
    raise LakeError(f"No publication of {keys[0].repository} can be used. {reasons[0]}")


def keep(store: Path) -> locks.FileLock:
    """Keep an installed store, which somebody uses now, from being removed until the lock is released."""
    return locks.acquire(store.parent / _USED_NAME, exclusive=False, timeout=_WAIT, purpose="used")


def remove_unused(folder: Path, newest: InstalledStore) -> None:
    """Remove the other publications of the repository, unless a process uses them. Their notes are copied first."""
    for directory in sorted(folder.iterdir()):
        if directory == newest.directory or not directory.is_dir():
            continue
        with suppress(StoreBusy, OSError):
            lock = locks.acquire(directory / _USED_NAME, exclusive=True, timeout=0, purpose="removed")
            try:
                _copy_knowledge(directory / _STORE_NAME, newest.store)
                forget_store(str(directory / _STORE_NAME))
                shutil.rmtree(directory)
            finally:
                lock.release()


def installed_bytes(folder: Path) -> int:
    """The size of everything that is installed."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
    return total


def _install(folder: Path, lake: Lake, key: HeadKey, message: str) -> InstalledStore:
    directory = folder / key.publication
    used = _use(directory, key)
    try:
        known = _read_done(directory)
        if known is None:
            lock = locks.acquire(folder / f"{key.publication}.lock", exclusive=True, timeout=_WAIT, purpose="installed")
            try:
                known = _read_done(directory) or _unpack(lake, key, directory)
            finally:
                lock.release()
    except BaseException:
        used.release()
        raise
    return InstalledStore(msgspec.structs.replace(known, message=message), directory, used)


def _use(directory: Path, key: HeadKey) -> locks.FileLock:
    """Create the directory of a publication, and keep it. Raises `LakeError` if another process, which has a newer one,
    removes it just now."""
    directory.mkdir(mode=0o700, exist_ok=True)
    removed = LakeError(f"{key.repository} was published again just now. Ask again.")
    try:
        used = locks.acquire(directory / _USED_NAME, exclusive=False, timeout=_WAIT, purpose="used")
    except FileNotFoundError as failure:
        raise removed from failure
    if not (directory / _USED_NAME).exists():
        used.release()
        raise removed
    return used


def _unpack(lake: Lake, key: HeadKey, directory: Path) -> Installed:
    head = read_head(lake, key)
    reason = require_fitting(head.store, learner_version()) if head.store else head.why_no_store or "it has no store"
    if reason:
        raise LakeError(f"The store of {key.commit[:12]} cannot be used: {reason}.")
    store = directory / _STORE_NAME
    (directory / _TREE_NAME).mkdir(exist_ok=True)
    install_store(lake, key, head, store, STORE_FILES)
    drop_foreign_vectors(store)
    _adopt_index(store)
    found = _described(key, head)
    replace_file(directory / _DONE_NAME, msgspec.json.encode(found), durable=True)
    return found


def _adopt_index(store_directory: Path) -> None:
    index = open_index(store_directory)
    if index is None:
        return
    index.close()
    writer = open_index(store_directory, write=True)
    if writer is not None:
        with writer, Store.open(store_directory, write=False) as store:
            adopt_index(writer, store)


def _described(key: HeadKey, head: Head) -> Installed:
    return Installed(key.repository, key.commit, head.version, head.published, key.publication)


def _read_done(directory: Path) -> Installed | None:
    try:
        return msgspec.json.decode(read_regular(directory / _DONE_NAME, _MAX_BYTES), type=Installed)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def _copy_knowledge(older: Path, newer: Path) -> None:
    """Copy the events of an older copy: those that could not be sent yet are nowhere else."""
    if Knowledge.exists(older):
        with Knowledge.open(older) as knowledge:
            events = list(all_events(knowledge))
        with Knowledge.open(newer) as knowledge:
            add_received(knowledge, events)
