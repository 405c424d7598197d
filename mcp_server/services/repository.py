"""The learned repository that a file belongs to, and the directory of its store (see `graph.files.store_path`).

A linked worktree is a repository of its own, even inside another checkout of the same repository.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from golore.graph.errors import StoreMissing, UsageError
from golore.graph.files.claim import require_trust
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.files.store_path import store_of
from golore.graph.safety.trust import is_trusted
from golore.learner.checkout.git_directory import GitLink, classify

__all__ = ["LearnedRepository", "find_repository", "store_of"]


class LearnedRepository(NamedTuple):
    """A learned repository and the directory of its store."""

    root: Path
    store: Path


def find_repository(start: Path, environ: Mapping[str, str] = os.environ) -> LearnedRepository:
    """The learned repository that a directory or file belongs to: the nearest one at or above it whose store is this
    user's. Raises `StoreUntrusted` if there is only a store that is not."""
    if not start.exists():
        raise UsageError(f"There is no directory {start}. Check the path.")
    start = start.resolve()
    distrusted: LearnedRepository | None = None
    for root in (start, *start.parents):
        store = store_of(root, environ)
        if (store / MANIFEST_NAME).is_file():
            repository = LearnedRepository(root, store)
            if is_trusted(str(root), str(store)):
                return repository
            distrusted = distrusted or repository
        if classify(root) is GitLink.WORKTREE:
            break  # the store of an enclosing checkout describes other files
    if distrusted is not None:
        require_trust(*distrusted)
    raise StoreMissing(f"{start} is not in a learned repository. Run `golore learn` at the root of the repository.")
