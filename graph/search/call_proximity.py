"""The signal `neighbours` of a search by words, from the graph: files that the best files call, or that call them.

Only the few best files are looked up, so that the cost does not grow with the repository.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import log1p
from typing import Final

from golore.graph.database.store import Store
from golore.graph.search.signals import IndexView, Signal
from golore.graph.search.weights import best_of, raised

_BEST_FILES: Final = 3
_CALLED_FILES: Final = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)-[:CALLS]->(a:Symbol) RETURN a.file, count(*)"
_CALLING_FILES: Final = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)<-[:CALLS]-(a:Symbol) RETURN a.file, count(*)"


def with_neighbours(
    totals: Mapping[int, float], signals: dict[str, Signal], view: IndexView, store: Store | None
) -> dict[int, float]:
    """The totals with this signal added, which is also put into `signals`. It only raises files that have a total."""
    if store is None or not totals:
        return dict(totals)
    votes: defaultdict[int, float] = defaultdict(float)
    for file in best_of(totals, _BEST_FILES, lambda file: view.files[file].path, lambda _: True):
        closeness = _neighbours(store, view.files[file].path)
        total = sum(closeness.values())
        for path in sorted(closeness):
            number = view.numbers.get(path)
            if number is not None and number in totals:
                votes[number] += totals[file] * closeness[path] / total
    best = max(votes.values(), default=0.0)
    signals["neighbours"] = {file: vote / best for file, vote in votes.items()} if best else {}
    return raised(totals, "neighbours", signals["neighbours"])


def _neighbours(store: Store, path: str) -> dict[str, float]:
    """Path of another file → its closeness: the logarithm of the calls between them."""
    found: defaultdict[str, int] = defaultdict(int)
    for statement in (_CALLED_FILES, _CALLING_FILES):
        for other, number in store.rows(statement, {"id": path}):
            if other != path:
                found[other] += number
    return {other: log1p(number) for other, number in found.items()}
