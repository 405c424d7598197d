"""The version of the learner that made a graph: the versions of its extractor and of its resolver.

Rows of an older version are made again by the next learn. Rows of a newer version are left alone; otherwise two golores
of different age, such as an upgraded command and a watch started before, would keep replacing each other's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import StoreMismatch
from golore.graph.model.tables import META_TABLE, META_VALUE
from golore.learner.extraction import facts as f

RESOLVER: Final = "17"
"""Version of the resolver. Increase it whenever the same facts would give other edges."""
VERSION_META: Final = "extractor"
"""Name of the meta row with the version."""


def learner_version() -> str:
    return f"{f.EXTRACTOR}.{RESOLVER}"


STORED_VERSION: Final = f"MATCH (m:{META_TABLE} {{id: '{VERSION_META}'}}) RETURN m.value AS version"
"""The query for the version that made a graph."""


def is_outdated(store: Store) -> bool:
    """Whether an older version than this one made the graph."""
    return is_older(next((value for (value,) in store.rows(META_VALUE, {"id": VERSION_META})), ""))


def is_older(version: str) -> bool:
    """Whether a version, empty if there is none, is older than this one."""
    return _numbers(version) < _numbers(learner_version())


def replacement_message(store: Store, meta: Mapping[str, str]) -> str:
    """A sentence for the user if this version replaces the rows of another one; else empty. `meta`: the meta rows.

    Raises `StoreMismatch` if a newer version made the graph.
    """
    made_by = _numbers(meta.get(VERSION_META, ""))
    if store.is_empty or made_by == _numbers(learner_version()):
        return ""
    if made_by > _numbers(learner_version()):
        raise StoreMismatch(
            f"The graph in {store.directory} was made by a newer golore. Upgrade this one and restart the processes "
            "that still run it, or rebuild the graph with `golore learn --full`."
        )
    return "The graph was made by another version of golore and has been rebuilt."


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in text.split("."))
