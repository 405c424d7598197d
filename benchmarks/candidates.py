"""Compares the candidates of calls through interfaces with a call graph that was built from types and values.

    python benchmarks/candidates.py REPOSITORY cmd/stringer stringer.tsv --algorithm vta

The judge's file has a line for each call site and callee, separated by tabs: algorithm (`vta` or `rta` of
golang.org/x/tools/go/callgraph), file:line of the call, caller, interface method, callee, file:line of the callee.

Compared are distinct pairs of call site and callee in the repository, at the sites that the judge has. Prints recall
and precision of plain class hierarchy, of the candidates that questions list, and of those of the program alone.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from golore.graph.analysis.program_candidates import ProgramDispatch
from golore.graph.database.store import Store
from golore.graph.files.store_path import store_of
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import open_steps

Site = tuple[str, int, str]
"""File, line and name of the method."""
Place = tuple[str, int]
NAMES = ("hierarchy", "repository", "program")


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


class Candidates:
    """The candidates of each interface method, as places of declarations: by class hierarchy, by the flow of types in
    the repository (`golore callees`), and by that in one program (`golore callees --program`)."""

    def __init__(self, store: Store, directory: str) -> None:
        self._steps = open_steps(store)
        self._types = InterfaceDispatch(self._steps)
        self._program = ProgramDispatch(store, directory)
        self._known: dict[tuple[str, bool], tuple[set[Place], ...]] = {}

    def of(self, id: str, *, external: bool) -> tuple[set[Place], ...]:
        key = (id, external)
        if key not in self._known:
            method = self._steps.external(id) if external else self._steps.symbol(id)
            assert method is not None, id
            listed, others = self._types.split(method)
            possible = {self._program.graph.declared[one].id for one in self._program.methods(id)}
            run = {one for one in listed if self._steps.ref(one).id in possible}
            self._known[key] = (self._places(listed | others), self._places(listed), self._places(run))
        return self._known[key]

    def _places(self, methods: set[int]) -> set[Place]:
        return {(ref.file, ref.line) for ref in self._steps.refs(methods) if ref.kind == "method"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("program", help="directory of its main package")
    parser.add_argument("judge", type=Path)
    parser.add_argument("--algorithm", default="vta", choices=("vta", "rta"))
    parser.add_argument("--judged", type=Path, help="the tree that the judge saw, if the repository is a copy of it")
    parser.add_argument("--list", action="store_true", help="list what the program's own candidates miss")
    options = parser.parse_args()
    root = options.repository.resolve()
    judged = judged_calls((options.judged or root).resolve(), options.judge, options.algorithm)
    with Store.open(store_of(root), write=False) as store:
        candidates = Candidates(store, options.program)
        called = interface_calls(store)
        files = {row[0] for row in store.rows("MATCH (f:File) RETURN f.path")}
        found = {name: set[tuple[Site, Place]]() for name in NAMES}
        for site in judged:
            for id, external in called.get(site, ()):
                for name, places in zip(NAMES, candidates.of(id, external=external), strict=True):
                    found[name] |= {(site, place) for place in places}
    # Vendored code is no part of the repository.
    truth = {(site, place) for site, callees in judged.items() if site[0] in files for place in callees}
    truth = {(site, place) for site, place in truth if place[0] in files}
    print(f"{options.program}, {options.algorithm}: {len(judged):,} call sites, {len(truth):,} pairs")
    for name, pairs in found.items():
        right = len(pairs & truth)
        recall, precision = right / max(1, len(truth)), right / max(1, len(pairs))
        print(f"  {name}: {len(pairs):,} pairs, recall {recall:.4f}, precision {precision:.4f}")
    if options.list:
        for (file, line, name), callee in sorted(truth - found["program"]):
            print(f"  missed: {file}:{line} {name} -> {callee[0]}:{callee[1]}")


def interface_calls(store: Store) -> dict[Site, list[tuple[str, bool]]]:
    """The interface methods that are called at each site: their ids, and whether they are external."""
    found: defaultdict[Site, list[tuple[str, bool]]] = defaultdict(list)
    for edge, label in (("CALLS", "Symbol"), ("CALLS", "External"), ("INVOKES", "External")):
        statement = (
            f"MATCH (a:Symbol)-[e:{edge}]->(b:{label}) WHERE b.kind = 'imethod' RETURN a.file, e.sites, b.name, b.id"
        )
        for file, sites, name, id in store.rows(statement):
            for line in sites.split():
                found[file, int(line), name].append((id, label == "External"))
    return found


if __name__ == "__main__":
    main()
