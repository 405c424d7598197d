"""What the graph adds to a search by words: files that the best ones call, or that call them.

Looked up around the few best files only, so that the cost does not grow with the repository.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import log1p
from typing import Final

from golore.graph.database.store import Store
from golore.graph.search.signals import IndexView, Signal
from golore.graph.search.weights import best_of, raised

_AROUND: Final = 3
_CALLED: Final = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)-[:CALLS]->(a:Symbol) RETURN a.file, count(*)"
_CALLING: Final = "MATCH (f:File {id: $id})-[:CONTAINS]->(b:Symbol)<-[:CALLS]-(a:Symbol) RETURN a.file, count(*)"


def with_neighbours(
    totals: Mapping[int, float], signals: dict[str, Signal], view: IndexView, store: Store | None
) -> dict[int, float]:
    """The totals with this signal added, which is put among the others. It raises what was found, and finds nothing."""
    if store is None or not totals:
        return dict(totals)
    votes: defaultdict[int, float] = defaultdict(float)
    for file in best_of(totals, _AROUND, lambda file: view.files[file].path, lambda _: True):
        near = _near(store, view.files[file].path)
        whole = sum(near.values())
        for path in sorted(near):
            number = view.numbers.get(path)
            if number is not None and number in totals:
                votes[number] += totals[file] * near[path] / whole
    most = max(votes.values(), default=0.0)
    signals["neighbours"] = {file: vote / most for file, vote in votes.items()} if most else {}
    return raised(totals, "neighbours", signals["neighbours"])


def _near(store: Store, path: str) -> dict[str, float]:
    """Other files, each with how closely it is tied by calls."""
    found: defaultdict[str, int] = defaultdict(int)
    for statement in (_CALLED, _CALLING):
        for other, number in store.rows(statement, {"id": path}):
            if other != path:
                found[other] += number
    return {other: log1p(number) for other, number in found.items()}
