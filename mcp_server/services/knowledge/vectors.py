"""Makes the vectors for search by meaning, in batches, the most important texts first; and searches them.

Only texts without a vector are embedded: an interrupted run continues where it stopped, and a learn leaves few texts to
embed. Another model begins a file of its own; when that has all texts, the files of other models are removed. The store
records which model its vectors are searched with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, ModelUnavailable, UsageError
from golore.graph.progress import Progress
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbols
from golore.graph.search.embedded_texts import embedded_symbols, meaning_key, meaning_texts
from golore.graph.search.index import SearchIndex
from golore.graph.search.index_entries import FileRow
from golore.graph.search.signals import view_of
from golore.graph.search.vectors import Near, VectorFile, VectorSearch, stored_vectors
from golore.learner.derived.search_step import index_state
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import VECTOR_MODEL_FILE, index_of
from golore.summarizers.models.embeddings import BATCH, Embedder, open_embedder

_AFTER_LEARN: Final = 20.0
"""Seconds to embed texts after a learn; the rest waits for the next learn."""
_embedders: dict[str, Embedder] = {}
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
    started = time.monotonic()
    with Store.open(repository.store, write=False) as store:
        index, _ = index_of(repository, store)
        with index, index.reading():
            texts = dict(_ordered_texts(index))
    file = VectorFile(repository.store, embedder.name, embedder.dimensions)
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
    if made == len(missing):
        for path in file.others():
            path.unlink(missing_ok=True)
    return EmbedResult(made, len(missing) - made, time.monotonic() - started)


def update_vectors(repository: LearnedRepository, progress: Progress | None = None) -> None:
    """After a learn, embed new texts if the store has vectors. Errors are ignored: search by words works without."""
    selected = selected_model(repository.store)
    if selected:
        with suppress(GoloreError):
            embed(repository, embedder_named(selected), seconds=_AFTER_LEARN, progress=progress)


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


def embedder_named(selected: str) -> Embedder:
    if selected not in _embedders:
        _embedders[selected] = open_embedder(selected)
    return _embedders[selected]


def selected_model(directory: Path) -> str:
    try:
        return (directory / VECTOR_MODEL_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _ordered_texts(index: SearchIndex) -> Iterator[tuple[bytes, str]]:
    """Key and text of everything to embed: files first, then declarations with comments, then other declarations; in
    each group, texts of the most often changed files first."""
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
    yield from later
    yield from last
