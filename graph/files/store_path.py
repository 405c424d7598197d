"""Where the store of a repository is: in `.golore/` at its root, or below `$GOLORE_HOME` when that is set.

Whether there is one, and what is in it, is not asked here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "GOLORE_HOME"
STORE_NAME: Final = ".golore"
CACHE_NAME: Final = "cache.db"


def store_of(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of the store for a repository with this root, whether it exists or not."""
    root = root.resolve()
    home = environ.get(HOME_VARIABLE, "").strip()
    if not home:
        return root / STORE_NAME
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return Path(home).expanduser() / f"{root.name or 'root'}-{digest}"
