"""How far a graph is behind its files, opened again and again by a process that stays.

Comparing all files takes a tenth of a second at 13,000. Where the kernel says that nothing has happened in the
directories since the last comparison, that one still holds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.database.store import Store
from golore.learner.checkout.freshness import SNAPSHOT_NAME, Changes, SeenFiles, changes_since
from golore.mcp_server.server.inotify import Watch, watch

_BELIEVED: Final = 60.0
"""Seconds after which the files are compared although the kernel has told of nothing: it does not tell of all."""
_SPARED: Final = 1.0
"""Seconds for which a comparison counts where the kernel does not help, or the graph is known to be behind."""


class FreshnessCache:
    """The last comparison of one repository, and what tells whether it still holds."""

    def __init__(self) -> None:
        self._compared = ""
        self._changes: Changes | None = None
        self._at = 0.0
        self._watch: Watch | None = None

    def changes(self, root: Path, store: Store, generation: str) -> Changes | None:
        """What has changed since the graph was made; None where that cannot be told."""
        what = f"{root} {generation}"
        if what == self._compared and self._holds():
            return self._changes
        self.close()
        # First the watch, then the look: a change in between is noticed by one of them.
        self._watch = _watched(root, store.directory)
        self._changes = changes_since(root, store)
        self._compared, self._at = what, time.monotonic()
        return self._changes

    def close(self) -> None:
        self._compared = ""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _holds(self) -> bool:
        age = time.monotonic() - self._at
        is_level = self._changes is not None and not len(self._changes)
        if is_level and self._watch is not None:
            return age < _BELIEVED and not self._watch.is_stirred
        return age < _SPARED


def _watched(root: Path, directory: Path) -> Watch | None:
    try:
        snapshot = msgspec.msgpack.decode((directory / SNAPSHOT_NAME).read_bytes(), type=SeenFiles)
    except (OSError, msgspec.MsgspecError):
        return None
    return watch(f"{root}/{path}" for path in snapshot.directories)
