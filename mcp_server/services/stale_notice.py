"""The warning of commands that query the graph when files have changed since the last learn."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.phrases import counted, listed
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.text.output import print_message

_NAMED: Final = 3


def warn_if_stale(root: Path, store: Store) -> tuple[str, ...] | None:
    """Warn on standard error if files changed since the last learn. Returns those files; None if that is unknown."""
    changes = changes_since(root, store)
    if changes is None:
        sentence = "Cannot tell whether files changed since the last learn: the store has no cache. Run `golore learn`."
    elif not len(changes):
        return ()
    else:
        sentence = f"{counted(len(changes), 'file')} changed since the last learn: {listed(changes.paths, _NAMED)}."
    print_message(f"golore: {sentence}")
    return None if changes is None else changes.paths
