"""Which graph a store has, as far as the names, sizes and times of its files tell.

What is remembered of the files that a graph was made from counts only beside that very graph. What is put into it
besides (see `projecting`) makes it no other one: then a note says which of its states count as one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.files.atomic_write import replace_file
from golore.graph.files.manifest import read_manifest

_SAME_NAME: Final = "identity"


def graph_identity(directory: Path) -> str:
    """Another graph, or one that a learn has written to, has another one; empty where there is no graph."""
    now = _appearance(directory)
    learned, _, later = _recorded(directory).partition("\n\n")
    return learned if now and later == now else now


def record_same_identity(directory: Path, identity: str) -> None:
    """Let the graph as it is now count as the one that had this identity. Killed before this, it is another one, and
    what was remembered of it is found out again."""
    with suppress(OSError):
        replace_file(directory / _SAME_NAME, f"{identity}\n\n{_appearance(directory)}".encode())


def _appearance(directory: Path) -> str:
    manifest = read_manifest(directory)
    parts = [manifest.graph] if manifest else []
    for path in sorted(directory.glob(f"{manifest.graph}*")) if manifest else ():
        status = path.stat()
        parts.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


def _recorded(directory: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return (directory / _SAME_NAME).read_text(encoding="utf-8")
    return ""
