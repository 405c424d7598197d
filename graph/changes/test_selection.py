"""Chooses the tests that can reach a change, the most specific first.

A search against the direction of uses finds the tests that may reach it, generously. They are then followed forward
(see `running`), which excludes most that cannot. That is bounded: tests that were not followed to the end stay chosen.
What runs before any test, such as `init`, is reached by all tests of the packages that import it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from golore.graph.analysis.import_graph import Importers, read_importers
from golore.graph.changes.change_set import OtherChanges
from golore.graph.changes.early_running import run_early
from golore.graph.changes.part import Role
from golore.graph.changes.program import Program
from golore.graph.changes.running import run_from
from golore.graph.database.store import Store
from golore.graph.model.test_names import is_test_name
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import by_location, symbol_columns, symbol_from
from golore.graph.queries.questions import TYPES
from golore.graph.queries.symbol_steps import Steps, open_steps

MOST_SEARCHED: Final = 60_000
"""Declarations after which the search against the direction of uses stops."""
MOST_FOLLOWED: Final = 60_000
"""Declarations that are visited by following tests forward, in total."""
_MOST_DOUBTFUL: Final = 3_000
"""With more tests that may reach a change, most do, and following all of them would take seconds."""
_TOGETHER: Final = 1_000
"""Tests that are followed together."""
_MOST_EARLY: Final = 1_000
_MOST_INITIALISERS: Final = 300
"""Initialisers that are followed, the nearest first. A change that more of them use is used almost everywhere."""
_MOST_STARTED: Final = 200
_MANY_FILES: Final = 300
"""Test files from which on it is quicker to look through all functions than to ask file by file."""
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
    """`is_exact`: every test was followed to the end; otherwise some may not reach the change. `is_complete`: the
    search for tests did not stop at its limit; otherwise others may reach the change, too."""

    __test__ = False

    tests: tuple[ChosenTest, ...]
    is_exact: bool = True
    is_complete: bool = True


class _Found(NamedTuple):
    """Tests, `TestMain` functions and initialisers that may reach a change, with their distances, and all that is
    between."""

    tests: dict[int, int]
    mains: dict[int, int]
    initialisers: dict[int, int]
    on_the_way: dict[int, int]
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
    for test in _tests_in(store, program, _started(store, program, found, goals, other)):
        tests.setdefault(test, _FAR)
    chosen = [ChosenTest(test, far) for test, far in tests.items() if benchmarks or not is_benchmark(test)]
    near = {_directory(symbol) for symbol in map(steps.ref, goals)}
    chosen.sort(key=lambda one: (one.distance, _directory(one.symbol) not in near, one.symbol.file, one.symbol.line))
    is_complete = found.is_complete and len(found.initialisers) <= _MOST_INITIALISERS
    return TestSelection(tuple(chosen), is_exact, is_complete)


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
    tests: dict[int, int] = {}
    mains: dict[int, int] = {}
    initialisers: dict[int, int] = {}
    level, seen, distance = sorted(goals), dict.fromkeys(goals, 0), 0
    while level and len(seen) < MOST_SEARCHED:
        further: list[int] = []
        for number in level:
            role = program.role(number)
            if role == Role.TEST:
                tests[number] = distance
            elif role == Role.TEST_MAIN:
                mains[number] = distance
            elif role == Role.INITIALISER:
                initialisers[number] = distance
            for user in _users(program, number):
                if user not in seen:
                    seen[user] = distance + 1
                    further.append(user)
        level, distance = further, distance + 1
    return _Found(tests, mains, initialisers, seen, not level)


def _users(program: Program, number: int) -> Iterator[int]:
    """What may reach a declaration in one step."""
    steps = program.steps
    kind = steps.kind(number)
    yield from steps.inbound(number, "CALLS")
    yield from steps.inbound(number, "REFERENCES")
    if kind in TYPES:
        yield from steps.inbound(number, "EMBEDS")
    elif kind == "method":
        yield from _dispatching(program, number)
    elif kind == "func" and program.role(number) == Role.INITIALISER:
        # Values reach tests through the variables that an initialiser sets.
        reached = run_early(program, [number], _MOST_STARTED).reached
        yield from program.set_early(reached)


def _dispatching(program: Program, method: int) -> Iterator[int]:
    """The types whose values make a call of the method possible without naming it, or who makes such calls."""
    steps, dispatch = program.steps, program.dispatch
    types = dispatch.types_with(method)
    if any(steps.is_external(one) for type in types for one in steps.outbound(type, "IMPLEMENTS")):
        for type in types:
            yield from steps.inbound(type, "CONVERTS")
        return
    for required in dispatch.interface_methods(method):
        yield from steps.callers_through(required)
        yield from steps.inbound(required, "REFERENCES")
    if steps.ref(method).name[:1].isupper():
        for type in types:
            yield from (user for user in steps.inbound(type, "REFERENCES") if program.part(user).is_reflective)


def _followed(program: Program, found: _Found, goals: Collection[int]) -> tuple[dict[int, int], bool]:
    """The tests that reach a goal, or of which that is not known because the limit was reached before."""
    mains = _by_directory(program.steps, found.mains)
    reached = program.goals(goals)
    chosen = {test for test in found.tests if test in reached.numbers}
    doubtful = sorted(found.tests.keys() - chosen)  # tests that are near each other have much in common
    if len(doubtful) > _MOST_DOUBTFUL:
        return dict(sorted(found.tests.items(), key=itemgetter(1))), False
    is_exact = True
    left = MOST_FOLLOWED
    for first in range(0, len(doubtful), _TOGETHER):
        some = doubtful[first : first + _TOGETHER]
        starts = [[test, *mains.get(_directory(program.steps.ref(test)), ())] for test in some]
        running = run_from(program, starts, reached, left)
        left -= running.visits
        chosen.update(some[at] for at in running.found | running.unknown)
        is_exact = is_exact and not running.unknown
    nearest_first = sorted(chosen, key=found.tests.__getitem__)
    return {test: found.tests[test] for test in nearest_first}, is_exact


def _started(store: Store, program: Program, found: _Found, goals: Collection[int], other: OtherChanges) -> set[str]:
    """The directories in which all tests reach the change, because it runs before any test."""
    own = {_directory(program.steps.ref(main)) for main in found.mains} | set(other.tested)
    shared = set(other.built)
    nearest_first = sorted(found.initialisers, key=found.initialisers.__getitem__)
    for number in nearest_first[:_MOST_INITIALISERS]:
        symbol = program.steps.ref(number)
        # The initialisers of test files are not part of the packages that others import.
        among = own if symbol.test else shared
        if _directory(symbol) not in among and _runs_early(program, found, number, goals):
            among.add(_directory(symbol))
    return own | (_importing(read_importers(store), shared) if shared else set())


def _runs_early(program: Program, found: _Found, initialiser: int, goals: Collection[int]) -> bool:
    starts = [initialiser]
    if program.steps.kind(initialiser) == "var":
        # Only what reads a variable depends on its value; its initialiser matters to all by what it calls.
        part = program.part(initialiser)
        starts = [*part.runs, *(held for held in part.holds if program.steps.kind(held) == "var")]
    return run_early(program, starts, _MOST_EARLY, goals, found.on_the_way).has_goal


def _importing(importers: Importers, directories: Iterable[str]) -> set[str]:
    """These directories, and those of the packages that import them, directly or not, or whose tests do."""
    found, pending = set[str](), list(directories)
    while pending:
        directory = pending.pop()
        if directory not in found:
            found.add(directory)
            pending += importers.get((directory, False), ())
    return found.union(*(importers.get((directory, True), ()) for directory in found))


def _tests_in(store: Store, program: Program, directories: Collection[str]) -> list[Ref]:
    if not directories:
        return []
    files = [path for path in _go_files(store) if path.endswith("_test.go") and path.rpartition("/")[0] in directories]
    if len(files) > _MANY_FILES:
        tests = program.tests()
    else:
        tests = [test for path in files for test in _functions_in(store, path)]
    named = [test for test in tests if is_test_name(test.name) and test.name != "TestMain"]
    return [test for test in named if _directory(test) in directories]


def _go_files(store: Store) -> list[str]:
    return sorted(path for (path,) in store.rows("MATCH (f:File) RETURN f.id"))


def _functions_in(store: Store, path: str) -> list[Ref]:
    statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) WHERE s.kind = 'func' RETURN {symbol_columns('s')}"
    return sorted(map(symbol_from, store.rows(statement, {"id": path})), key=by_location)


def _by_directory(steps: Steps, numbers: Iterable[int]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number in numbers:
        found[_directory(steps.ref(number))].append(number)
    return found


def _directory(symbol: Ref) -> str:
    return symbol.file.rpartition("/")[0]
