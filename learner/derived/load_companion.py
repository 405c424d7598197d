"""What a learn makes beside a load of the whole graph: documents, `CHANGES_WITH` edges, the search index and the cards.

One thread does the work, one step after another, because all steps write to `cache.db`. Only the cards of a large
repository are made in a process of their own, which waits at its end until the index is written. A step starts when its
inputs are there:

    documents, history    the files                      while the workers read and resolve Go files
    rows for the graph    documents, history, rows       while the engine loads the rows
    search index          parts of the workers, history  while the engine loads the rows
    cards                 documents, history, rows       while the engine loads the rows

The rows are those that the workers have spooled, so no step has to open the graph. The graph that others see first is
complete, and no later step has to open it for writing. Cards wait for the graph if the store has notes or summaries,
which may have to follow their code first.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, Self

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.graph_tables import SpooledGraph
from golore.graph.files.file_state import FileState
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.history.co_change import History
from golore.graph.history.co_change_edges import rows_of_pairs
from golore.graph.knowledge.documents import StoredDocument
from golore.graph.search.index_parts import IndexPart
from golore.learner.checkout.discovery import Discovery, discover
from golore.learner.checkout.git_activity import update_recent_commits
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.derived.card_step import load_cards, withdraw_cards
from golore.learner.derived.co_change_step import counted_pairs, record_loaded_pairs
from golore.learner.derived.note_step import link_shared_knowledge
from golore.learner.derived.search_step import load_parts
from golore.learner.documents.document_load import load_documents, read_documents, record_loaded_documents
from golore.learner.documents.document_step import DocumentContent
from golore.learner.worker_pool import WorkerPool

_MANY: Final = 1_000
"""From this many files on, the cards take longer than the start of a process."""


class Loaded(NamedTuple):
    """What was made beside a load: the mark of the search index (see `load_parts`), and whether cards were built."""

    index_mark: bytes
    has_cards: bool


class LoadCompanion:
    """The `Companion` of a whole learn. Use it as a context manager; leaving it waits for the thread."""

    def __init__(self, root: Path, store_directory: Path) -> None:
        self._root = root.resolve()
        self._directory = store_directory
        self._thread = ThreadPoolExecutor(1)
        self._card_thread = ThreadPoolExecutor(1)
        self._documents: Future[list[tuple[StoredDocument, DocumentContent]]] | None = None
        self._more_rows: Future[MoreRows] | None = None
        self._index: Future[bytes] | None = None
        self._cards: Future[bool] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._card_thread.shutdown(cancel_futures=True)

    def begin(self, discovery: Discovery) -> None:
        found: dict[str, FileState] = {file.path: file.state for file in discovery.documents}
        self._documents = self._thread.submit(read_documents, self._root, found)
        self._thread.submit(read_history, self._root, head_commit(self._root))  # kept for all later steps

    def resolved(self, rows: Path, state: str, parts: Sequence[IndexPart]) -> None:
        if self._documents is None:
            self.begin(discover(self._root))
        assert self._documents is not None
        self._more_rows = self._thread.submit(self._make_rows, self._documents, rows, state)
        if sum(part.file_count for part in parts) < _MANY:
            self._index = self._thread.submit(load_parts, self._root, self._directory, parts)
            self._cards = self._thread.submit(self._build_cards, rows)
        else:
            is_ready = self._thread.submit(self._prepare_cards)
            self._index = self._thread.submit(load_parts, self._root, self._directory, parts)
            self._cards = self._card_thread.submit(self._build_cards_elsewhere, is_ready, rows)

    def more_rows(self) -> MoreRows:
        assert self._more_rows is not None
        return self._more_rows.result()

    def wait(self) -> None:
        assert self._index is not None
        assert self._cards is not None
        self._index.result()
        self._cards.result()

    def finish(self) -> Loaded | None:
        """Record what the current graph has, if it was loaded."""
        if self._index is None or self._cards is None:
            return None
        record_loaded_documents(self._directory)
        record_loaded_pairs(self._directory)
        return Loaded(self._index.result(), self._cards.result())

    def _make_rows(
        self, documents: Future[list[tuple[StoredDocument, DocumentContent]]], rows: Path, state: str
    ) -> MoreRows:
        tables = SpooledGraph(rows)
        linked = load_documents(self._directory, tables, state, documents.result())
        files = frozenset[str](tables.node_columns("File", ("id",))[1])
        pairs = rows_of_pairs(files, counted_pairs(self._root, self._directory))
        return MoreRows(linked.nodes, {**linked.edges, **pairs.edges}, {**linked.meta, **pairs.meta})

    def _prepare_cards(self) -> bool:
        """Do what must precede the cards. Returns whether they can be built now."""
        link_shared_knowledge(self._root, self._directory)
        if Knowledge.exists(self._directory):
            return False
        update_recent_commits(self._root, self._directory)
        withdraw_cards(self._directory)
        return True

    def _build_cards(self, rows: Path) -> bool:
        if not self._prepare_cards():
            return False
        return _build_cards(self._card_task(rows))

    def _build_cards_elsewhere(self, is_ready: Future[bool], rows: Path) -> bool:
        if not is_ready.result():
            return False
        with WorkerPool(1) as pool:
            # If the process dies, the cards are built from the graph, as if they could not be built now.
            return any(result is not None for _, result in pool.run(_build_cards, [self._card_task(rows)]))

    def _card_task(self, rows: Path) -> _CardTask:
        head = head_commit(self._root)
        return _CardTask(self._root, self._directory, rows, head, read_history(self._root, head) if head else None)


class _CardTask(NamedTuple):
    root: Path
    directory: Path
    rows: Path
    head: str
    history: History | None


def _build_cards(task: _CardTask) -> bool:
    load_cards(task.root, task.directory, SpooledGraph(task.rows), task.head, task.history)
    return True
