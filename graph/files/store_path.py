"""The path of a repository's store: `.golore/` at its root, or a directory below `$GOLORE_HOME` if that is set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "GOLORE_HOME"
STORE_NAME: Final = ".golore"
CACHE_NAME: Final = "cache.db"
SURVEY_NAME: Final = "survey.msgpack"
PROGRAM_NAME: Final = "program"
VECTOR_MODEL_NAME: Final = "vectors.model"
"""The file that names the model of the store's vectors; it exists only if there are vectors."""


def store_of(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The store directory of the repository with this root. It need not exist."""
    root = root.resolve()
    home = environ.get(HOME_VARIABLE, "").strip()
    if not home:
        return root / STORE_NAME
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return Path(home).expanduser() / f"{root.name or 'root'}-{digest}"
