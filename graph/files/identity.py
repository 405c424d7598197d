"""Identifies the graph of a store by the names, sizes and times of its files.

Data saved about the files that a graph was learned from is valid only for that graph. Projecting notes or summaries
into it (see `projection`) does not change the identity: the file `identity` records which states are equivalent.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.files.atomic_write import replace_file
from golore.graph.files.manifest import read_manifest
from golore.graph.safety.regular_file import read_regular

_IDENTITY_NAME: Final = "identity"
_MAX_BYTES: Final = 1 << 16


def graph_identity(directory: Path) -> str:
    """The identity changes when the graph is replaced and when a learn writes to it; empty if there is no graph."""
    current = _file_states(directory)
    identity, _, equivalent = _recorded(directory).partition("\n\n")
    return identity if current and equivalent == current else current


def record_equivalent_state(directory: Path, identity: str) -> None:
    """Record that the graph in its current state has this identity. If the process is killed before, or the file
    cannot be written, the identity changes, and the saved data is computed again."""
    with suppress(OSError):
        replace_file(directory / _IDENTITY_NAME, f"{identity}\n\n{_file_states(directory)}".encode())


def _file_states(directory: Path) -> str:
    manifest = read_manifest(directory)
    parts = [manifest.graph] if manifest else []
    for path in sorted(directory.glob(f"{manifest.graph}*")) if manifest else ():
        status = path.stat()
        parts.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


def _recorded(directory: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return read_regular(directory / _IDENTITY_NAME, _MAX_BYTES).decode("utf-8")
    return ""
