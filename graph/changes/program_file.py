"""The program file: the parts of a program (see `program`) of all declarations, memory-mapped.

To read the part of one declaration from the graph takes 10 to 200 microseconds, and a test may run a hundred thousand.
Numbers are those of the adjacency file from which it was built; it is valid only together with that file. What changed
in the graph since then is decided by `program_drift`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.changes.knots import NO_KNOT
from golore.graph.changes.part import NO_PART, NO_TYPE_PART, Awaits, Onward, Part, Role, TypePart, leads_to, onward_of
from golore.graph.files.mapped_sections import MappedSections, open_sections, write_sections
from golore.graph.files.store_path import PROGRAM_NAME

_FORMAT: Final = "golore program 1"
_REFLECTIVE: Final = 1 << 31
_HEAD: Final = 7
"""The numbers before the lists of a part: six lengths, and the index of its packages."""
_ONWARD_HEAD: Final = 5
"""The numbers before the lists of a knot: four lengths, and the index of its packages."""


class ProgramFile:
    """A mapped file."""

    def __init__(self, sections: MappedSections) -> None:
        self.generation: Final[str] = sections.head["generation"]
        self._packages: list[str] = sections.head["packages"]
        self._outside: list[frozenset[str]] = [frozenset(one) for one in sections.head["outside"]]
        self._part_starts, self._parts = sections.numbers("part starts"), sections.numbers("parts")
        self._type_starts, self._types = sections.numbers("type starts"), sections.numbers("types")
        self._onward_starts, self._onward = sections.numbers("onward starts"), sections.numbers("onward")
        self._leading_starts, self._leading = sections.numbers("leading starts"), sections.numbers("leading")
        self._member_starts, self._members = sections.numbers("member starts"), sections.numbers("members")
        self.knots: Final = sections.numbers("knots")
        """For each node its knot, or `NO_KNOT` if it is barren."""
        self.total_knots: Final = len(self._member_starts) - 1
        self._awaited, self._reflective = sections.numbers("awaited"), sections.numbers("reflective")
        self._candidates = sections.numbers("candidates")
        self._unnamed = sections.numbers("unnamed")
        self.roles: Final = sections.bytes_of("roles")
        self._first, self._initialisers = sections.numbers("initialiser starts"), sections.numbers("initialisers")

    def part(self, number: int) -> Part:
        start, end = self._part_starts[number], self._part_starts[number + 1]
        if start == end:
            return NO_PART
        row: list[int] = self._parts[start:end].tolist()
        holds = _HEAD + row[0]
        types = holds + row[1]
        converts = types + row[2]
        requires = converts + row[3]
        reads = requires + row[4]
        awaits = reads + row[5]
        packages = row[6]
        return Part(
            row[_HEAD:holds],
            row[holds:types],
            row[types:converts],
            row[converts:requires],
            row[requires:reads],
            row[reads:awaits],
            self._outside[packages & ~_REFLECTIVE],
            packages >= _REFLECTIVE,
            _awaits_in(row, awaits),
        )

    def onward(self, knot: int) -> Onward:
        row: list[int] = self._onward[self._onward_starts[knot] : self._onward_starts[knot + 1]].tolist()
        converts = _ONWARD_HEAD + row[0]
        requires = converts + row[1]
        reads = requires + row[2]
        awaits = reads + row[3]
        packages = row[4]
        return Onward(
            row[_ONWARD_HEAD:converts],
            row[converts:requires],
            row[requires:reads],
            row[reads:awaits],
            self._outside[packages & ~_REFLECTIVE],
            packages >= _REFLECTIVE,
            _awaits_in(row, awaits),
        )

    def members(self, knot: int) -> list[int]:
        return self._members[self._member_starts[knot] : self._member_starts[knot + 1]].tolist()

    def leading(self, number: int) -> list[int]:
        """What leads to a declaration."""
        return self._leading[self._leading_starts[number] : self._leading_starts[number + 1]].tolist()

    def type_part(self, number: int) -> TypePart:
        start, end = self._type_starts[number], self._type_starts[number + 1]
        if start == end:
            return NO_TYPE_PART
        row: list[int] = self._types[start:end].tolist()
        outside = 1 + 2 * row[0]
        packages = self._packages
        return TypePart(
            dict(zip(row[1:outside:2], row[2:outside:2], strict=True)),
            tuple((packages[at], method) for at, method in zip(row[outside::2], row[outside + 1 :: 2], strict=True)),
        )

    def awaited(self) -> frozenset[int]:
        """The fields and variables that something awaits."""
        return frozenset(self._awaited)

    def reflective(self) -> list[int]:
        """The declarations that may call methods by their names."""
        return self._reflective.tolist()

    def candidates(self) -> dict[int, list[int]]:
        """The candidates of unresolved uses, which are in the parts, too."""
        row: list[int] = self._candidates.tolist()
        found: dict[int, list[int]] = {}
        for user, target in zip(row[::2], row[1::2], strict=True):
            found.setdefault(user, []).append(target)
        return found

    def unnamed(self) -> dict[int, dict[int, int]]:
        """For each type, its methods by the methods of unnamed interfaces."""
        row: list[int] = self._unnamed.tolist()
        found: dict[int, dict[int, int]] = {}
        for type, required, method in zip(row[::3], row[1::3], row[2::3], strict=True):
            found.setdefault(type, {})[required] = method
        return found

    def tests(self) -> list[int]:
        roles = bytes(self.roles)
        test = bytes((Role.TEST,))
        found: list[int] = []
        at = roles.find(test)
        while at >= 0:
            found.append(at)
            at = roles.find(test, at + 1)
        return found

    def initialisers(self, number: int) -> list[int]:
        return self._initialisers[self._first[number] : self._first[number + 1]].tolist()


def open_program_file(directory: Path, generation: str) -> ProgramFile | None:
    """Map the program file of a store; None if it is missing, unreadable or not for this generation of the adjacency
    file."""
    sections = open_sections(directory / PROGRAM_NAME, _FORMAT)
    try:
        if sections is None or sections.head["generation"] != generation:
            return None
        return ProgramFile(sections)
    except (ValueError, KeyError, TypeError):
        return None


class Contents(NamedTuple):
    """What a program file is made of. Lists have one entry for each node, by number."""

    parts: Sequence[Part]
    types: Mapping[int, TypePart]
    initialisers: Mapping[int, Sequence[int]]
    unnamed: Mapping[int, Mapping[int, int]]
    candidates: Mapping[int, Sequence[int]]
    leading: Sequence[Sequence[int]]
    knots: Sequence[Sequence[int]]
    roles: bytes
    awaited: frozenset[int]


def write_program_file(directory: Path, generation: str, contents: Contents) -> None:
    outside = _Indexes()
    packages = _Indexes()
    every = range(len(contents.parts))
    knot_of = array("I", [NO_KNOT]) * len(contents.parts)
    for knot, members in enumerate(contents.knots):
        for member in members:
            knot_of[member] = knot
    sections: dict[str, bytes] = {}
    for name, starts, lists in (
        ("parts", "part starts", [_part_row(part, outside) for part in contents.parts]),
        ("members", "member starts", contents.knots),
        ("onward", "onward starts", [_onward_row(contents, members, knot_of, outside) for members in contents.knots]),
        ("leading", "leading starts", contents.leading),
        ("types", "type starts", [_type_row(contents.types.get(number, NO_TYPE_PART), packages) for number in every]),
        ("initialisers", "initialiser starts", [contents.initialisers.get(number, ()) for number in every]),
    ):
        sections[starts], sections[name] = _joined(lists)
    triples = ((type, *pair) for type, methods in contents.unnamed.items() for pair in methods.items())
    sections["unnamed"] = array("I", (number for triple in triples for number in triple)).tobytes()
    pairs = ((user, target) for user, targets in contents.candidates.items() for target in targets)
    sections["candidates"] = array("I", (number for pair in pairs for number in pair)).tobytes()
    sections["awaited"] = array("I", sorted(contents.awaited)).tobytes()
    sections["reflective"] = array("I", (number for number in every if contents.parts[number].is_reflective)).tobytes()
    sections["knots"] = knot_of.tobytes()
    sections["roles"] = contents.roles  # last, because numbers must start at a multiple of four
    head: dict[str, Any] = {
        "generation": generation,
        "packages": [package for (package,) in packages.keys],
        "outside": list(outside.keys),
    }
    write_sections(directory / PROGRAM_NAME, _FORMAT, head, sections)


class _Indexes:
    """Numbers texts, or tuples of texts, in the order in which they come."""

    def __init__(self) -> None:
        self.keys: dict[tuple[str, ...], int] = {}

    def of(self, *key: str) -> int:
        return self.keys.setdefault(key, len(self.keys))


def _part_row(part: Part, outside: _Indexes) -> list[int]:
    if part == NO_PART:
        return []
    packages = outside.of(*sorted(part.outside)) | (_REFLECTIVE if part.is_reflective else 0)
    lists = part[:6]
    return [*map(len, lists), packages, *(number for one in lists for number in one), *_awaits_row(part.awaits)]


def _onward_row(contents: Contents, members: Sequence[int], knot_of: Sequence[int], outside: _Indexes) -> list[int]:
    parts = [contents.parts[member] for member in members]
    targets = {one for part in parts for one in leads_to(part)}
    targets.update(one for member in members for one in contents.initialisers.get(member, ()))
    knots = {knot_of[one] for one in targets} - {NO_KNOT, knot_of[members[0]]}
    onward = onward_of(parts, sorted(knots), [member for member in members if member in contents.awaited])
    packages = outside.of(*sorted(onward.outside)) | (_REFLECTIVE if onward.is_reflective else 0)
    lists = onward[:4]
    return [*map(len, lists), packages, *(number for one in lists for number in one), *_awaits_row(onward.awaits)]


def _awaits_row(awaits: Awaits) -> Iterator[int]:
    for target, places in awaits:
        yield from (target, len(places), *places)


def _awaits_in(row: Sequence[int], at: int) -> Awaits:
    """What `_awaits_row` made, at a position."""
    if at == len(row):
        return ()
    found: list[tuple[int, tuple[int, ...]]] = []
    while at < len(row):
        end = at + 2 + row[at + 1]
        found.append((row[at], tuple(row[at + 2 : end])))
        at = end
    return found


def _type_row(part: TypePart, packages: _Indexes) -> list[int]:
    if part == NO_TYPE_PART:
        return []
    row = [len(part.methods)]
    for pair in part.methods.items():
        row += pair
    for package, method in part.outside:
        row += (packages.of(package), method)
    return row


def _joined(lists: Iterable[Sequence[int]]) -> tuple[bytes, bytes]:
    starts, joined = array("I", [0]), array("I")
    for one in lists:
        joined.extend(one)
        starts.append(len(joined))
    return starts.tobytes(), joined.tobytes()
