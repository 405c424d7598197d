"""`store.json`: the engine, the schema version and the database file of a store.

It is read before the engine opens anything, so that an incompatible store is refused without harm. It is replaced by
one rename, which makes a newly loaded database the current one.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.errors import StoreDamaged, StoreMismatch
from golore.graph.files.atomic_write import replace_file
from golore.graph.model.tables import SCHEMA_VERSION
from golore.graph.safety.regular_file import NotRegularError, TooLargeError, read_regular

MANIFEST_NAME: Final = "store.json"
_MAX_BYTES: Final = 1 << 16
_GRAPH: Final = re.compile(r"graph-[1-9]\d{0,17}\.db")


class Manifest(NamedTuple):
    schema: int
    engine: str
    golore: str
    graph: str
    """File name of the database, in the same directory."""


def this_version() -> str:
    """The version of this golore, for a manifest: from the name of its metadata's directory, because importlib.metadata
    takes as long to import as everything that opening a store needs."""
    for directory in filter(os.path.isabs, sys.path):
        with suppress(OSError):
            for name in os.listdir(directory):  # noqa: PTH208  an object for each of hundreds of names costs more
                if name.startswith("golore-") and name.endswith(".dist-info"):
                    return name.removeprefix("golore-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version("golore")


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a store; None if there is no store yet. Raises `StoreDamaged` if it is not readable."""
    path = directory / MANIFEST_NAME
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, NotRegularError, TooLargeError):
        text = ""
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict):
        fields = cast("dict[str, object]", values)
        match [fields.get(name) for name in Manifest._fields]:
            case [int(schema), str(engine), str(golore), str(graph)] if _GRAPH.fullmatch(graph):
                return Manifest(schema, engine, golore, graph)
            case _:
                pass
    raise StoreDamaged(
        f"{path} is damaged. Restore a snapshot with `golore restore`, or remove the file and run `golore learn` "
        "again; notes and summaries are kept."
    )


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically: readers see the old one or the new one."""
    text = json.dumps(manifest._asdict(), indent=1) + "\n"
    replace_file(directory / MANIFEST_NAME, text.encode(), durable=True)


def require_compatible(manifest: Manifest, directory: Path, engine: str) -> None:
    """Raise `StoreMismatch` for a store of a newer golore or of the other engine."""
    if manifest.schema > SCHEMA_VERSION:
        raise StoreMismatch(
            f"The store in {directory} was made by a newer golore ({manifest.golore}). "
            "Upgrade golore; nothing was changed."
        )
    if manifest.engine != engine:
        raise StoreMismatch(
            f"The store in {directory} was made with the engine {manifest.engine}, but {engine} is in use. "
            f"Set GOLORE_ENGINE={manifest.engine}, or remove {directory / MANIFEST_NAME} and run "
            "`golore learn`; notes and summaries are kept."
        )
