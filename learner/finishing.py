"""The steps of a learn after the graph is written: what is made from it, each brought up to date with it.

A step follows what has changed, reads the graph and may be left out or done later; none changes what another one made.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from golore.graph.dealing import Progress
from golore.graph.staleness import renew_summaries, tell_again
from golore.learner.anchoring import follow_notes
from golore.learner.cardmaking import make_cards


def finish(
    root: Path,
    store_directory: Path,
    *,
    changed: Collection[str] | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> None:
    """`changed`: the Go files that have, where that is known. `whole`: make everything anew."""
    noted = follow_notes(root, store_directory, changed=changed)
    summaries = renew_summaries(root, store_directory, changed=changed)
    make_cards(root, store_directory, changed=changed, whole=whole, progress=progress)
    tell_again(store_directory, (noted | summaries.places).difference(changed or ()))
