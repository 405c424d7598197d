"""What the commands that answer say when the files have changed since they were learned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.phrases import counted, listed
from golore.learner.checkout.freshness import changes_since

_NAMED: Final = 3


def warn_if_stale(root: Path, store: Store) -> tuple[str, ...] | None:
    """The changed files, after one line about them on standard error; None if it cannot be told whether any changed."""
    changes = changes_since(root, store)
    if changes is None:
        sentence = "It cannot be told whether files have changed since: the store has no cache. Run `golore learn`."
    elif not len(changes):
        return ()
    else:
        sentence = f"{counted(len(changes), 'file')} changed since the last learn: {listed(changes.paths, _NAMED)}."
    print(f"golore: {sentence}", file=sys.stderr)
    return None if changes is None else changes.paths
