"""The vectors in the graph: brought up to date with the files of vectors, and the vector of a text to compare with.

After a learn, only nodes whose text may have changed are looked at (see `database.vector_changes`), and the graph is
not opened if there are none. All nodes are compared after the graph was replaced, and after `golore embed`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.vector_changes import (
    EDITED,
    VectorState,
    clear_pending,
    read_pending,
    read_state,
    write_state,
)
from golore.graph.database.vector_columns import (
    load_vectors,
    remove_vectors,
    set_vectors,
    stored_keys,
    stored_keys_of,
    stored_mark,
)
from golore.graph.errors import ModelUnavailable, UsageError
from golore.graph.search.embedded_texts import meaning_key
from golore.graph.search.index import open_index
from golore.graph.search.node_texts import Texts, all_texts, texts_of
from golore.graph.search.vectors import StoredVectors, VectorFile
from golore.mcp_server.services.knowledge.embedders import embedder_named, read_selection

_MOST_SET: Final = 1_000
"""Up to this many vectors are set in place; for more, the graph is loaded again."""

Changed = dict[str, set[str]]


class NodeKeys(NamedTuple):
    """Label → id → key of the text, empty if the node has no vector. `missing`: number of texts without a vector."""

    by_label: dict[str, dict[str, str]]
    missing: int


def changed_nodes(directory: Path) -> Changed | None:
    """The nodes whose vectors in the graph may be outdated, by label; None if all may be. Does not open the graph."""
    state = read_state(directory)
    if state is None or not state.complete:
        return None
    pending = read_pending(directory)
    edited = pending.pop(EDITED, set())
    if edited:
        pending.setdefault("File", set()).update(_with_other_text(directory, edited, state))
    return {label: ids for label, ids in pending.items() if ids}


def _with_other_text(directory: Path, paths: set[str], state: VectorState) -> Iterator[str]:
    index = open_index(directory)
    if index is None:
        yield from paths
        return
    with index, Store.open(directory, write=False) as store:
        is_current = index.is_made_from(store.generation_on_disk)
        for path in paths:
            if not is_current or index.file_text_key(path).hex() != state.files.get(path, ""):
                yield path


def texts_to_embed(directory: Path, changed: Changed) -> dict[bytes, str]:
    """Key and text of these nodes."""
    with Store.open(directory, write=False) as store:
        found = texts_of(store, changed)
    return {meaning_key(text): text for texts in found.values() for text in texts.values() if text}


def update_graph_vectors(directory: Path, file: VectorFile, *, check_all: bool = False) -> int:
    """Bring the vectors in the graph up to date with the file. Returns the number of nodes that were written.

    `check_all`: compare all nodes, because vectors were made for texts that had none.
    """
    with Store.open(directory, write=True) as store:
        if store.is_empty:
            return 0
        vectors = StoredVectors(file)
        state = read_state(directory)
        mark = stored_mark(store)
        is_of_model = mark.partition(" ")[2] == _model_text(file)
        changed = (
            None if check_all or state is None or state.mark != mark or not is_of_model else changed_nodes(directory)
        )
        if changed is None:
            keys = _keys(all_texts(store), vectors)
            before = stored_keys(store) if is_of_model else None
        else:
            keys = _keys(texts_of(store, changed), vectors)
            before = {label: stored_keys_of(store, label, ids) for label, ids in keys.by_label.items()}
        differing = _differing(before or {}, keys) if before is not None else keys.by_label
        count = sum(map(len, differing.values()))
        if before is None or count > _MOST_SET:
            everything = keys if changed is None else _keys(all_texts(store), vectors)
            mark = f"{uuid.uuid4().hex} {_model_text(file)}"
            load_vectors(store, everything.by_label, vectors, mark)
        elif count:
            set_vectors(store, differing, vectors)
        files = {**(state.files if state is not None and changed is not None else {}), **keys.by_label.get("File", {})}
        graph = store.graph_name
        write_state(directory, VectorState(graph, mark, file.model, file.dimensions, files, complete=not keys.missing))
        clear_pending(directory)
        return count


def drop_foreign_vectors(directory: Path) -> None:
    """Remove the vectors of a graph that came from elsewhere, unless this store keeps vectors up to date itself."""
    selection = read_selection(directory)
    if selection is None or not selection.in_graph:
        with Store.open(directory, write=False) as store:
            has_vectors = bool(stored_mark(store))
        if has_vectors:
            remove_graph_vectors(directory)


def remove_graph_vectors(directory: Path) -> None:
    """Remove the vectors from the graph, if it has any."""
    with Store.open(directory, write=True) as store:
        if not store.is_empty:
            remove_vectors(store)
        write_state(directory, None)
        clear_pending(directory)


def near_vector(directory: Path, text: str) -> list[float]:
    """The vector of a text, to be compared with those in the graph. Raises `UsageError` or `ModelUnavailable` if there
    is nothing that it could be compared with."""
    if not text.strip():
        raise UsageError("The text to be near to is empty. Write a few words, such as: retry with backoff")
    selection = read_selection(directory)
    if selection is None:
        raise UsageError("This repository has no vectors. Run `golore embed` to make them.")
    state = read_state(directory)
    if state is None:
        raise UsageError("The vectors of this repository are not in its graph. Run `golore embed` to add them.")
    embedder = embedder_named(selection.model)
    if embedder.name != state.model:
        raise ModelUnavailable(
            f"The vectors in the graph were made by {state.model}, and the model is {embedder.name} now. Run "
            "`golore embed` to make them again."
        )
    vector = embedder.question(text)
    if len(vector) != state.dimensions:
        raise ModelUnavailable(
            f"The vectors in the graph have {state.dimensions} numbers, and {embedder.name} returned {len(vector)}. "
            "Run `golore embed` to make them again."
        )
    return vector


def _model_text(file: VectorFile) -> str:
    return f"{file.dimensions} {file.model}"


def _keys(texts: Texts, vectors: StoredVectors) -> NodeKeys:
    found: dict[str, dict[str, str]] = {}
    missing = 0
    for label, by_id in texts.items():
        keys = found[label] = {}
        for id, text in by_id.items():
            key = meaning_key(text).hex() if text else ""
            if key and key not in vectors:
                missing += 1
                key = ""
            keys[id] = key
    return NodeKeys(found, missing)


def _differing(before: dict[str, dict[str, str]], keys: NodeKeys) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for label, stored in before.items():
        wanted = keys.by_label.get(label, {})
        # A node without a text, such as a constant, is in the graph and not among the texts.
        found[label] = {id: key for id in stored if (key := wanted.get(id, "")) != stored[id]}
    return found
