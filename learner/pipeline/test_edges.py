"""Which declarations a test exercises: what it calls in the package under test, itself or through helpers of the tests.

Resolved calls decide. A test that calls nothing of the package under test exercises what else it calls in the
repository; the name of a test only marks which of its targets it is named after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Final

from golore.graph.model.entities import Edge

_TEST_NAME: Final = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
MOST_HELPERS: Final = 200


def is_test_name(name: str) -> bool:
    return _TEST_NAME.match(name) is not None


Calls = Mapping[str, Mapping[str, list[int]]]
"""What declarations of test files call: callee → lines, by caller."""


def exercised(
    tests: Mapping[str, str],
    calls: Calls,
    helpers: Set[str],
    subjects: Set[str],
    is_inside: Callable[[str, str], bool],
) -> list[Edge]:
    """Edges from each test (id → name) to what it exercises.

    `calls` are those of the declarations in test files, as far as these tests reach; `helpers` are the ids of all of
    them, `subjects` the declarations of the package under test. `is_inside` tells of a call, by its two ends, whether
    it goes to a declaration of the repository.
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
    """What a test calls that is no helper, and who of those that it runs through calls it."""
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
        pending += sorted(further)  # where there are too many to follow, it must not matter how they were found
    return reached


def _is_named_after(test: str, target: str) -> bool:
    subject = _TEST_NAME.sub("", test, count=1).strip("_")
    name = target.partition("@")[0].rpartition(".")[2]
    return bool(subject) and (subject.partition("_")[0].lower() == name.lower() or subject.endswith("_" + name))
