"""The edition of the learner that made a graph: the numbers of its extractor and of its resolver.

Rows of an older edition are made again by whoever comes first. Rows of a newer one are left alone, or two golores of
different age, an upgraded command and a watch from before, would undo each other's work for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import StoreMismatch
from golore.graph.model.tables import META_TABLE
from golore.learner.extraction import facts as f
from golore.learner.pipeline.package_keys import RESOLVER

VERSION_META: Final = "extractor"
"""The learner's note in the store that holds it."""


def learner_version() -> str:
    return f"{f.EXTRACTOR}.{RESOLVER}"


def is_outdated(store: Store) -> bool:
    """Whether an older edition than this one made the graph."""
    told = [
        value for (value,) in store.rows(f"MATCH (m:{META_TABLE} {{id: $id}}) RETURN m.value", {"id": VERSION_META})
    ]
    return _numbers(told[0] if told else "") < _numbers(learner_version())


def replacement_message(store: Store, notes: Mapping[str, str], *, full: bool) -> str:
    """A sentence for the user where this edition replaces the rows of an older one.

    A newer one's are replaced only by a full learn, which the user must have asked for.
    """
    made_by = _numbers(notes.get(VERSION_META, ""))
    if store.is_empty or made_by == _numbers(learner_version()):
        return ""
    if made_by > _numbers(learner_version()) and not full:
        raise StoreMismatch(
            f"The graph in {store.directory} was made by a newer golore. Upgrade this one and start again what still "
            "runs it, or make the graph anew with `golore learn --full`."
        )
    return "The graph was made by another version of golore and has been made anew."


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in text.split("."))
