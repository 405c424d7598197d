"""Types of a program: what one declaration, or one type, contributes when it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

Awaits = Sequence[tuple[int, tuple[int, ...]]]
"""What is used only if one of some fields and variables is read, with these."""


class Role(IntEnum):
    """How Go runs a declaration without being told to. An initialiser is an `init` function or the value of a package
    variable."""

    NONE = 0
    TEST = 1
    TEST_MAIN = 2
    INITIALISER = 3


class Part(NamedTuple):
    """What a declaration uses. `runs`: what it calls. `holds`: functions and variables that it names as values.
    `types`: those that it names. `converts`: those of which it puts values into interfaces. `requires`: the interface
    methods that it calls or names as values. `reads`: the fields that it names, where something awaits them. `outside`:
    the external packages that it may hand values to (see `program.PRINTING`). `awaits`: what it uses only in functions
    that it stores, each with the fields and variables that it stores them in; these uses are not in the others."""

    runs: Sequence[int]
    holds: Sequence[int]
    types: Sequence[int]
    converts: Sequence[int]
    requires: Sequence[int]
    reads: Sequence[int]
    outside: frozenset[str]
    is_reflective: bool
    awaits: Awaits


class TypePart(NamedTuple):
    """The methods of a type that others may call without naming them.

    `methods`: by the interface method through which they are called. `outside`: those of external interfaces, each with
    the package of the interface.
    """

    methods: Mapping[int, int]
    outside: Sequence[tuple[str, int]]


class Onward(NamedTuple):
    """The parts of all declarations of a knot (see `knots`), for following many runs. `leads_to`: other knots that they
    certainly lead to. `reads`: the fields that they name and the variables among them, where something awaits these."""

    leads_to: Sequence[int]
    converts: Sequence[int]
    requires: Sequence[int]
    reads: Sequence[int]
    outside: frozenset[str]
    is_reflective: bool
    awaits: Awaits


class Goals(NamedTuple):
    """Declarations that a run is followed to, with what is known to lead to them. `places`: their knots."""

    numbers: frozenset[int]
    places: frozenset[int]


NO_PART: Final = Part((), (), (), (), (), (), frozenset(), False, ())
NO_TYPE_PART: Final = TypePart({}, ())


def leads_to(part: Part) -> Iterator[int]:
    """What a declaration certainly leads to, without initialisers."""
    yield from part.runs
    yield from part.types
    yield from part.holds


def is_fertile(part: Part) -> bool:
    """Whether more follows from a declaration than what it certainly leads to."""
    return bool(part.converts or part.requires or part.reads or part.outside or part.is_reflective or part.awaits)


def onward_of(parts: Iterable[Part], knots: Iterable[int], variables: Iterable[int]) -> Onward:
    """The parts of a knot, joined. `knots`: those that it leads to. `variables`: those in it that something awaits."""
    converts: dict[int, None] = {}
    requires: dict[int, None] = {}
    reads: dict[int, None] = dict.fromkeys(variables)
    awaits: dict[tuple[int, tuple[int, ...]], None] = {}
    outside: set[str] = set()
    is_reflective = False
    for part in parts:
        converts.update(dict.fromkeys(part.converts))
        requires.update(dict.fromkeys(part.requires))
        reads.update(dict.fromkeys(part.reads))
        awaits.update(dict.fromkeys(part.awaits))
        outside |= part.outside
        is_reflective = is_reflective or part.is_reflective
    return Onward(
        tuple(knots), tuple(converts), tuple(requires), tuple(reads), frozenset(outside), is_reflective, tuple(awaits)
    )


def with_reads(part: Part, awaited: Collection[int]) -> Part:
    """The part with only those fields that something awaits."""
    return part._replace(reads=tuple(one for one in part.reads if one in awaited)) if part.reads else part
