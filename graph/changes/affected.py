"""What a change affects: the code that uses it, by distance, the tests to run, and what else to look at.

Answers come from the learned graph alone; the change itself comes from `learner.changes`. Which API changes break
others is a question of its own (see `broken_users`) and is only carried along here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from golore.graph.changes.broken_users import BreakingChange
from golore.graph.changes.change_set import ChangeSet, FileChange, OtherChanges
from golore.graph.changes.changed_symbols import (
    ChangedDeclaration,
    changed_symbols,
    embedding_symbols,
    users_of_removed,
)
from golore.graph.changes.described import Companion, Description, companions, descriptions
from golore.graph.changes.nearby_files import NearbyFile, nearby_files
from golore.graph.changes.test_commands import test_commands
from golore.graph.changes.test_selection import TestSelection, select_tests
from golore.graph.database.store import Store
from golore.graph.queries.answers import Reached, Ref
from golore.graph.queries.impact import users_of_all
from golore.graph.queries.interface_dispatch import InterfaceDispatch
from golore.graph.queries.symbol_steps import Steps, open_steps

DEPTH: Final = 3
MOST_REACHED: Final = 2_000


@dataclass(frozen=True, slots=True)
class AffectedLimits:
    """`top`: the most tests to choose; none means all. `benchmarks`: choose benchmarks, too."""

    depth: int = DEPTH
    reached: int = MOST_REACHED
    top: int | None = None
    benchmarks: bool = False


@dataclass(frozen=True, slots=True)
class Affected:
    """What a change affects. `base` and `target` name the two states.

    `resolved` and `candidates` are users of what changed, without tests: candidates may use it through an interface.
    `nearby` are the files outside the change to look at, best first. `packages` are the import paths of the changed and
    the reached code. `tests_left_out`: how many tests `top` cut off. `is_complete`: the search for users did not stop
    at a limit. `breaking` and `uncertain` are changes of exported API.
    """

    base: str
    target: str
    files: tuple[FileChange, ...]
    changed: tuple[ChangedDeclaration, ...]
    resolved: tuple[Reached, ...]
    candidates: tuple[Reached, ...]
    nearby: tuple[NearbyFile, ...]
    packages: tuple[str, ...]
    tests: TestSelection
    tests_left_out: int
    commands: tuple[str, ...]
    descriptions: tuple[Description, ...]
    companions: tuple[Companion, ...]
    is_complete: bool
    breaking: tuple[BreakingChange, ...] = ()
    uncertain: tuple[BreakingChange, ...] = ()

    @property
    def has_changes(self) -> bool:
        return bool(self.files)


def affected_by(
    store: Store,
    changes: ChangeSet,
    other: OtherChanges = OtherChanges(),  # noqa: B008  an immutable value
    limits: AffectedLimits = AffectedLimits(),  # noqa: B008  an immutable value
    steps: Steps | None = None,
) -> Affected:
    """What the change affects, without breaking changes."""
    steps = steps or open_steps(store)
    changed = changed_symbols(store, changes.declarations)
    symbols = _unique([*(symbol for one in changed for symbol in one.symbols), *embedding_symbols(store, other)])
    reached, is_complete = users_of_all(store, steps, InterfaceDispatch(steps), symbols, limits.depth, limits.reached)
    broken = users_of_removed(store, changes.declarations)
    reached += [Reached(user, 1, False, "unresolved use of", name) for name, user in broken if user not in symbols]
    users = [one for one in reached if not one.symbol.test]
    starts = _unique([*symbols, *(user for _, user in broken)])
    tests = select_tests(store, starts, other, benchmarks=limits.benchmarks, steps=steps)
    shown = replace(tests, tests=tests.tests[: limits.top])
    paths = [file.path for file in changes.files]
    return Affected(
        changes.base,
        changes.target,
        changes.files,
        changed,
        tuple(one for one in users if one.certain),
        tuple(one for one in users if not one.certain),
        nearby_files(store, paths, users, tests.tests),
        tuple(sorted({symbol.package for symbol in [*symbols, *(one.symbol for one in users)]})),
        shown,
        len(tests.tests) - len(shown.tests),
        test_commands(store, [test.symbol for test in shown.tests]),
        descriptions(store, [symbol.id for symbol in symbols], paths),
        companions(store, paths),
        is_complete,
    )


def _unique(symbols: Iterable[Ref]) -> list[Ref]:
    return list({symbol.id: symbol for symbol in symbols}.values())
