"""How well the repositories in a lake join: uses of what another repository of the lake declares, found by name.

    uv run python benchmarks/fleet.py LAKE

A use counts if its package is one that a repository of the lake declares. It joins if that repository also declares the
name. Prints the share, the names that do not join, and the bytes of index for each use.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from golore.graph.lake.bucket import open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.lake_index import compact
from golore.graph.lake.segments import IMPORTS, POSSIBLE


def main(address: str) -> None:
    lake = open_lake(address)
    compact(lake)
    with Fleet(lake) as fleet:
        joined: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        for member in fleet.members:
            names = fleet.symbol_names(member) or frozenset()
            prefixes = tuple(f"{module}{end}" for module in member.head.modules for end in ("/", "."))
            packages = {row["package"] for row in fleet.symbols(member, names)}
            for row in fleet.uses_below(prefixes):
                if row.kind in (IMPORTS, POSSIBLE) or _package(row.target, packages) == "":
                    continue
                pair = f"{row.member.name} -> {member.name}"
                (joined if row.target in names else lost)[pair] += 1
                if row.target not in names:
                    print(f"  does not join: {pair}: {row.target}")
        for pair in sorted(joined.keys() | lost.keys()):
            print(f"{pair}: {joined[pair]:,} of {joined[pair] + lost[pair]:,}")
        total, found = sum(joined.values()) + sum(lost.values()), sum(joined.values())
        share = f" ({found / total:.2%})" if total else ": these repositories do not use each other"
        print(f"all: {found:,} of {total:,}{share}")
        assert fleet.index is not None
        rows = sum(sum(one.head.counts[name] for name in ("across", "std")) for one in fleet.members)
        size = sum(table.size for table in fleet.index.made.tables.values())
        print(f"index: {size:,} bytes for {rows:,} uses: {size / rows:.1f} bytes each")
    started = time.process_time()
    with Fleet(lake) as fleet:
        found = len(fleet.uses(["net/http.HandlerFunc"]))
    print(f"uses of net/http.HandlerFunc: {found:,} in {time.process_time() - started:.3f} s of CPU, with opening")


def _package(name: str, packages: set[str]) -> str:
    start = name.rfind("/") + 1
    parts = (name[:at] for at in range(len(name), start, -1) if name[at : at + 1] == ".")
    return next((part for part in parts if part in packages), "")


if __name__ == "__main__":
    main(sys.argv[1])
