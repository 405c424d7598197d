"""Compares the candidates of calls through interfaces with a call graph that was built from types and values.

    python benchmarks/candidates.py REPOSITORY golang.org/x/tools/cmd/stringer stringer.tsv --algorithm vta

The judge's file has a line for each call site and callee, separated by tabs: algorithm (`vta` or `rta` of
golang.org/x/tools/go/callgraph), file:line of the call, caller, interface method, callee, file:line of the callee.

Compared are distinct pairs of call site and callee, at the sites that the judge has, with callees in packages of the
program and of the repository. Prints recall and precision of plain class hierarchy and of golore's candidates.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from golore.graph.analysis.import_graph import imported, read_imports
from golore.graph.database.store import Store
from golore.graph.files.store_path import store_of
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import Steps, open_steps

Site = tuple[str, int, str]
"""File, line and name of the method."""
Place = tuple[str, int]


def judged_calls(root: Path, file: Path, algorithm: str) -> dict[Site, set[Place]]:
    found: defaultdict[Site, set[Place]] = defaultdict(set)
    for line in file.read_text().splitlines():
        by, site, _, method, _, callee = line.split("\t")
        place = _place(root, site)
        if by == algorithm and place is not None:
            callees = found[(*place, method.rpartition(".")[2])]
            target = _place(root, callee)
            if target is not None:
                callees.add(target)
    return found


def _place(root: Path, text: str) -> Place | None:
    path, _, line = text.rpartition(":")
    return (Path(path).relative_to(root).as_posix(), int(line)) if path and Path(path).is_relative_to(root) else None


def linked_packages(store: Store, program: str) -> set[str]:
    graph = read_imports(store)
    imports = imported(one for one in graph.imports if not one.test)
    pending = [id for id, entry in graph.packages.items() if entry.path == program and not entry.test]
    found: set[str] = set()
    while pending:
        package = pending.pop()
        if package not in found:
            found.add(package)
            pending += imports.get(package, ())
    return found


class Candidates:
    """The candidates of each interface method, as places of declarations: by class hierarchy, and golore's."""

    def __init__(self, steps: Steps, packages: set[str]) -> None:
        self._steps = steps
        self._types = InterfaceDispatch(steps)
        self._packages = packages
        self._known: dict[tuple[str, bool], tuple[set[Place], set[Place]]] = {}

    def of(self, id: str, *, external: bool) -> tuple[set[Place], set[Place]]:
        key = (id, external)
        if key not in self._known:
            method = self._steps.external(id) if external else self._steps.symbol(id)
            assert method is not None, id
            narrow, others = self._types.split(method)
            self._known[key] = (self._places(narrow | others), self._places(narrow))
        return self._known[key]

    def _places(self, methods: set[int]) -> set[Place]:
        refs = self._steps.refs(methods)
        return {(ref.file, ref.line) for ref in refs if ref.package in self._packages and ref.kind == "method"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("program", help="import path of its main package")
    parser.add_argument("judge", type=Path)
    parser.add_argument("--algorithm", default="vta", choices=("vta", "rta"))
    parser.add_argument("--judged", type=Path, help="the tree that the judge saw, if the repository is a copy of it")
    parser.add_argument("--list", action="store_true", help="list what is missed")
    options = parser.parse_args()
    root = options.repository.resolve()
    judged = judged_calls((options.judged or root).resolve(), options.judge, options.algorithm)
    with Store.open(store_of(root), write=False) as store:
        candidates = Candidates(open_steps(store), linked_packages(store, options.program))
        ours: defaultdict[Site, list[tuple[str, bool]]] = defaultdict(list)
        for label in ("Symbol", "External"):
            statement = (
                f"MATCH (a:Symbol)-[e:CALLS]->(b:{label}) WHERE b.kind = 'imethod' RETURN a.file, e.sites, b.name, b.id"
            )
            for file, sites, name, id in store.rows(statement):
                for line in sites.split():
                    ours[file, int(line), name].append((id, label == "External"))
        pairs = {name: set[tuple[Site, Place]]() for name in ("judge", "hierarchy", "golore")}
        for site, callees in judged.items():
            pairs["judge"] |= {(site, callee) for callee in callees}
            for id, external in ours.get(site, ()):
                for name, places in zip(("hierarchy", "golore"), candidates.of(id, external=external), strict=True):
                    pairs[name] |= {(site, place) for place in places}
    truth = pairs["judge"]
    print(f"{options.program}, {options.algorithm}: {len(judged):,} call sites, {len(truth):,} pairs")
    for name in ("hierarchy", "golore"):
        right = len(pairs[name] & truth)
        print(
            f"  {name}: {len(pairs[name]):,} pairs, recall {right / max(1, len(truth)):.4f}, "
            f"precision {right / max(1, len(pairs[name])):.4f}"
        )
    if options.list:
        for (file, line, name), callee in sorted(truth - pairs["golore"]):
            print(f"  missed: {file}:{line} {name} -> {callee[0]}:{callee[1]}")


if __name__ == "__main__":
    main()
