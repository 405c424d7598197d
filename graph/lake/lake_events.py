"""Events of team knowledge as keys of a lake: `notes/REPOSITORY/ID.json`, each written once.

The id of an event is the digest of its text, so two people who write the same key write the same bytes.
"""

from __future__ import annotations

import re
from typing import Final

from golore.graph.errors import LakeError
from golore.graph.knowledge.event_directory import MAX_EVENTS
from golore.graph.knowledge.event_log import LONGEST
from golore.graph.lake.bucket import Lake
from golore.graph.lake.keys import NOTES

_KEY: Final = re.compile(r"([0-9a-f]{32})\.json")


class LakeEvents:
    """The events of one repository in a lake."""

    def __init__(self, lake: Lake, repository: str) -> None:
        self._lake = lake
        self._prefix = f"{NOTES}/{repository}"

    @property
    def name(self) -> str:
        return f"the lake {self._lake.name}"

    def ids(self) -> set[str]:
        names = (one.key.removeprefix(f"{self._prefix}/") for one in self._lake.keys(self._prefix))
        found = {match[1] for name in names if (match := _KEY.fullmatch(name))}
        if len(found) > MAX_EVENTS:
            raise LakeError(f"{self.name} has more than {MAX_EVENTS:,} events of this repository. Remove old ones.")
        return found

    def read(self, id: str) -> bytes:
        return self._lake.read(f"{self._prefix}/{id}.json", LONGEST)

    def write(self, id: str, data: bytes) -> None:
        self._lake.write(f"{self._prefix}/{id}.json", data)

    def remove(self, id: str) -> None:
        self._lake.remove(f"{self._prefix}/{id}.json")
