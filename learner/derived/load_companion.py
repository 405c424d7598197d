"""What a learn makes beside a load of the whole graph: documents, `CHANGES_WITH` edges, the search index and the cards.

    step         needs                              while
    documents    files                              workers read and resolve Go files
    history      git                                workers read and resolve Go files
    commits      history                            workers read and resolve Go files
    card facts   commits, rows                      the engine loads the rows
    links        documents, commits, rows           the engine loads the rows
    words        links, parts of the workers        the engine loads the rows
    cards        card facts, links                  the engine loads the rows
    counts       links, rows                        the engine loads the rows

The rows are those that the workers have spooled, so no step has to open the graph. The graph that others see first is
complete, and no later step has to open it for writing. Cards wait for the graph if the store has notes or summaries,
which may have to follow their code first. They are made in processes of their own: one for each core but one, if
processes were forked, else one if there are many files. *card facts* is what they are made of, apart from documents.
They are stored when the words are, because both are written to `cache.db`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

from golore.graph.cards.card_builder import CardShare, build_share
from golore.graph.cards.card_rows import ShareFacts
from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.graph_tables import SpooledGraph
from golore.graph.database.store import Store
from golore.graph.files.file_state import FileState
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.history.co_change import History
from golore.graph.history.co_change_edges import rows_of_pairs
from golore.graph.knowledge.documents import StoredDocument
from golore.graph.progress import NoProgress, Progress
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.store_counts import count_rows, keep_counts
from golore.graph.search.index_parts import IndexPart
from golore.learner.checkout.discovery import Discovery, discover
from golore.learner.checkout.git_activity import update_recent_commits
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.derived.card_step import (
    collect_loaded_facts,
    load_cards,
    share_loaded_cards,
    store_loaded_cards,
    withdraw_cards,
)
from golore.learner.derived.co_change_step import counted_pairs, record_loaded_pairs
from golore.learner.derived.note_step import link_shared_knowledge
from golore.learner.derived.search_step import load_parts
from golore.learner.documents.document_load import load_documents, read_documents, record_loaded_documents
from golore.learner.documents.document_step import DocumentContent
from golore.learner.steps import Steps
from golore.learner.worker_pool import WorkerPool

_CARDS_FIRST: Final = 2_000
"""With fewer files, the load takes longer than the cards, which then give way to it on a machine with few cores. With
more, they would end last and alone: on two cores, a learn of Kubernetes took 4 % longer."""
_MANY: Final = 1_000
"""From this many files on, the cards take longer than the start of a process."""

Task = TypeVar("Task")


class Loaded(NamedTuple):
    """What was made beside a load: the mark of the search index (see `load_parts`), and whether cards were built."""

    index_mark: bytes
    has_cards: bool


class LoadCompanion:
    """The `Companion` of a whole learn. Use it as a context manager; leaving it waits for the steps that have begun."""

    def __init__(self, root: Path, store_directory: Path, progress: Progress | None = None) -> None:
        self._root = root.resolve()
        self._directory = store_directory
        self._steps = Steps(progress or NoProgress())
        self._pool = WorkerPool(0)
        self._documents: Future[list[tuple[StoredDocument, DocumentContent]]] | None = None
        self._history: Future[History | None] | None = None
        self._commits: Future[bool] | None = None
        self._links: Future[MoreRows] | None = None
        self._words: Future[bytes] | None = None
        self._cards: Future[bool] | None = None
        self._counts: Future[StoreCounts] | None = None
        self._card_task: CardTask | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._steps:
            self._pool.close()  # a step may wait for it
        if self._card_task is not None:
            _collected.pop(self._card_task.rows, None)  # if this process collected facts and failed to build the cards

    def fork(self, processes: int, files: int) -> None:
        # This process loads the rows meanwhile, which cannot be shared.
        self._pool = WorkerPool(max(processes - 1, 1), fork=True, give_way=files < _CARDS_FIRST)

    def begin(self, discovery: Discovery) -> None:
        found: dict[str, FileState] = {file.path: file.state for file in discovery.documents}
        self._documents = self._steps.start("documents", lambda: read_documents(self._root, found))
        self._history = self._steps.start("history", self._read_history)
        self._commits = self._steps.start("commits", self._prepare_cards, self._history)

    def resolved(self, rows: Path, state: str, parts: Sequence[IndexPart]) -> None:
        if self._documents is None:
            self.begin(discover(self._root))
        assert self._documents is not None
        assert self._history is not None
        assert self._commits is not None
        if not self._pool.size and sum(part.file_count for part in parts) >= _MANY:
            self._pool = WorkerPool(1)  # the cache existed, so nothing was forked
        documents, history, commits, tables = self._documents, self._history, self._commits, SpooledGraph(rows)
        links = self._steps.start(
            "links", lambda: self._make_rows(documents.result(), tables, state), documents, commits
        )
        words = self._steps.start(
            "words", lambda: load_parts(self._root, self._directory, parts, tables, links.result()), links
        )
        self._cards = self._start_cards(rows, history, commits, links, words)
        self._counts = self._steps.start("counts", lambda: count_rows(rows, links.result()), links)
        self._links, self._words = links, words

    def more_rows(self) -> MoreRows:
        assert self._links is not None
        return self._links.result()

    def wait(self) -> None:
        assert self._words is not None
        assert self._cards is not None
        assert self._counts is not None
        self._words.result()
        self._cards.result()
        self._counts.result()

    def finish(self) -> Loaded | None:
        """Record what the current graph has, if it was loaded."""
        if self._words is None or self._cards is None or self._counts is None:
            return None
        record_loaded_documents(self._directory)
        record_loaded_pairs(self._directory)
        with Store.open(self._directory, write=False) as store:
            keep_counts(store, self._counts.result())
        return Loaded(self._words.result(), self._cards.result())

    def _read_history(self) -> History | None:
        head = head_commit(self._root)
        return read_history(self._root, head) if head else None

    def _make_rows(
        self, documents: list[tuple[StoredDocument, DocumentContent]], tables: SpooledGraph, state: str
    ) -> MoreRows:
        linked = load_documents(self._directory, tables, state, documents)
        files = frozenset[str](tables.node_columns("File", ("id",))[1])
        pairs = rows_of_pairs(files, counted_pairs(self._root, self._directory))
        return MoreRows(linked.nodes, {**linked.edges, **pairs.edges}, {**linked.meta, **pairs.meta})

    def _prepare_cards(self) -> bool:
        """Do what must precede the cards. Returns whether they can be built now."""
        link_shared_knowledge(self._root, self._directory)
        if Knowledge.exists(self._directory):
            return False
        withdraw_cards(self._directory)
        update_recent_commits(self._root, self._directory)
        return True

    def _start_cards(
        self,
        rows: Path,
        history: Future[History | None],
        commits: Future[bool],
        links: Future[MoreRows],
        words: Future[bytes],
    ) -> Future[bool]:
        """The last step returns False if a process dies; the cards are then built from the graph, like any that wait
        for it."""
        task = self._card_task = CardTask(self._root, self._directory, rows, head_commit(self._root))
        if self._pool.size > 1:
            shares = self._steps.start(
                "card facts", lambda: self._divide(task, history.result()) if commits.result() else [], commits
            )
            return self._steps.start("cards", lambda: self._build_shares(task, shares.result()), shares, links)
        # In this process, cards and words would only slow each other.
        before = commits if self._pool.size else words
        facts = self._steps.start(
            "card facts", lambda: commits.result() and self._run(collect_facts_of, (task, history.result())), before
        )
        return self._steps.start("cards", lambda: facts.result() and self._run(build_cards_of, task), facts, links)

    def _run(self, work: Callable[[Task], bool], task: Task) -> bool:
        return any(is_done for _, is_done in self._pool.run(work, [task]))

    def _divide(self, task: CardTask, history: History | None) -> list[CardShare]:
        """The cards in as many shares as there are processes; none if the process that divides them dies."""
        divided = (task, history, self._pool.size)
        return [share for _, found in self._pool.run(share_cards_of, [divided]) for share in found or ()]

    def _build_shares(self, task: CardTask, shares: Sequence[CardShare]) -> bool:
        built = [found for _, found in self._pool.run(build_share, shares)]
        complete = [found for found in built if found is not None]
        if not shares or len(complete) < len(built):
            return False
        store_loaded_cards(self._directory, shares, complete, task.head)
        return True


class CardTask(NamedTuple):
    root: Path
    directory: Path
    rows: Path
    head: str


_collected: Final[dict[Path, ShareFacts]] = {}
"""What this process has collected for cards, by the directory of the rows."""


def collect_facts_of(wanted: tuple[CardTask, History | None]) -> bool:
    """Collect what the cards of a load are made of. Runs in the process that also builds them."""
    task, history = wanted
    _collected[task.rows] = collect_loaded_facts(task.root, SpooledGraph(task.rows), history)
    return True


def build_cards_of(task: CardTask) -> bool:
    """Build the cards of a load from what was collected; False if this process does not have it."""
    found = _collected.pop(task.rows, None)
    if found is not None:
        load_cards(task.directory, found, task.head)
    return found is not None


def share_cards_of(divided: tuple[CardTask, History | None, int]) -> list[CardShare]:
    """Divide the cards into so many shares, which several processes can build."""
    task, history, shares = divided
    return share_loaded_cards(task.root, task.directory, task.rows, history, shares)
