"""Chooses the tests that can reach a change, the most specific first.

A search against the direction of uses finds the tests that may reach it, generously. Each of them is then followed
forward (see `running`), which excludes most that cannot. That is bounded: tests that were not followed to the end stay
chosen. What runs before any test, such as `init`, is reached by all tests of the packages that import it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from golore.graph.analysis.import_graph import ImportGraph, read_imports
from golore.graph.changes.change_set import OtherChanges
from golore.graph.changes.program import Program
from golore.graph.changes.running import run_from
from golore.graph.database.store import Store
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import symbols_where
from golore.graph.queries.questions import TYPES
from golore.graph.queries.symbol_steps import Steps, open_steps

MOST_SEARCHED: Final = 60_000
"""Declarations after which the search against the direction of uses stops."""
MOST_FOLLOWED: Final = 150_000
"""Declarations that are visited by following tests forward, in total."""
_MOST_STARTED: Final = 200
_FAR: Final = 1_000
"""The distance of tests that run the change before they start, or of which only the package is known."""
_WITHOUT_CODE: Final = ("const", "field")


@dataclass(frozen=True, slots=True)
class ChosenTest:
    """A test to run. `distance`: the fewest uses between it and the change."""

    symbol: Ref
    distance: int


@dataclass(frozen=True, slots=True)
class TestSelection:
    """`is_exact`: every test was followed to the end; otherwise some may not reach the change."""

    __test__ = False

    tests: tuple[ChosenTest, ...]
    is_exact: bool = True


class _Found(NamedTuple):
    """Tests, `TestMain` functions and initialisers that may reach a change, with their distances."""

    tests: dict[int, int]
    mains: dict[int, int]
    initialisers: dict[int, int]
    is_complete: bool


def select_tests(
    store: Store,
    changed: Iterable[Ref],
    other: OtherChanges = OtherChanges(),  # noqa: B008  an immutable value
    *,
    benchmarks: bool = False,
    steps: Steps | None = None,
) -> TestSelection:
    """The tests that can reach one of the symbols, and those that depend on other files."""
    steps = steps or open_steps(store)
    program = Program(store, steps)
    goals = _with_code(steps, [steps.number(symbol) for symbol in changed])
    found = _search(program, goals)
    distances, is_exact = _followed(program, found, goals)
    tests = {steps.ref(number): distance for number, distance in distances.items()}
    for test in _tests_in(store, _started(store, program, found, goals, other)):
        tests.setdefault(test, _FAR)
    chosen = [ChosenTest(test, far) for test, far in tests.items() if benchmarks or not is_benchmark(test)]
    near = {_directory(symbol) for symbol in map(steps.ref, goals)}
    chosen.sort(key=lambda one: (one.distance, _directory(one.symbol) not in near, one.symbol.file, one.symbol.line))
    return TestSelection(tuple(chosen), is_exact and found.is_complete)


def is_benchmark(test: Ref) -> bool:
    return test.name.startswith("Benchmark")


def _with_code(steps: Steps, changed: list[int]) -> frozenset[int]:
    """The changed declarations; for constants and fields, which run nothing, also their users."""
    users = [
        user
        for number in changed
        if steps.kind(number) in _WITHOUT_CODE
        for user in steps.inbound(number, "REFERENCES")
    ]
    return frozenset([*changed, *users])


def _search(program: Program, goals: Collection[int]) -> _Found:
    """Go against the direction of uses until nothing new is found."""
    steps = program.steps
    tests: dict[int, int] = {}
    mains: dict[int, int] = {}
    initialisers: dict[int, int] = {}
    level, seen, distance = sorted(goals), set(goals), 0
    while level and len(seen) < MOST_SEARCHED:
        further: list[int] = []
        for number in level:
            kind = steps.kind(number)
            if kind == "func" and (symbol := steps.ref(number)).test and is_test_name(symbol.name):
                (mains if symbol.name == "TestMain" else tests)[number] = distance
            elif program.is_initialiser(number):
                initialisers[number] = distance
            for user in _users(program, number, kind):
                if user not in seen:
                    seen.add(user)
                    further.append(user)
        level, distance = further, distance + 1
    return _Found(tests, mains, initialisers, not level)


def _users(program: Program, number: int, kind: str) -> Iterator[int]:
    """What may reach a declaration in one step."""
    steps = program.steps
    yield from steps.inbound(number, "CALLS")
    yield from steps.inbound(number, "REFERENCES")
    if kind in TYPES:
        yield from steps.inbound(number, "EMBEDS")
    elif kind == "method":
        yield from _dispatching(program, number)
    elif kind == "func" and program.is_initialiser(number):
        # Values reach tests through the variables that an initialiser sets.
        reached = run_from(program, [number], most=_MOST_STARTED, early=True).reached
        yield from (held for one in reached for held in program.part(one).holds if steps.kind(held) == "var")


def _dispatching(program: Program, method: int) -> Iterator[int]:
    """The types whose values make a call of the method possible without naming it, or who makes such calls."""
    steps, dispatch = program.steps, program.dispatch
    types = dispatch.types_with(method)
    if any(steps.is_external(one) for type in types for one in steps.outbound(type, "IMPLEMENTS")):
        for type in types:
            yield from steps.inbound(type, "CONVERTS")
        return
    for required in dispatch.interface_methods(method):
        yield from steps.inbound(required, "CALLS")
    if steps.ref(method).name[:1].isupper():
        for type in types:
            yield from (user for user in steps.inbound(type, "REFERENCES") if program.part(user).is_reflective)


def _followed(program: Program, found: _Found, goals: Collection[int]) -> tuple[dict[int, int], bool]:
    """The tests that reach a goal, or of which that is not known because the limit was reached before."""
    mains = _by_directory(program.steps, found.mains)
    candidates = dict(found.tests)
    chosen: dict[int, int] = {}
    left, is_exact = MOST_FOLLOWED, True
    for number, distance in sorted(candidates.items(), key=lambda item: item[1]):
        starts = [number, *mains.get(_directory(program.steps.ref(number)), ())]
        running = run_from(program, starts, goals, left) if left > 0 else None
        if running is None or not running.is_complete:
            is_exact = False
        if running is None or running.has_goal or not running.is_complete:
            chosen[number] = distance
        left -= len(running.reached) if running is not None else 0
    return chosen, is_exact


def _started(store: Store, program: Program, found: _Found, goals: Collection[int], other: OtherChanges) -> set[str]:
    """The directories in which all tests reach the change, because it runs before any test."""
    own = {_directory(program.steps.ref(main)) for main in found.mains} | set(other.tested)
    shared = set(other.built)
    for number in found.initialisers:
        symbol = program.steps.ref(number)
        # The initialisers of test files are not part of the packages that others import.
        among = own if symbol.test else shared
        if _directory(symbol) not in among and _runs_early(program, number, goals):
            among.add(_directory(symbol))
    return own | (_importing(read_imports(store), shared) if shared else set())


def _runs_early(program: Program, initialiser: int, goals: Collection[int]) -> bool:
    if program.steps.kind(initialiser) == "var":
        # Only what reads a variable depends on its value; its initialiser matters to all by what it calls.
        return run_from(program, program.part(initialiser).runs, goals, early=True).has_goal
    return run_from(program, [initialiser], goals, early=True).has_goal


def _importing(graph: ImportGraph, directories: Iterable[str]) -> set[str]:
    """These directories, and those of the packages that import them, directly or not, or whose tests do."""
    users: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    for one in graph.imports:
        is_test = one.test or graph.packages[one.source].test
        users[graph.packages[one.target].dir, is_test].add(graph.packages[one.source].dir)
    found, pending = set[str](), list(directories)
    while pending:
        directory = pending.pop()
        if directory not in found:
            found.add(directory)
            pending += users[directory, False]
    return found.union(*(users[directory, True] for directory in found))


def _tests_in(store: Store, directories: Collection[str]) -> list[Ref]:
    if not directories:
        return []
    tests = symbols_where(store, "s.kind = 'func' AND s.file ENDS WITH '_test.go'")
    named = [test for test in tests if is_test_name(test.name) and test.name != "TestMain"]
    return [test for test in named if _directory(test) in directories]


def _by_directory(steps: Steps, numbers: Iterable[int]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number in numbers:
        found[_directory(steps.ref(number))].append(number)
    return found


def _directory(symbol: Ref) -> str:
    return symbol.file.rpartition("/")[0]
