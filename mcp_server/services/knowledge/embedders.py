"""The model that the vectors of a store are made with, and whether they are also in its graph; open models."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.summarizers.models.embeddings import Embedder, open_embedder

_NO_GRAPH: Final = "no graph"
open_models: dict[str, Embedder] = {}
"""The models that this process has opened, by the names that were given for them."""


class Selection(NamedTuple):
    """`model` is a name for `open_embedder`."""

    model: str
    in_graph: bool = True


def read_selection(directory: Path) -> Selection | None:
    """None if the store has no vectors."""
    try:
        lines = (directory / VECTOR_MODEL_NAME).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return Selection(lines[0].strip(), _NO_GRAPH not in lines[1:]) if lines and lines[0].strip() else None


def write_selection(directory: Path, selection: Selection) -> None:
    lines = [selection.model] if selection.in_graph else [selection.model, _NO_GRAPH]
    (directory / VECTOR_MODEL_NAME).write_text("\n".join(lines), encoding="utf-8")


def embedder_named(model: str) -> Embedder:
    """A model, which is opened once in a process."""
    if model not in open_models:
        open_models[model] = open_embedder(model)
    return open_models[model]
