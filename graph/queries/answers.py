"""What questions are answered with: symbols as they are named in answers, and answers of three values.

*Resolved* are edges of the graph. *Candidates* are possible, through an interface, and never an edge. *Unresolved* are
uses that bear the name and could not be settled. How answers are found is `questions`' affair.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ref:
    """A symbol of the repository or, with no file, one outside; `source` says where such a one comes from."""

    id: str
    kind: str
    name: str
    qualified_name: str
    package: str
    file: str = ""
    line: int = 0
    owner: str = ""
    source: str = ""

    @property
    def external(self) -> bool:
        return not self.file

    @property
    def test(self) -> bool:
        return self.file.endswith("_test.go")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for: one declaration, or the build-tag twins that share its qualified name."""

    name: str
    symbols: tuple[Ref, ...]

    @property
    def first(self) -> Ref:
        return self.symbols[0]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(symbol.id for symbol in self.symbols)


@dataclass(frozen=True, slots=True)
class NameMatches:
    """The meanings of a text. Where there are none, `suggestions` are names that are close."""

    text: str
    meanings: tuple[Meaning, ...]
    suggestions: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A symbol at the other end. `file` and `sites` are where it happens; `via` is the interface's method between."""

    symbol: Ref
    how: str
    file: str = ""
    sites: tuple[int, ...] = ()
    evidence: str = ""
    pointer: bool = False
    via: str = ""


@dataclass(frozen=True, slots=True)
class UnresolvedUse:
    file: str
    line: int
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnresolvedUses:
    """How many sites bear a name without being settled, and the first of them.

    `outside` are the interfaces outside that a method's type satisfies: who calls it through them is not known.
    """

    name: str
    sites: int
    examples: tuple[UnresolvedUse, ...] = ()
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    subject: Meaning
    resolved: tuple[Link, ...]
    candidates: tuple[Link, ...]
    unresolved: UnresolvedUses


@dataclass(frozen=True, slots=True)
class Reached:
    """A symbol that a change may reach. Not `certain`: a step on the way goes through an interface."""

    symbol: Ref
    depth: int
    certain: bool
    how: str
    through: str


@dataclass(frozen=True, slots=True)
class Impact:
    """`complete` is false where the search stopped at its limit of symbols, or at the depth asked for."""

    subject: Meaning
    depth: int
    resolved: tuple[Reached, ...]
    candidates: tuple[Reached, ...]
    tests: tuple[Reached, ...]
    unresolved: UnresolvedUses
    complete: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One symbol on a path; `how` and `sites` tell of the step that leads to it. The first has none."""

    symbol: Ref
    how: str = ""
    file: str = ""
    sites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """How one symbol comes to call another. `certain` is false where a step goes through an interface."""

    source: Meaning
    target: Meaning
    steps: tuple[Step, ...]
    certain: bool
    complete: bool
    unresolved: UnresolvedUses


@dataclass(frozen=True, slots=True)
class SymbolDetails:
    """Everything known about one declaration."""

    symbol: Ref
    signature: str
    doc: str
    tag: str
    exported: bool
    deprecated: bool
    end_line: int
    constraint: str
    owner: str
    members: tuple[Ref, ...]
    callers: int
    callees: int
    users: int
    implements: tuple[Link, ...]
    implementers: int
    embeds: tuple[Link, ...]
    tests: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """A name's declarations, and how many unresolved sites bear that name."""

    subject: Meaning
    declarations: tuple[SymbolDetails, ...]
    unresolved: UnresolvedUses


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """How much of what the store holds."""

    packages: int
    files: int
    lines: int
    symbols: dict[str, int]
    edges: dict[str, int]
    externals: int
    unresolved: int
    unresolved_sites: int
    files_with_problems: int
