"""Which entries of the program file are out of date, because the graph changed after it was built.

The part of a declaration follows from its own edges. That of a type also follows from the interfaces that it satisfies
and the types that it embeds, and the initialisers of a variable from who calls what. An entry that may be out of date
is read from the graph again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from golore.graph.changes.knots import NO_KNOT
from golore.graph.changes.part import Part, leads_to
from golore.graph.changes.program_file import ProgramFile
from golore.graph.changes.unresolved_candidates import unresolved_candidates
from golore.graph.database.store import Store
from golore.graph.queries.adjacency_file import Adjacency
from golore.graph.queries.questions import CALLABLE, TYPES
from golore.graph.queries.symbol_steps import Steps
from golore.graph.queries.unnamed_interfaces import is_unnamed, methods_of

_SHAPE: Final = ("CONTAINS", "EMBEDS", "IMPLEMENTS")
_USES: Final = ("CALLS", "REFERENCES", "EMBEDS")
_MOST_CALLERS: Final = 300
_MOST_CALLED: Final = 5_000


class ProgramDrift(NamedTuple):
    """Numbers of entries that are out of date.

    `knots`: those whose entries are. `untied`: those that may be knots no longer. `fertile`: what may be barren no
    longer. `gone`: nodes that were removed at some time. `awaited`: fields and variables that something awaits now.
    """

    is_empty: bool = True
    parts: frozenset[int] = frozenset()
    knots: frozenset[int] = frozenset()
    untied: frozenset[int] = frozenset()
    fertile: frozenset[int] = frozenset()
    types: frozenset[int] = frozenset()
    variables: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    awaited: frozenset[int] = frozenset()
    has_valid_unnamed: bool = True

    def without_gone(self, part: Part) -> Part:
        """The part without nodes that were removed: the change log does not always list their edges."""
        if not self.gone:
            return part
        return part._replace(
            runs=self._left(part.runs),
            holds=self._left(part.holds),
            types=self._left(part.types),
            converts=self._left(part.converts),
            requires=self._left(part.requires),
            reads=self._left(part.reads),
        )

    def _left(self, numbers: Sequence[int]) -> list[int]:
        return [one for one in numbers if one not in self.gone]


NO_DRIFT: Final = ProgramDrift()
_last: Final[dict[Path, tuple[str, str, ProgramDrift]]] = {}
"""The drift of each store, with the generations of its adjacency file and its graph."""


class Rules(Protocol):
    """What the graph says of declarations, as it is."""

    def read_part(self, number: int) -> Part: ...

    def find_initialisers(self, variable: int) -> Iterator[int]: ...


def program_drift(store: Store, steps: Steps, file: ProgramFile, rules: Rules) -> ProgramDrift:
    adjacency, generation = steps.adjacency, store.generation
    if adjacency is None or file.generation == generation:
        return NO_DRIFT
    built_from, valid_for, drift = _last.get(store.directory, ("", "", NO_DRIFT))
    if (built_from, valid_for) != (file.generation, generation):
        drift = _find_drift(store, steps, adjacency, file, rules)
        _last[store.directory] = (file.generation, generation, drift)
    return drift


def _find_drift(store: Store, steps: Steps, adjacency: Adjacency, file: ProgramFile, rules: Rules) -> ProgramDrift:
    changed, gone, new = steps.drift
    parts = set(changed)
    for number in changed - gone:
        if steps.kind(number) != adjacency.kind(number):
            parts.update(user for label in _USES for user in adjacency.neighbours(number, f"{label}<"))
    before, after = file.candidates(), unresolved_candidates(store, steps)
    parts.update(one for one in before.keys() | after.keys() if before.get(one) != after.get(one))
    added = [number for id in sorted(new) if (number := steps.symbol(id)) is not None]
    read = [rules.read_part(one) for one in (*(parts - gone), *added)]
    awaited = {place for part in read for _, places in part.awaits for place in places} - file.awaited()
    awaited = {place for place in awaited if place < adjacency.total}
    parts |= awaited
    parts.update(user for place in awaited for user in adjacency.neighbours(place, "REFERENCES<"))
    parts = {one for one in parts if one < adjacency.total}
    shapes = [one for one in changed if adjacency.kind(one) in TYPES and _has_other_shape(steps, adjacency, one)]
    variables = _variables(steps, adjacency)
    fertile = _fertile(file, parts | variables)
    tied = {one for one in parts | variables if file.knots[one] != NO_KNOT}
    untied = {file.knots[one] for one in tied if one in gone or _loosens(file, one, rules)}
    moved = fertile.union(gone, *map(file.members, untied))
    return ProgramDrift(
        False,
        frozenset(parts),
        frozenset(file.knots[one] for one in tied.union(*map(file.leading, moved))),
        frozenset(untied),
        frozenset(fertile),
        frozenset(changed | _types_on(adjacency, shapes)),
        frozenset(variables),
        gone,
        frozenset(awaited),
        not _may_change_unnamed(adjacency, changed, new),
    )


def _fertile(file: ProgramFile, changed: Iterable[int]) -> set[int]:
    """What is barren by the file, and changed or leads to what did."""
    found: set[int] = set()
    pending = [one for one in changed if file.knots[one] == NO_KNOT]
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += [one for one in file.leading(number) if file.knots[one] == NO_KNOT]
    return found


def _loosens(file: ProgramFile, number: int, rules: Rules) -> bool:
    """Whether a member of a knot leads no longer to all that it led to."""
    if len(file.members(file.knots[number])) == 1:
        return False
    now = {*leads_to(rules.read_part(number)), *rules.find_initialisers(number)}
    return not now.issuperset((*leads_to(file.part(number)), *file.initialisers(number)))


def _has_other_shape(steps: Steps, adjacency: Adjacency, type: int) -> bool:
    if type in steps.drift.gone:
        return True
    return any(set(steps.outbound(type, label)) != set(adjacency.neighbours(type, f"{label}>")) for label in _SHAPE)


def _types_on(adjacency: Adjacency, types: Iterable[int]) -> set[int]:
    """The types of the file that satisfy or embed one of these, directly or not."""
    found: set[int] = set()
    pending = list(types)
    while pending:
        type = pending.pop()
        users = {*adjacency.neighbours(type, "EMBEDS<"), *adjacency.neighbours(type, "IMPLEMENTS<")} - found
        found |= users
        pending += users
    return found


def _variables(steps: Steps, adjacency: Adjacency) -> set[int]:
    """The variables whose initialisers may be others, because an initialiser may call other functions."""
    changed, gone, new = steps.drift
    pending: list[int] = []
    added = [number for id in sorted(new) if (number := steps.symbol(id)) is not None]
    for number in [*sorted(changed), *added]:
        before = adjacency.neighbours(number, "CALLS>") if number < adjacency.total else []
        after: Sequence[int] = () if number in gone else steps.outbound(number, "CALLS")
        other = set(before).symmetric_difference(after)
        if other and (number in gone or _may_be_initialiser(steps, number)):
            pending += [one for one in other if one < adjacency.total]
    seen: set[int] = set()
    while pending:
        number = pending.pop()
        if number not in seen:
            seen.add(number)
            pending += adjacency.neighbours(number, "CALLS>")
            if len(seen) > _MOST_CALLED:
                return {one for one in range(adjacency.symbols) if adjacency.kind(one) == "var"}
    labels = ("REFERENCES>", "SETS>")
    named = {one for number in seen for label in labels for one in adjacency.neighbours(number, label)}
    return {one for one in named | changed if adjacency.kind(one) == "var"}


def _may_be_initialiser(steps: Steps, number: int) -> bool:
    """Whether an `init` function or the value of a variable runs it."""
    level, seen = [number], {number}
    while level:
        further: list[int] = []
        for one in level:
            kind = steps.kind(one)
            if kind == "var" or (kind in CALLABLE and steps.ref(one).name == "init"):
                return True
            further += steps.inbound(one, "CALLS")
        level = [one for one in dict.fromkeys(further) if one not in seen]
        seen.update(level)
        if len(seen) > _MOST_CALLERS:
            return True
    return False


def _may_change_unnamed(adjacency: Adjacency, changed: Iterable[int], new: Iterable[str]) -> bool:
    """Whether methods of unnamed interfaces, or methods that fit them, changed."""
    externals = map(adjacency.id, range(adjacency.symbols, adjacency.total))
    names = {name.rpartition(".")[2] for id in externals if is_unnamed(id) for name in methods_of(id)}
    ids = [*map(adjacency.id, changed), *new]
    return any(is_unnamed(id) or id.rpartition(".")[2] in names for id in ids)
