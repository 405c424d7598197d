"""Work beside a load of the whole graph, by its inputs: what can begin at once, what needs the resolved packages, and
what needs the loaded graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.store import Store
from golore.graph.search.index_parts import IndexPart
from golore.learner.checkout.discovery import Discovery


class Companion(Protocol):
    """The first two methods should return at once and leave the work to a thread: workers read and resolve files, and
    the engine stores rows, without needing this process."""

    def begin(self, discovery: Discovery) -> None:
        """The files are known, and the worker processes have been forked, so that threads may be started."""
        ...

    def resolved(self, parts: Sequence[IndexPart]) -> None:
        """All packages are resolved. `parts`: the files of the search index, as the workers made them."""
        ...

    def loaded(self, store: Store) -> MoreRows:
        """The graph is loaded, but not yet current. Returns rows to add to it."""
        ...
