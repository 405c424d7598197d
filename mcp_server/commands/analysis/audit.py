"""`golore audit`: compares the graph with the results of the user's own Go type checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Symbol
from golore.learner.audit.comparison import (
    OurCall,
    OurEdges,
    OurImplements,
    OurUnresolved,
    as_json,
    compare,
    render_table,
)
from golore.learner.audit.go_judge import find_toolchain, judge_edges
from golore.learner.audit.use_comparison import OurUse
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.services.shown_learn import learn_with_progress
from golore.mcp_server.text.output import print_block, print_json

_Declaration = tuple[str, str, int]
"""Qualified name, file and line of a declaration."""


def run_audit(root: Path, *, gopath: Sequence[Path], json_wanted: bool) -> int:
    toolchain = find_toolchain()
    repository = LearnedRepository(root, store_of(root))
    learn_with_progress(repository)
    truth = judge_edges(root.resolve(), gopath=[path.resolve() for path in gopath], toolchain=toolchain)
    with Store.open(repository.store, write=False) as store:
        result = compare(truth, stored_edges(store))
    if json_wanted:
        print_json({"toolchain": toolchain.version, **as_json(result)})
    else:
        print_block(f"Compared with {toolchain.version}\n\n{render_table(result)}".removesuffix("\n"))
    return 0


def stored_edges(store: Store) -> OurEdges:
    """The files, calls, uses, implementations and unresolved uses of a store, as the comparison needs them."""
    rows = list(store.rows("MATCH (s:Symbol) RETURN s.id, s.qualified_name, s.file, s.line, s.kind"))
    declarations = {id: (name, file, line) for id, name, file, line, _ in rows}
    kinds = {id: kind for id, *_, kind in rows}
    kinds.update((id, kind) for id, kind in store.rows("MATCH (e:External) RETURN e.id, e.kind"))
    unresolved = store.rows("MATCH (u:Unresolved) RETURN u.file, u.name, u.reason, u.sites")
    return OurEdges(
        frozenset(path for (path,) in store.rows("MATCH (f:File) RETURN f.path")),
        tuple(_calls(store, declarations)),
        tuple(_implements(store, declarations)),
        tuple(OurUnresolved(file, name, reason, _lines(sites)) for file, name, reason, sites in unresolved),
        tuple(_uses(store, declarations, kinds)),
    )


def _calls(store: Store, declarations: dict[str, _Declaration]) -> Iterator[OurCall]:
    for label in ("Symbol", "External"):
        for edge in store.edges(EdgeKind("CALLS", Symbol.__name__, label)):
            caller, file, line = declarations[edge.source]
            yield OurCall(caller, file, line, *declarations.get(edge.target, (edge.target, "", 0)), edge.sites)


def _uses(store: Store, declarations: dict[str, _Declaration], kinds: dict[str, str]) -> Iterator[OurUse]:
    for label in ("Symbol", "External"):
        for edge in store.edges(EdgeKind("REFERENCES", Symbol.__name__, label)):
            if kinds[edge.source] in ("func", "method"):
                user, file, line = declarations[edge.source]
                target = declarations.get(edge.target, (edge.target, "", 0))
                yield OurUse(user, file, line, *target, kinds[edge.target], edge.sites, edge.access)


def _implements(store: Store, declarations: dict[str, _Declaration]) -> Iterator[OurImplements]:
    for label in ("Symbol", "External"):
        for edge in store.edges(EdgeKind("IMPLEMENTS", Symbol.__name__, label)):
            interface = declarations.get(edge.target, (edge.target, "", 0))
            yield OurImplements(*declarations[edge.source], *interface, edge.pointer)


def _lines(sites: str) -> tuple[int, ...]:
    return tuple(map(int, sites.split()))
