"""Which declarations a test exercises: what it calls in the package under test, itself or through helpers of the tests.

Resolved calls decide. A test that calls nothing of the package under test exercises what else it calls in the
repository; the name of a test only marks which of its targets it is named after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final

from golore.graph.model import Edge

_TEST_NAME: Final = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
MOST_HELPERS: Final = 200


def is_test_name(name: str) -> bool:
    return _TEST_NAME.match(name) is not None


def exercised(
    tests: Mapping[str, str],
    calls: Mapping[str, Mapping[str, list[int]]],
    helpers: Set[str],
    subjects: Set[str],
    inside: Set[str],
) -> list[Edge]:
    """Edges from each test (id → name) to what it exercises.

    `calls` are those of every declaration in test files, `helpers` their ids, `subjects` the declarations of the
    package under test, `inside` other callees that belong to the repository.
    """
    edges: list[Edge] = []
    for test, name in sorted(tests.items()):
        direct, reached = _reach(test, calls, helpers)
        wanted = subjects if not subjects.isdisjoint(reached) else inside
        for target in sorted(reached):
            if target in wanted:
                evidence = "call" if target in direct else "helper"
                if _is_named_after(name, target):
                    evidence += ", name"
                edges.append(Edge(test, target, tuple(direct.get(target, ())), evidence))
    return edges


def _reach(
    test: str, calls: Mapping[str, Mapping[str, list[int]]], helpers: Set[str]
) -> tuple[Mapping[str, list[int]], set[str]]:
    direct = calls.get(test, {})
    reached: set[str] = set()
    pending = [test]
    seen = {test}
    while pending and len(seen) < MOST_HELPERS:
        for target in calls.get(pending.pop(), {}):
            if target not in helpers:
                reached.add(target)
            elif target not in seen:
                seen.add(target)
                pending.append(target)
    return direct, reached


def _is_named_after(test: str, target: str) -> bool:
    subject = _TEST_NAME.sub("", test, count=1).strip("_")
    name = target.partition("@")[0].rpartition(".")[2]
    return bool(subject) and (subject.partition("_")[0].lower() == name.lower() or subject.endswith("_" + name))
