"""`store.json`: which engine, which schema and which database file a store has.

It is read before the engine touches anything, so that a store that is not ours to open is refused without harm, and it
is replaced in one rename, which is what makes the first learn's new database the current one. It knows nothing about
what is inside the database.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from golore.graph.errors import StoreDamaged, StoreMismatch
from golore.graph.files.atomic_write import replace_file
from golore.graph.model.tables import SCHEMA_VERSION

MANIFEST_NAME: Final = "store.json"


class Manifest(NamedTuple):
    schema: int
    engine: str
    golore: str
    graph: str
    """The database's file name, in the same directory."""


def read_manifest(directory: Path) -> Manifest | None:
    """None where there is no store yet."""
    path = directory / MANIFEST_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    try:
        values: Any = json.loads(text)
    except ValueError:
        values = None
    if isinstance(values, dict):
        fields = cast("dict[str, object]", values)
        match [fields.get(name) for name in Manifest._fields]:
            case [int(schema), str(engine), str(golore), str(graph)] if graph and "/" not in graph:
                return Manifest(schema, engine, golore, graph)
            case _:
                pass
    raise StoreDamaged(
        f"{path} is not readable as golore's own. Go back to a snapshot with `golore restore`, or remove it and run "
        "`golore learn` again; notes and summaries stay."
    )


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Replace it whole: who reads it sees the old one or this one."""
    text = json.dumps(manifest._asdict(), indent=1) + "\n"
    replace_file(directory / MANIFEST_NAME, text.encode(), durable=True)


def require_ours(manifest: Manifest, directory: Path, engine: str) -> None:
    """Refuse a store of a newer golore or of the other engine."""
    if manifest.schema > SCHEMA_VERSION:
        raise StoreMismatch(
            f"The store in {directory} was made by a newer golore ({manifest.golore}). "
            f"Upgrade golore, or remove {directory} and run `golore learn` again."
        )
    if manifest.engine != engine:
        raise StoreMismatch(
            f"The store in {directory} was made with the engine {manifest.engine}, and this is {engine}. "
            f"Set GOLORE_ENGINE={manifest.engine}, or remove {directory} and run `golore learn` again."
        )
