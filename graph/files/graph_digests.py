"""`graph-N.digests`: the digests of a graph's files, as the last writer left them. One that has changed is damaged.

The engine trusts its files: damaged ones crash the process or make it allocate gigabytes. So the files are compared
before they are opened. Only those whose state on disk differs from the recorded one are read, such as those of a copied
store. A writer removes the record while it changes the graph. A graph without a record, as after a killed writer, is
first opened by another process (see `database.open_check`).
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import GraphDamaged
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.file_state import UNKNOWN, FileState, state_from
from golore.graph.files.layout import database_files, digests_file
from golore.graph.safety.regular_file import read_regular

_MAX_BYTES: Final = 1 << 16


class FileDigest(NamedTuple):
    state: FileState
    digest: str


GraphDigests = dict[str, FileDigest]
"""The digest of each file of a database, by its name. Empty if there is no record."""


def require_undamaged(database: Path) -> GraphDigests:
    """Raise `GraphDamaged` if a file of the database is not the one that was recorded. Returns the record, which is
    empty if there is none. The caller must hold the lock of the store."""
    recorded = _read(database)
    if not recorded:
        return {}
    found = _digests(database, recorded)
    if {name: one.digest for name, one in found.items()} != {name: one.digest for name, one in recorded.items()}:
        raise GraphDamaged(
            f"The graph {database} was damaged or changed by another program. Run `golore learn` to rebuild it."
        )
    if found != recorded:
        _write(database, found)
    return found


def record_digests(database: Path, known: GraphDigests) -> GraphDigests:
    """Record the files of the database. Those that did not change since `known` are not read."""
    found = _digests(database, known)
    _write(database, found)
    return found


def remove_digests(database: Path) -> None:
    """Remove the record, before the graph is changed."""
    digests_file(database).unlink(missing_ok=True)


def mark_damaged(database: Path) -> None:
    """Let nobody open the database again. The next learn makes a new one."""
    _write(database, {database.name: FileDigest(UNKNOWN, "")})


def file_digest(path: Path) -> str:
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


def _digests(database: Path, known: GraphDigests) -> GraphDigests:
    found: GraphDigests = {}
    for path in database_files(database):
        state, last = state_from(path.stat()), known.get(path.name)
        found[path.name] = last if last is not None and last.state == state else FileDigest(state, file_digest(path))
    return found


def _read(database: Path) -> GraphDigests:
    """The record of this database; empty if there is none."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        rows = json.loads(read_regular(digests_file(database), _MAX_BYTES)).items()
        found = {name: FileDigest(FileState(*state), digest) for name, (state, digest) in rows}
        return found if database.name in found else {}
    return {}


def _write(database: Path, digests: GraphDigests) -> None:
    with suppress(OSError):  # a store that is not writable
        replace_file(digests_file(database), json.dumps(digests).encode())
