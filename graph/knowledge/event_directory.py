"""Events as files of a directory that is tracked with the code: one file for each event, which is never changed.

Branches that add files merge without conflicts, and a file is reviewed like code. The directory comes from other
people: only regular files with the name of an event are read, up to a number and a size, and links are not followed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from golore.graph.errors import RepositoryError
from golore.graph.files.atomic_write import replace_file
from golore.graph.knowledge.event_log import LONGEST
from golore.graph.safety.regular_file import read_regular

DIRECTORY_NAME: Final = ".golore-notes"
MAX_EVENTS: Final = 200_000
_FILE: Final = re.compile(r"([0-9a-f]{32})\.json")


class EventDirectory:
    """The events of a checkout. It is created with the first event."""

    def __init__(self, root: Path) -> None:
        self.path = root / DIRECTORY_NAME
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_dir()):
            raise RepositoryError(f"{self.path} is not a directory. Remove it, so that golore can keep notes there.")

    @property
    def name(self) -> str:
        return f"{DIRECTORY_NAME}/"

    def ids(self) -> set[str]:
        if not self.path.exists():
            return set()
        with os.scandir(self.path) as entries:
            found = {match[1] for entry in entries if (match := _FILE.fullmatch(entry.name))}
        if len(found) > MAX_EVENTS:
            raise RepositoryError(f"{self.path} has more than {MAX_EVENTS:,} events. Remove old ones.")
        return found

    def read(self, id: str) -> bytes:
        return read_regular(self.path / f"{id}.json", LONGEST)

    def write(self, id: str, data: bytes) -> None:
        self.path.mkdir(exist_ok=True)
        replace_file(self.path / f"{id}.json", data)

    def remove(self, id: str) -> None:
        (self.path / f"{id}.json").unlink(missing_ok=True)
