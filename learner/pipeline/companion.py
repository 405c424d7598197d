"""Work beside a load of the whole graph, by its inputs: what can begin at once, and what needs resolved packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from golore.graph.database.bulk_load import WorkBeside
from golore.graph.search.index_parts import IndexPart
from golore.learner.checkout.discovery import Discovery


class Companion(WorkBeside, Protocol):
    """`begin` and `resolved` should return at once and leave the work to a thread: workers read and resolve files, and
    the engine stores rows, without needing this process."""

    def fork(self, processes: int, files: int) -> None:
        """This process has one thread and no open database, so that processes can be forked for later: at most this
        many, for so many files. Not called if `begin` will not be called."""
        ...

    def begin(self, discovery: Discovery) -> None:
        """The files are known, and the worker processes have been forked, so that threads may be started."""
        ...

    def resolved(self, rows: Path, state: str, parts: Sequence[IndexPart]) -> None:
        """All packages are resolved. `rows`: the directory with all rows of the graph (see `SpooledGraph`). `state`:
        the state of the graph. `parts`: the files of the search index, as the workers made them."""
        ...
