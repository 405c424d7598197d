"""Chooses the tests that can reach a change, the most specific first.

A search against the direction of uses finds the tests that may reach it, generously. They are then followed forward
(see `running`), which excludes most that cannot. That is bounded: tests that were not followed to the end stay chosen.
What runs before any test, such as `init`, is reached by all tests of the packages that import it.
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
from golore.graph.queries.edges import by_location, symbol_columns, symbol_from, symbols_where
from golore.graph.queries.questions import TYPES
from golore.graph.queries.symbol_steps import Steps, open_steps

MOST_SEARCHED: Final = 60_000
"""Declarations after which the search against the direction of uses stops."""
MOST_FOLLOWED: Final = 60_000
"""Declarations that are visited by following tests forward, in total."""
_MOST_STRAIGHT: Final = 1_000
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
    for test in _tests_in(store, _started(store, program, found, goals, other)):
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
    steps = program.steps
    tests: dict[int, int] = {}
    mains: dict[int, int] = {}
    initialisers: dict[int, int] = {}
    level, seen, distance = sorted(goals), dict.fromkeys(goals, 0), 0
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
                    seen[user] = distance + 1
                    further.append(user)
        level, distance = further, distance + 1
    return _Found(tests, mains, initialisers, seen, not level)


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
        yield from steps.callers_through(required)
    if steps.ref(method).name[:1].isupper():
        for type in types:
            yield from (user for user in steps.inbound(type, "REFERENCES") if program.part(user).is_reflective)


def _followed(program: Program, found: _Found, goals: Collection[int]) -> tuple[dict[int, int], bool]:
    """The tests that reach a goal, or of which that is not known because the limit was reached before."""
    follower = _Follower(program, found, goals)
    nearest_first = sorted(found.tests, key=found.tests.__getitem__)
    # Most tests that reach a goal do so by calls alone, which is quick to see.
    doubtful = [test for test in nearest_first if not follower.is_straight(test)]
    chosen = (set(nearest_first) - set(doubtful)) | follower.chosen_of(doubtful)
    return {test: found.tests[test] for test in nearest_first if test in chosen}, follower.is_exact


class _Follower:
    """Follows tests forward, up to a limit for all of them together."""

    def __init__(self, program: Program, found: _Found, goals: Collection[int]) -> None:
        self._program = program
        self._towards = found.on_the_way
        self._goals = goals
        self._mains = _by_directory(program.steps, found.mains)
        self._left = MOST_FOLLOWED
        self.is_exact = True

    def is_straight(self, test: int) -> bool:
        """Whether the test reaches a goal by what is certainly on the way."""
        if self._left <= 0:
            return False
        running = run_from(
            self._program, self._starts([test]), self._goals, self._towards, _MOST_STRAIGHT, straight=True
        )
        self._left -= len(running.reached)
        return running.has_goal

    def chosen_of(self, tests: list[int]) -> set[int]:
        """Those of the tests that reach a goal. If all of them together do not, none does."""
        if not tests:
            return set()
        if self._left <= 0:
            self.is_exact = False
            return set(tests)
        running = run_from(self._program, self._starts(tests), self._goals, self._towards, self._left)
        self._left -= len(running.reached)
        if not running.is_complete:
            self.is_exact = False
            return set(tests)
        if not running.has_goal or len(tests) == 1:
            return set(tests) if running.has_goal else set()
        half = len(tests) // 2
        return self.chosen_of(tests[:half]) | self.chosen_of(tests[half:])

    def _starts(self, tests: list[int]) -> list[int]:
        directories = {_directory(self._program.steps.ref(test)) for test in tests}
        return [*tests, *(main for directory in directories for main in self._mains.get(directory, ()))]


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
    return own | (_importing(read_imports(store), shared) if shared else set())


def _runs_early(program: Program, found: _Found, initialiser: int, goals: Collection[int]) -> bool:
    starts = [initialiser]
    if program.steps.kind(initialiser) == "var":
        # Only what reads a variable depends on its value; its initialiser matters to all by what it calls.
        part = program.part(initialiser)
        starts = [*part.runs, *(held for held in part.holds if program.steps.kind(held) == "var")]
    return run_from(program, starts, goals, found.on_the_way, _MOST_STRAIGHT, early=True).has_goal


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
    files = [path for path in _go_files(store) if path.endswith("_test.go") and path.rpartition("/")[0] in directories]
    if len(files) > _MANY_FILES:
        tests = symbols_where(store, "s.kind = 'func' AND s.file ENDS WITH '_test.go'")
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
