"""Measures how long a question takes in a process that has the store open.

    python benchmarks/questions.py STORE [--symbols N]

STORE is the directory of a store (`.golore`). Symbols are sampled evenly from all symbols, so that both often used and
unused ones are included; each is resolved from its qualified name, then asked about. Prints milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from golore.graph.database.store import Store
from golore.graph.queries.answers import Meaning
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.queries.questions import callees, callers, implementers, users

ASKED: dict[str, tuple[Callable[[Store, Meaning], Any], tuple[str, ...]]] = {
    "callers": (callers, ("func", "method", "imethod")),
    "callees": (callees, ("func", "method")),
    "implementers": (implementers, ("interface", "struct", "type")),
    "users": (users, ("struct", "type", "var", "const")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--symbols", type=int, default=1000, help="number of symbols per question (1000)")
    options = parser.parse_args()
    with Store.open(options.store, write=False) as store:
        (total,) = next(iter(store.rows("MATCH (s:Symbol) RETURN count(*)")))
        print(f"{total:,} symbols")
        names = NameResolver(store)
        names.load()
        print(f"{'':14}{'asked':>7}{'median':>9}{'p95':>9}{'worst':>9}")
        for question, (ask, kinds) in ASKED.items():
            times = sorted(_times(store, names, ask, _sample(store, kinds, options.symbols)))
            p95 = times[int(len(times) * 0.95)]
            print(f"{question:14}{len(times):7}{statistics.median(times):9.2f}{p95:9.2f}{times[-1]:9.2f}")


def _sample(store: Store, kinds: tuple[str, ...], wanted: int) -> list[str]:
    statement = "MATCH (s:Symbol) WHERE s.kind IN $kinds RETURN s.qualified_name ORDER BY s.id"
    found = [name for (name,) in store.rows(statement, {"kinds": list(kinds)})]
    return found[:: max(1, len(found) // wanted)][:wanted]


def _times(
    store: Store, names: NameResolver, ask: Callable[[Store, Meaning], Any], sample: list[str]
) -> Iterator[float]:
    for name in sample:
        started = time.perf_counter()
        found = names.find(name)
        if len(found.meanings) == 1:
            ask(store, found.meanings[0])
            yield (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
