"""Where the store of a repository is: in `.golore/` at its root, or below `$GOLORE_HOME` when that is set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import StoreMissing, UsageError
from golore.graph.manifest import MANIFEST_NAME

HOME_VARIABLE: Final = "GOLORE_HOME"
STORE_NAME: Final = ".golore"


class Place(NamedTuple):
    """A learned repository and the directory of its store."""

    root: Path
    store: Path


def store_of(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of the store for a repository with this root, whether it exists or not."""
    root = root.resolve()
    home = environ.get(HOME_VARIABLE, "").strip()
    if not home:
        return root / STORE_NAME
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return Path(home).expanduser() / f"{root.name or 'root'}-{digest}"


def find_place(start: Path, environ: Mapping[str, str] = os.environ) -> Place:
    """The learned repository that a directory or file belongs to: the nearest one at or above it."""
    if not start.exists():
        raise UsageError(f"There is no directory {start}. Check the path.")
    start = start.resolve()
    for root in (start, *start.parents):
        store = store_of(root, environ)
        if (store / MANIFEST_NAME).is_file():
            return Place(root, store)
    raise StoreMissing(f"{start} is not in a learned repository. Run `golore learn` at the root of the repository.")
