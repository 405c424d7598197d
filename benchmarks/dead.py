"""Compares dead functions with `deadcode` (golang.org/x/tools), which runs rapid type analysis on compiled packages.

    deadcode -json -generated -filter '' ./cmd/stringer > stringer.json        # in the repository
    python benchmarks/dead.py REPOSITORY golang.org/x/tools/cmd/stringer stringer.json
    deadcode -test -json -generated -filter '' ./... > tests.json
    python benchmarks/dead.py REPOSITORY ... tests.json

The program `...` stands for all programs and all tests, as `deadcode -test ./...` and `golore dead --tests` take them.
The repository must have been learned. Only functions and methods are compared, of the packages that both have seen, in
files of the default build. Prints both sets, precision, recall, and with `--list` every difference.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from golore.graph.analysis.code_graph import CodeGraph, read_code_graph
from golore.graph.analysis.dead_code import is_marker, reach_tests
from golore.graph.analysis.hidden_uses import hidden_uses
from golore.graph.analysis.program_candidates import programs
from golore.graph.analysis.reachability import Reachability
from golore.graph.database.store import Store
from golore.graph.files.store_path import store_of

Place = tuple[str, int]
ALL = "..."


def judged_dead(root: Path, file: Path) -> tuple[set[Place], set[Place]]:
    """The functions that deadcode reports in the repository, and those of them that it calls marker methods."""
    dead: set[Place] = set()
    markers: set[Place] = set()
    for package in json.loads(file.read_text()) or ():
        for function in package["Funcs"]:
            position = function["Position"]
            path = Path(position["File"])
            path = path if path.is_absolute() else root / path
            if path.is_relative_to(root):
                place = (path.relative_to(root).as_posix(), position["Line"])
                dead.add(place)
                if function.get("Marker"):
                    markers.add(place)
    return dead, markers


def our_search(store: Store, root: Path, program: str) -> tuple[CodeGraph, Reachability, set[int]]:
    graph = read_code_graph(store)
    search = Reachability(graph)
    search.reach(
        number for number in programs(graph) if program in (ALL, graph.packages[graph.declared[number].package].path)
    )
    if program == ALL:
        reach_tests(search)
    certain = set(search.reached)
    search.assume(hidden_uses(root, graph, search.packages))
    return graph, search, certain


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("program", help="import path of its main package, or ... for all programs and tests")
    parser.add_argument("judge", type=Path, help="output of deadcode -json")
    parser.add_argument("--judged", type=Path, help="the tree that deadcode saw, if the repository is a copy of it")
    parser.add_argument("--list", action="store_true", help="list every difference")
    options = parser.parse_args()
    root = options.repository.resolve()
    judged, markers = judged_dead(options.judged.resolve() if options.judged else root, options.judge)
    with Store.open(store_of(root), write=False) as store:
        graph, search, certain = our_search(store, root, options.program)
        other_builds = {row[0] for row in store.rows("MATCH (f:File) WHERE f.constraint <> '' RETURN f.path")}
    names: dict[Place, str] = {}
    dead: set[Place] = set()
    uncertain: set[Place] = set()
    for package in search.packages:
        for number in graph.by_package.get(package, ()):
            one = graph.declared[number]
            if one.kind not in ("func", "method") or one.file in other_builds or one.name in ("_", "init"):
                continue
            if one.test and options.program != ALL:
                continue
            place = (one.file, one.line)
            names[place] = one.id
            if number not in search.reached:
                if not is_marker(graph, number):  # deadcode does not report them either
                    dead.add(place)
            elif number not in certain:
                uncertain.add(place)
    judged &= names.keys()
    right = dead & judged
    print(f"{options.program}: {len(names):,} functions in {len(search.packages):,} packages")
    print(
        f"  deadcode {len(judged):,}, golore {len(dead):,} dead and {len(uncertain):,} uncertain, {len(right):,} common"
    )
    print(f"  precision {len(right) / max(1, len(dead)):.4f}, recall {len(right) / max(1, len(judged)):.4f}")
    if options.list:
        for place in sorted(dead - judged):
            print(f"  only golore: {names[place]} {place[0]}:{place[1]}")
        for place in sorted(judged - dead):
            why = "uncertain" if place in uncertain else "reached"
            kind = ", marker" if place in markers else ""
            print(f"  only deadcode: {names[place]} {place[0]}:{place[1]} ({why}{kind})")


if __name__ == "__main__":
    main()
