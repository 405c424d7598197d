"""What a learn makes beside a load of the whole graph: documents, `CHANGES_WITH` edges and the search index.

One thread does the work, one step after another, because all steps write to `cache.db`:

    history, documents   while the workers read and resolve the Go files
    pairs of files       from the history, when the packages are resolved
    search index         from what the workers counted and the history, while the engine stores the graph

When the graph is loaded, documents are linked to it, and become part of it together with the pairs. So the graph that
others see first is complete, and no later step has to open it for writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.store import Store
from golore.graph.files.file_state import FileState
from golore.graph.history.co_change_edges import rows_of_pairs
from golore.graph.knowledge.documents import StoredDocument
from golore.graph.model.entities import Edge
from golore.graph.search.index_parts import IndexPart
from golore.learner.checkout.discovery import Discovery, discover
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.derived.co_change_step import counted_pairs, record_loaded_pairs
from golore.learner.derived.search_step import load_parts
from golore.learner.documents.document_load import load_documents, read_documents, record_loaded_documents
from golore.learner.documents.document_step import DocumentContent


class LoadCompanion:
    """The `Companion` of a whole learn. Use it as a context manager; leaving it waits for the thread."""

    def __init__(self, root: Path, store_directory: Path) -> None:
        self._root = root.resolve()
        self._directory = store_directory
        self._thread = ThreadPoolExecutor(1)
        self._documents: Future[list[tuple[StoredDocument, DocumentContent]]] | None = None
        self._pairs: Future[list[Edge]] | None = None
        self._index: Future[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def begin(self, discovery: Discovery) -> None:
        found: dict[str, FileState] = {file.path: file.state for file in discovery.documents}
        self._documents = self._thread.submit(read_documents, self._root, found)
        self._thread.submit(read_history, self._root, head_commit(self._root))  # kept for all later steps

    def resolved(self, parts: Sequence[IndexPart]) -> None:
        if self._documents is None:
            self.begin(discover(self._root))
        self._pairs = self._thread.submit(counted_pairs, self._root, self._directory)
        self._index = self._thread.submit(load_parts, self._root, self._directory, parts)

    def loaded(self, store: Store) -> MoreRows:
        assert self._documents is not None
        assert self._pairs is not None
        assert self._index is not None
        self._index.result()  # until then, others cannot write to `cache.db`
        documents = load_documents(store, self._documents.result())
        pairs = rows_of_pairs(store, self._pairs.result())
        return MoreRows(documents.nodes, {**documents.edges, **pairs.edges}, {**documents.meta, **pairs.meta})

    def finish(self) -> bytes:
        """Record what the current graph has, if it was loaded. Returns the mark for `update_search_index`, or nothing
        if it was not."""
        if self._index is None:
            return b""
        record_loaded_documents(self._directory)
        record_loaded_pairs(self._directory)
        return self._index.result()
