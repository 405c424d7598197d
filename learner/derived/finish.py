"""The steps of a learn after the graph is written: what is made from it, each brought up to date with it.

A step follows what has changed, reads the graph and may be left out or done later; none changes what another one made.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

from golore.graph.cards.card_builder import Changed, Progress, tell_again
from golore.graph.cards.card_store import make_deck
from golore.graph.database.projection import fold
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_mark
from golore.graph.knowledge.summary_staleness import renew_summaries
from golore.learner.checkout.git_activity import renew_recent
from golore.learner.derived.card_step import make_cards
from golore.learner.derived.co_change_step import join_companions, newly_there
from golore.learner.derived.note_step import follow_notes
from golore.learner.derived.search_step import index_words
from golore.learner.documents.document_step import learn_documents
from golore.learner.pipeline.stored_keys import STATE

_FINISHED: Final = "finished"
"""The note of the state that the graph was in when the steps were last done to the end."""
_MANY_TOLD: Final = 300
"""Cards with another last commit, as after a switch of branches, from which making all is quicker than each."""


def finish(
    root: Path,
    store_directory: Path,
    *,
    changed: Changed | None = None,
    is_about_code: bool = False,
    whole: bool = False,
    progress: Progress | None = None,
) -> None:
    """`changed`: what has, where that is known; with `is_about_code`, it is also known that no document has. `whole`:
    make everything anew."""
    with closing(make_deck(store_directory)) as deck:
        # Somebody may have learned and been killed before this: then more has changed than is told here.
        if changed is not None and deck.note(_FINISHED) != changed.since.encode():
            changed = None
    paths = None if changed is None else changed.paths
    noted = follow_notes(root, store_directory, changed=paths)
    summaries = renew_summaries(root, store_directory, changed=paths)
    with ThreadPoolExecutor(1) as beside:
        # Most of this is git's work.
        reading = beside.submit(renew_recent, root, store_directory)
        documents = learn_documents(
            root, store_directory, changed=paths, is_about_code=is_about_code and changed is not None, whole=whole
        )
        recent = reading.result()
    arrived = newly_there(store_directory, paths or ())
    with Store.open(store_directory, write=False) as store:
        dealt = make_cards(
            root,
            store_directory,
            store=store,
            changed=changed,
            whole=whole or len(recent) > _MANY_TOLD,
            progress=progress,
        )
        index_words(root, store_directory, store=store, changed=paths, whole=whole, progress=progress)
    join_companions(root, store_directory, changed=paths, arrived=arrived)
    if not dealt.whole:
        places = noted | summaries.places | documents.places | recent
        tell_again(store_directory, places.difference(paths or ()))
    if changed is None:
        fold(store_directory)
    with closing(make_deck(store_directory)) as deck:
        deck.set_note(_FINISHED, (_state_of(store_directory) if changed is None else changed.state).encode())


def _state_of(store_directory: Path) -> str:
    with Store.open(store_directory, write=False) as store:
        return read_mark(store, STATE)
