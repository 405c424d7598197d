"""`learn`: brings the store of a repository up to date with its files.

Every way to learn goes through here: the command, the MCP tool, the background learn of the hooks, and `watch`. A learn
first writes the graph (see `pipeline`), then updates what is made from it: notes that follow their code, summaries,
documents, cards, the search index and `CHANGES_WITH`. Each step does only what the changed files require, and no step
changes what another one made.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import ChangedFiles, rebuild_cards_of
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.projection import fold_log
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_meta
from golore.graph.errors import GraphDamaged
from golore.graph.files.cache_db import is_cache_damage, remove_cache
from golore.graph.files.claim import claim_store
from golore.graph.files.file_state import FileState
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.graph.progress import NoProgress, Progress, TimedStages
from golore.learner.checkout.git_activity import update_recent_commits
from golore.learner.derived.card_step import record_loaded_cards, refresh_card, update_cards
from golore.learner.derived.co_change_step import added_files, update_co_change
from golore.learner.derived.load_companion import LoadCompanion, Loaded
from golore.learner.derived.note_step import link_shared_knowledge, update_notes
from golore.learner.derived.search_step import update_search_index
from golore.learner.documents.document_step import LearnedDocuments, update_documents
from golore.learner.pipeline.graph_step import Report, learn_graph
from golore.learner.pipeline.incremental import BodyEdit, IncrementalLearner, Update
from golore.learner.pipeline.stored_keys import STATE

_FINISHED: Final = "finished"
"""Name of the meta row with the state of the graph for which all steps were last completed."""
_REBUILT: Final = "The graph was damaged and was rebuilt; notes and summaries were kept."
_MANY_CARDS: Final = 300
"""If more cards show another last commit, as after a switch of branches, building all cards is faster."""


def learn(
    root: Path,
    store_directory: Path,
    *,
    full: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Learn once, starting from what the last learn saved. `full`: build everything again. A damaged graph or cache is
    made again, and the learn repeated. The time in the report is that of all steps."""
    started = time.monotonic()
    stages = TimedStages(progress or NoProgress())
    message = claim_store(root.resolve(), store_directory)
    report = _learn_again_if_damaged(root, store_directory, full=full, workers=workers, progress=stages)
    messages = (message, *report.messages) if message else report.messages
    return report._replace(messages=messages, parts=stages.parts(), seconds=time.monotonic() - started)


def _learn_again_if_damaged(
    root: Path, store_directory: Path, *, full: bool, workers: int | None, progress: Progress
) -> Report:
    is_graph_new = is_cache_new = False
    while True:
        try:
            report = _learn(root, store_directory, full=full or is_graph_new, workers=workers, progress=progress)
        except GraphDamaged:
            if full or is_graph_new:
                raise
            is_graph_new = True
        except Exception as failure:
            if is_cache_new or not is_cache_damage(failure):
                raise
            remove_cache(store_directory / CACHE_NAME)
            is_cache_new = True
        else:
            return report._replace(messages=(*report.messages, _REBUILT)) if is_graph_new else report


def _learn(root: Path, store_directory: Path, *, full: bool, workers: int | None, progress: Progress) -> Report:
    with LoadCompanion(root, store_directory, progress) as companion:
        if full:
            report = learn_graph(
                root,
                store_directory=store_directory,
                full=True,
                workers=workers,
                progress=progress,
                companion=companion,
            )
            changed = documents = None
        else:
            learner = IncrementalLearner(root, store_directory, workers)
            report, changed, _ = learner.resume(progress, companion)
            documents = learner.found_documents()
        finish(
            root,
            store_directory,
            changed=changed,
            found_documents=documents,
            whole=full,
            loaded=companion.finish(),
            progress=progress,
        )
    return report


class Learner:
    """Learns the same repository repeatedly, for a process that keeps running. Not thread-safe."""

    def __init__(self, root: Path, store_directory: Path) -> None:
        self._root = root
        self._directory = store_directory
        self._graph = IncrementalLearner(root, store_directory)

    @property
    def updates(self) -> int:
        """Number of updates since all files were last compared."""
        return self._graph.updates

    def learn(self, edited: Collection[str] | None = None) -> Update:
        """Learn after these files were edited, or, without that knowledge, after comparing all files.

        The cards of edited files are refreshed before the graph is written, where the edits stay inside bodies. A
        damaged graph or cache is made again.
        """
        try:
            return self._learn(edited)
        except GraphDamaged:
            learn(self._root, self._directory)
        except Exception as failure:
            if not is_cache_damage(failure):
                raise
            remove_cache(self._directory / CACHE_NAME)
        self._graph = IncrementalLearner(self._root, self._directory)
        return self._learn(None)

    def _learn(self, edited: Collection[str] | None) -> Update:
        if edited is None:
            update = self._graph.learn()
            finish(self._root, self._directory, changed=update.changed)
            return update
        code = frozenset(path for path in edited if path.endswith(".go"))
        update = self._graph.update(code, early=self._refresh_card)
        finish(self._root, self._directory, changed=update.changed, is_only_code=len(code) == len(edited))
        return update

    def save(self) -> None:
        """Save what is known, so that the next learn, perhaps of another process, can start from it."""
        self._graph.save()

    def _refresh_card(self, edit: BodyEdit) -> None:
        refresh_card(self._directory, edit)


def finish(
    root: Path,
    store_directory: Path,
    *,
    changed: ChangedFiles | None = None,
    is_only_code: bool = False,
    found_documents: Mapping[str, FileState] | None = None,
    whole: bool = False,
    loaded: Loaded | None = None,
    progress: Progress | None = None,
) -> None:
    """The steps after the graph is written.

    `changed`: the Go files that changed, if known. `is_only_code`: it is also known that no document changed.
    `found_documents`: the documents, if they were just listed. `whole`: build everything again. `loaded`: what a
    `LoadCompanion` made, if the graph was loaded with one.
    """
    with closing(create_card_store(store_directory)) as card_store:
        # A process may have been killed between its graph and these steps. Then more has changed than `changed` says.
        if changed is not None and card_store.meta(_FINISHED) != changed.since.encode():
            changed = None
    paths = None if changed is None else changed.paths
    link_shared_knowledge(root, store_directory)
    moved_notes = update_notes(root, store_directory, changed=paths)
    summaries = update_summaries(root, store_directory, changed=paths)
    with ThreadPoolExecutor(1) as thread:
        # Most of the work is done by git.
        reading = thread.submit(update_recent_commits, root, store_directory)
        documents = LearnedDocuments()
        if loaded is None:
            documents = update_documents(
                root,
                store_directory,
                changed=paths,
                is_only_code=is_only_code and changed is not None,
                found=found_documents,
                whole=whole,
            )
        committed = reading.result()
    arrived = added_files(store_directory, paths or ())
    with Store.open(store_directory, write=False) as store:
        # A note may have been written meanwhile.
        if loaded is not None and loaded.has_cards and not Knowledge.exists(store_directory):
            record_loaded_cards(store)
            is_full = True
        else:
            is_full = update_cards(
                root,
                store_directory,
                store=store,
                changed=changed,
                whole=whole or len(committed) > _MANY_CARDS,
                progress=progress,
            ).is_full
        if progress is not None:
            progress.stage("Finishing", 0)
        update_search_index(
            root,
            store_directory,
            store=store,
            changed=paths,
            whole=whole,
            loaded=b"" if loaded is None else loaded.index_mark,
            progress=progress,
        )
        state = read_meta(store, STATE) if changed is None else changed.state
    if loaded is None:
        update_co_change(root, store_directory, changed=paths, arrived=arrived)
    if not is_full:
        card_paths = moved_notes | summaries.card_paths | documents.card_paths | committed
        rebuild_cards_of(store_directory, card_paths.difference(paths or ()))
    if changed is None:
        fold_log(store_directory)
    with closing(create_card_store(store_directory)) as card_store:
        card_store.set_meta(_FINISHED, state.encode())
