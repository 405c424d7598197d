"""What a search reads. Apart from `results.hits`, because `golore explore` reads the same and has other results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from golore.graph.database.store import Store
from golore.graph.search.index import SearchIndex
from golore.graph.search.signals import IndexView
from golore.graph.search.vectors import Near


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a search reads. `read` returns the text of a file; `favour` has the effect of ratings, by file or name (see
    `knowledge.ratings`); `meaning` returns the files nearest to a text by vectors. Without a store, calls and uses do
    not count."""

    index: SearchIndex
    view: IndexView
    store: Store | None = None
    read: Callable[[str], str] | None = None
    favour: Mapping[str, float] = field(default_factory=dict[str, float])
    meaning: Callable[[str], Mapping[int, Near]] | None = None
