"""`TESTS` edges: from a test to the declarations of the package under test that it calls, directly or through helpers.

Only resolved calls count. If a test calls nothing in the package under test, the edges go to whatever else it calls in
the repository. The name of a test only adds evidence to the target that it is named after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Final

from golore.graph.model.entities import Edge
from golore.graph.model.test_names import TEST_NAME

MOST_HELPERS: Final = 200
"""Limit of declarations that are followed from one test."""


Calls = Mapping[str, Mapping[str, list[int]]]
"""The calls in test files: caller → callee → lines."""


def test_edges(
    tests: Mapping[str, str],
    calls: Calls,
    helpers: Set[str],
    subjects: Set[str],
    is_inside: Callable[[str, str], bool],
) -> list[Edge]:
    """The `TESTS` edges of these tests (id → name).

    `calls`: the calls of all declarations in test files that these tests reach. `helpers`: ids of all declarations in
    test files. `subjects`: ids of the declarations of the package under test. `is_inside(caller, target)`: whether a
    call goes to a declaration of the repository, not through an interface.
    """
    edges: list[Edge] = []
    for test, name in sorted(tests.items()):
        direct = calls.get(test, {})
        reached = _reach(test, calls, helpers)
        is_about_subjects = not subjects.isdisjoint(reached)
        for target in sorted(reached):
            if target in subjects if is_about_subjects else any(is_inside(by, target) for by in reached[target]):
                evidence = "call" if target in direct else "helper"
                if _is_named_after(name, target):
                    evidence += ", name"
                edges.append(Edge(test, target, tuple(sorted(set(direct.get(target, ())))), evidence))
    return edges


def _reach(test: str, calls: Calls, helpers: Set[str]) -> dict[str, list[str]]:
    """Targets that a test reaches and that are not helpers, each with the callers through which it is reached."""
    reached: dict[str, list[str]] = {}
    pending = [test]
    seen = {test}
    while pending and len(seen) < MOST_HELPERS:
        caller = pending.pop()
        further: list[str] = []
        for target in calls.get(caller, ()):
            if target not in helpers:
                reached.setdefault(target, []).append(caller)
            elif target not in seen:
                further.append(target)
        seen.update(further)
        pending += sorted(further)  # so that the result is the same in any order, also when the limit is reached
    return reached


def _is_named_after(test: str, target: str) -> bool:
    subject = TEST_NAME.sub("", test, count=1).strip("_")
    name = target.partition("@")[0].rpartition(".")[2]
    return bool(subject) and (subject.partition("_")[0].lower() == name.lower() or subject.endswith("_" + name))
