"""Makes vectors, in batches, the most important texts first; and searches them by meaning.

Only texts without a vector are embedded: an interrupted run continues where it stopped, and a learn leaves few texts to
embed. Another model begins a file of its own; when that has all texts, the files of other models are removed. The
vectors in the graph are a copy, which `graph_vectors` brings up to date.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.database.vector_changes import read_state
from golore.graph.errors import GoloreError, ModelUnavailable, UsageError
from golore.graph.progress import Progress
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbols
from golore.graph.search.embedded_texts import (
    embedded_symbols,
    meaning_key,
    meaning_texts,
    note_meaning,
    package_meaning,
    section_meaning,
)
from golore.graph.search.index import SearchIndex
from golore.graph.search.index_entries import FileRow, ShortText
from golore.graph.search.signals import view_of
from golore.graph.search.vectors import Near, VectorFile, VectorSearch, stored_vectors
from golore.learner.derived.search_step import index_state
from golore.mcp_server.services.knowledge.embedders import embedder_named, read_selection
from golore.mcp_server.services.knowledge.graph_vectors import changed_nodes, texts_to_embed, update_graph_vectors
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import index_of
from golore.summarizers.models.embeddings import BATCH, Embedder

_AFTER_LEARN: Final = 20.0
"""Seconds to embed texts after a learn; the rest waits for the next learn."""
_spaces: dict[Path, tuple[tuple[object, ...], VectorSearch]] = {}


class EmbedResult(NamedTuple):
    made: int
    left: int
    seconds: float


class Similar(NamedTuple):
    """A declaration, and the cosine of the angle between its vector and that of the one that was asked for."""

    symbol: Ref
    similarity: float


def embed(
    repository: LearnedRepository,
    embedder: Embedder,
    *,
    limit: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> EmbedResult:
    """Make missing vectors, for at most `limit` texts. Starts no batch after `seconds`."""
    with Store.open(repository.store, write=False) as store:
        index, _ = index_of(repository, store)
        with index, index.reading():
            texts = dict(_ordered_texts(index))
    file = VectorFile(repository.store, embedder.name, embedder.dimensions)
    done = _embed_texts(file, embedder, texts, limit=limit, seconds=seconds, progress=progress)
    if not done.left:
        for path in file.others():
            path.unlink(missing_ok=True)
    return done


def _embed_texts(
    file: VectorFile,
    embedder: Embedder,
    texts: Mapping[bytes, str],
    *,
    limit: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> EmbedResult:
    started = time.monotonic()
    known = file.keys()
    missing = [(key, text) for key, text in texts.items() if key not in known]
    wanted = missing[:limit]
    if progress is not None:
        progress.stage("Embedding", len(wanted))
    made = 0
    while made < len(wanted) and (seconds is None or time.monotonic() - started < seconds):
        batch = wanted[made : made + BATCH]
        file.append([key for key, _ in batch], embedder.passages([text for _, text in batch]))
        made += len(batch)
        if progress is not None:
            progress.tick(len(batch))
    return EmbedResult(made, len(missing) - made, time.monotonic() - started)


def update_vectors(repository: LearnedRepository, progress: Progress | None = None) -> None:
    """After a learn, embed new texts if the store has vectors, and bring the vectors in the graph up to date. Errors
    are ignored: search by words works without."""
    directory = repository.store
    selection = read_selection(directory)
    if selection is None:
        return
    changed = changed_nodes(directory) if selection.in_graph else None
    if changed is not None and not changed:
        return
    state = read_state(directory)
    if changed is not None and state is not None:
        file = VectorFile(directory, state.model, state.dimensions)
        texts = texts_to_embed(directory, changed)
        if file.keys().issuperset(texts):
            with suppress(GoloreError):
                update_graph_vectors(directory, file)
            return
    made = 0
    file = None
    with suppress(GoloreError):
        embedder = embedder_named(selection.model)
        file = VectorFile(directory, embedder.name, embedder.dimensions)
        made = embed(repository, embedder, seconds=_AFTER_LEARN, progress=progress).made
    if selection.in_graph:
        # Without the model, nodes whose text changed lose their vectors, which are of another text.
        if file is None and state is not None:
            file = VectorFile(directory, state.model, state.dimensions)
        elif file is None:
            file = stored_vectors(directory, selection.model)  # the graph was loaded again
        if file is not None:
            with suppress(GoloreError):
                update_graph_vectors(directory, file, check_all=bool(made) and changed is None)


def meaning_search(directory: Path, index: SearchIndex, state: bytes) -> Callable[[str], Mapping[int, Near]] | None:
    """A function that returns the files nearest to a text; None if the store has no vectors or lacks their model."""
    selected = selected_model(directory)
    if not selected:
        return None
    try:
        embedder = embedder_named(selected)
        file = stored_vectors(directory, embedder.name)
        if file is None:
            return None
        space = _space(directory, file, index, state)
    except (ModelUnavailable, ImportError, OSError):
        return None

    def nearest(text: str) -> Mapping[int, Near]:
        try:
            return space.nearest(embedder.question(text))
        except ModelUnavailable:
            return {}

    return nearest


def similar_symbols(opened: OpenRepository, subject: Ref, limit: int) -> tuple[Similar, ...]:
    """The declarations whose vectors are nearest to that of a declaration. Raises `ModelUnavailable` if the store has
    no vectors of its model, `UsageError` if the declaration has none."""
    directory = opened.repository.store
    selected = selected_model(directory)
    file = stored_vectors(directory, embedder_named(selected).name) if selected else None
    if file is None:
        reason = "The vectors of this repository are of another model" if selected else "This repository has no vectors"
        raise ModelUnavailable(f"{reason}. Run `golore embed` to make them.")
    index, _ = index_of(opened.repository, opened.store)
    with index, index.reading():
        space = _space(directory, file, index, index_state(index))
        rows = {row.id: row for row in index.files()}
        home = next((row for row in rows.values() if row.path == subject.file), None)
        ids = _ids_of(index, home) if home is not None else []
        found = space.similar(home.id, ids.index(subject.id) + 1, limit) if home and subject.id in ids else []
        if not found:
            raise UsageError(
                f"{subject.qualified_name} has no vector. Only functions and types outside tests have one."
            )
        cosines = {_ids_of(index, rows[owner])[text - 1]: cosine for owner, text, cosine in found}
    return tuple(Similar(symbol, cosines[symbol.id]) for symbol in symbols(opened.store, cosines))


def _ids_of(index: SearchIndex, row: FileRow) -> list[str]:
    """The ids of the declarations of a file that have texts, in their order."""
    return [one.id or one.qualified_name(row.package) for one in embedded_symbols(index.symbols(row.id))]


def _space(directory: Path, file: VectorFile, index: SearchIndex, state: bytes) -> VectorSearch:
    version = (state, file, file.size)
    known = _spaces.get(directory)
    if known is None or known[0] != version:
        known = _spaces[directory] = (version, VectorSearch(file, index.embedding_keys()))
    return known[1]


def selected_model(directory: Path) -> str:
    selection = read_selection(directory)
    return selection.model if selection is not None else ""


def _ordered_texts(index: SearchIndex) -> Iterator[tuple[bytes, str]]:
    """Key and text of everything to embed: files first, then packages, notes and documents, declarations with comments,
    and other declarations; of files and declarations, texts of the most often changed files first."""
    view = view_of(index)
    rows = [view.files[id] for id, _ in index.embedding_keys() if id in view.files]
    rows.sort(key=lambda row: (-view.past.busy[row.id], row.path))
    later: list[tuple[bytes, str]] = []
    last: list[tuple[bytes, str]] = []
    for row in rows:
        for number, text in enumerate(meaning_texts(row.path, index.symbols(row.id))):
            if number == 0:
                yield meaning_key(text), text
            else:
                (last if text.endswith(". ") else later).append((meaning_key(text), text))
    for _, text, _ in index.texts():
        if own := _short_text(text):
            yield meaning_key(own), own
    yield from later
    yield from last


def _short_text(text: ShortText) -> str:
    """The text of a package, a note or a section of a document; empty for a summary, which the graph has no vector
    of."""
    if text.kind == "package":
        return package_meaning(text.name, text.text)
    if text.kind == "note":
        return note_meaning(text.text)
    return section_meaning(text.title, text.text) if text.kind == "doc" else ""
