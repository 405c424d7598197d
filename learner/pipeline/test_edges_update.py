"""`TESTS` edges after an edit of some test files, made from those files and from the stored calls of the others.

A test may call helpers in other files, so an edited file can also change the edges of tests in other files of its
package, if these reach its declarations. All calls of unedited files are in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from golore.graph.database.store import Store
from golore.graph.database.subgraph import Subgraph, read_edges_at, read_nodes
from golore.graph.model.entities import Edge, Package, Symbol
from golore.learner.pipeline.graph_rows import TESTS, Testing
from golore.learner.pipeline.test_edges import test_edges


def update_test_edges(store: Store, testing: Testing) -> tuple[Subgraph, Subgraph]:
    """The stored and the new `TESTS` edges of every test that the edited files can affect."""
    affected = _callers_of_edited(store, testing)
    tests = {id: name for id, name in testing.tests.items() if id in affected}
    old, new = Subgraph(), Subgraph()
    for kind, edge in read_edges_at(store, "TESTS", "source", sorted(tests)):
        old.edges[kind].append(edge)
    new.edges[TESTS] += _exercised(store, testing, tests)
    return old, new


def _exercised(store: Store, testing: Testing, tests: Mapping[str, str]) -> list[Edge]:
    calls, beyond = _calls_from(store, testing, tests)
    return test_edges(
        tests, calls, testing.helpers, testing.subjects, lambda caller, target: (caller, target) not in beyond
    )


def _callers_of_edited(store: Store, testing: Testing) -> set[str]:
    """Ids of the declarations in edited test files, and of those in other test files of the package that call them,
    directly or not."""
    found = set(testing.calls)
    pending = sorted(found)
    while pending:
        edges = read_edges_at(store, "CALLS", "target", pending)
        # Calls from an external test package are not followed: what helpers of this package call counts only for the
        # tests of this package.
        callers = {edge.source for _, edge in edges if edge.source in testing.test_declarations}
        pending = sorted(callers - found)
        found |= callers
    return found


def _calls_from(
    store: Store, testing: Testing, tests: Iterable[str]
) -> tuple[dict[str, dict[str, list[int]]], set[tuple[str, str]]]:
    """All calls that these tests reach, and those of them whose target is external or an interface method."""
    calls = dict(testing.calls)
    beyond = set(testing.external_calls)
    pending = sorted(tests)
    seen = set(pending)
    while pending:
        unread = [id for id in pending if id not in calls and id in testing.test_declarations]
        calls.update((id, {}) for id in unread)
        for kind, edge in read_edges_at(store, "CALLS", "source", unread):
            calls[edge.source][edge.target] = list(edge.sites)
            if kind.target == "External" or edge.evidence == "interface":
                beyond.add((edge.source, edge.target))
        pending = sorted(
            {target for id in pending for target in calls.get(id, ()) if target in testing.test_declarations} - seen
        )
        seen.update(pending)
    return calls, beyond


def exercised_elsewhere(store: Store, rows: Subgraph, testing: Testing) -> dict[str, list[tuple[str, str]]]:
    """Edited file → what its tests exercise in other files, as pairs of file and name, one pair for each test."""
    files = {row.id: row.file for row in rows.nodes["Symbol"] if isinstance(row, Symbol)}
    edges = _exercised(store, testing, {id: name for id, name in testing.tests.items() if id in files})
    symbols = read_nodes(store, "Symbol", (edge.target for edge in edges))
    targets = {row.id: row for row in symbols if isinstance(row, Symbol)}
    packages = read_nodes(store, "Package", {row.package for row in targets.values()})
    starts = {row.id: len(row.path) + 1 for row in packages if isinstance(row, Package)}
    found: dict[str, list[tuple[str, str]]] = {}
    for edge in edges:
        target = targets[edge.target]
        if target.file != files[edge.source]:
            name = target.qualified_name[starts[target.package] :]
            found.setdefault(files[edge.source], []).append((target.file, name))
    return found
