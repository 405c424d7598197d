"""The steps of a learn after the graph is written: what is made from it, each brought up to date with it.

A step follows what has changed, reads the graph and may be left out or done later; none changes what another one made.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import ChangedFiles, rebuild_cards_of
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.projection import fold_log
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_meta
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.graph.progress import Progress
from golore.learner.checkout.git_activity import update_recent_commits
from golore.learner.derived.card_step import update_cards
from golore.learner.derived.co_change_step import newly_there, update_co_change
from golore.learner.derived.note_step import update_notes
from golore.learner.derived.search_step import update_search_index
from golore.learner.documents.document_step import update_documents
from golore.learner.pipeline.stored_keys import STATE

_FINISHED: Final = "finished"
"""The note of the state that the graph was in when the steps were last done to the end."""
_MANY_TOLD: Final = 300
"""Cards with another last commit, as after a switch of branches, from which making all is quicker than each."""


def finish(
    root: Path,
    store_directory: Path,
    *,
    changed: ChangedFiles | None = None,
    is_about_code: bool = False,
    whole: bool = False,
    progress: Progress | None = None,
) -> None:
    """`changed`: what has, where that is known; with `is_about_code`, it is also known that no document has. `whole`:
    make everything anew."""
    with closing(create_card_store(store_directory)) as card_store:
        # Somebody may have learned and been killed before this: then more has changed than is told here.
        if changed is not None and card_store.meta(_FINISHED) != changed.since.encode():
            changed = None
    paths = None if changed is None else changed.paths
    noted = update_notes(root, store_directory, changed=paths)
    summaries = update_summaries(root, store_directory, changed=paths)
    with ThreadPoolExecutor(1) as beside:
        # Most of this is git's work.
        reading = beside.submit(update_recent_commits, root, store_directory)
        documents = update_documents(
            root, store_directory, changed=paths, is_about_code=is_about_code and changed is not None, whole=whole
        )
        recent = reading.result()
    arrived = newly_there(store_directory, paths or ())
    with Store.open(store_directory, write=False) as store:
        dealt = update_cards(
            root,
            store_directory,
            store=store,
            changed=changed,
            whole=whole or len(recent) > _MANY_TOLD,
            progress=progress,
        )
        update_search_index(root, store_directory, store=store, changed=paths, whole=whole, progress=progress)
    update_co_change(root, store_directory, changed=paths, arrived=arrived)
    if not dealt.whole:
        places = noted | summaries.card_paths | documents.card_paths | recent
        rebuild_cards_of(store_directory, places.difference(paths or ()))
    if changed is None:
        fold_log(store_directory)
    with closing(create_card_store(store_directory)) as card_store:
        card_store.set_meta(_FINISHED, (_state_of(store_directory) if changed is None else changed.state).encode())


def _state_of(store_directory: Path) -> str:
    with Store.open(store_directory, write=False) as store:
        return read_meta(store, STATE)
