"""Records which nodes need another vector: a list of nodes whose text may have changed since their vectors were
written.

`vectors.graph` says which graph has vectors, of which model, and which text each file's vector was made of. While it
exists, `Store.apply` appends to `vectors.pending` the nodes that a change adds or whose text it may change, before it
is written: a kill leaves too many nodes in the list, never too few. A graph that replaced another one has another
file name, so that its vectors are unknown.

Every edit changes a file, and few change its text, so changed files are listed apart from those that are new.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from golore.graph.files.atomic_write import replace_file
from golore.graph.files.manifest import read_manifest
from golore.graph.model.tables import NODE_COLUMNS

if TYPE_CHECKING:
    from golore.graph.model.delta import GraphDelta

VECTOR_LABELS: Final = ("Package", "File", "Symbol", "Note", "Doc")
VECTOR: Final = "vector"
VECTOR_KEY: Final = "vector_key"
"""The columns of nodes that have vectors: the vector, and the digest of the text that it was made of."""
EDITED: Final = "edited file"
"""Stands for a label in the list: files that were there before, whose text is the same unless its key differs."""
_STATE_NAME: Final = "vectors.graph"
_PENDING_NAME: Final = "vectors.pending"
_TEXT_COLUMNS: Final = {
    "Package": ("doc",),
    "File": ("digest", "test", "generated"),
    "Symbol": ("kind", "name", "qualified_name", "file", "signature", "doc"),
    "Note": ("text", "status"),
    "Doc": ("title", "text"),
}
"""The columns from which the texts of nodes are made. The text of a file follows from its declarations."""
_POSITIONS: Final = {
    label: tuple(at for at, column in enumerate(NODE_COLUMNS[label]) if column.name in names)
    for label, names in _TEXT_COLUMNS.items()
}

Ids = Mapping[str, Collection[str]]
"""Label → ids of nodes."""


class VectorState(msgspec.Struct, frozen=True):
    """The vectors of a graph. `mark` is stored in the graph too. `files` has the key of the text of each file.
    `complete`: every node that has a text has its vector, except those in the list."""

    graph: str
    mark: str
    model: str
    dimensions: int
    files: dict[str, str]
    complete: bool


def read_state(directory: Path) -> VectorState | None:
    """The vectors of the current graph; None if it has none, or if that is unknown."""
    with suppress(OSError, msgspec.MsgspecError):
        state = msgspec.json.decode((directory / _STATE_NAME).read_bytes(), type=VectorState)
        manifest = read_manifest(directory)
        return state if manifest is not None and manifest.graph == state.graph else None
    return None


def write_state(directory: Path, state: VectorState | None) -> None:
    if state is None:
        (directory / _STATE_NAME).unlink(missing_ok=True)
    else:
        replace_file(directory / _STATE_NAME, msgspec.json.encode(state))


def read_pending(directory: Path) -> dict[str, set[str]]:
    """The nodes whose vectors are to be checked."""
    found: dict[str, set[str]] = {}
    with suppress(FileNotFoundError), (directory / _PENDING_NAME).open("rb") as lines:
        for line in lines:
            with suppress(msgspec.MsgspecError):  # a line that a killed writer began
                label, id = msgspec.json.decode(line, type=tuple[str, str])
                found.setdefault(label, set()).add(id)
    return found


def clear_pending(directory: Path) -> None:
    (directory / _PENDING_NAME).unlink(missing_ok=True)


def record_text_changes(directory: Path, delta: GraphDelta) -> None:
    """Add the nodes of a delta that may need another vector, if the graph has vectors. Call it before the write."""
    if not (directory / _STATE_NAME).exists():
        return
    ids = {label: {node[0] for node in delta.nodes_added.get(label, ())} for label in VECTOR_LABELS}
    for label in VECTOR_LABELS:
        ids.setdefault(EDITED if label == "File" else label, set()).update(_changed(label, delta))
    if any(ids.values()):
        with (directory / _PENDING_NAME).open("ab") as file:
            file.write(b"\n" + _lines(ids))


def _changed(label: str, delta: GraphDelta) -> set[str]:
    found: set[str] = set()
    before = delta.nodes_before.get(label, {})
    for node in delta.nodes_changed.get(label, ()):
        old = before.get(node[0])
        if old is None or any(old[at] != node[at] for at in _POSITIONS[label]):
            found.add(node[0])
    return found


def _lines(ids: Ids) -> bytes:
    return b"".join(msgspec.json.encode((label, id)) + b"\n" for label in sorted(ids) for id in sorted(ids[label]))
