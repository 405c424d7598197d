"""Types of answers: symbols as answers name them, and answers with three values.

*Resolved* are edges of the graph. *Candidates* are possible, through an interface, and never edges. *Unresolved* are
uses with the same name whose symbol could not be determined. `questions` and `impact` compute the answers. In
notebooks, answers show themselves as a drawing and a table (see `answer_diagrams`).
"""

from __future__ import annotations

import msgspec


class _Shown(msgspec.Struct, frozen=True):
    """What shows itself in a notebook."""

    def _repr_html_(self) -> str:
        from golore.graph.queries.answer_diagrams import html_of

        return html_of(self)


class Ref(msgspec.Struct, frozen=True):
    """A symbol of the repository, or an external one, which has no file. `source` says where that comes from."""

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


class Meaning(msgspec.Struct, frozen=True):
    """What a name refers to: one declaration, the build-tag twins that share its qualified name, or, for a file or
    lines of it, all declarations there. `explanation` is a sentence, if the name of the symbol is not what was given.
    """

    name: str
    symbols: tuple[Ref, ...]
    explanation: str = ""

    @property
    def first(self) -> Ref:
        return self.symbols[0]

    @property
    def is_group(self) -> bool:
        """Whether these are declarations with different names."""
        return any(symbol.qualified_name != self.first.qualified_name for symbol in self.symbols)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(symbol.id for symbol in self.symbols)


class NameMatches(msgspec.Struct, frozen=True):
    """The meanings of a text. If there are none, `suggestions` are similar names."""

    text: str
    meanings: tuple[Meaning, ...]
    suggestions: tuple[Ref, ...] = ()


class Link(msgspec.Struct, frozen=True):
    """The symbol at the other end of an edge. `file` and `sites` say where the use is; `via` is the interface method
    through which a candidate is called. `access` says how the sites use a field (see `Edge`). `subject` is the
    declaration at this end, if the question is about a group of them."""

    symbol: Ref
    how: str
    file: str = ""
    sites: tuple[int, ...] = ()
    evidence: str = ""
    pointer: bool = False
    via: str = ""
    access: str = ""
    subject: str = ""


class UnresolvedUse(msgspec.Struct, frozen=True):
    """A use in the declaration `source` whose symbol could not be determined, with the reason."""

    file: str
    line: int
    source: str
    reason: str


class UnresolvedUses(msgspec.Struct, frozen=True):
    """The number of unresolved sites with a name, and the first of them. The name is empty for a group of declarations.

    `outside` are the external interfaces that a method's type satisfies: calls through them are not known.
    """

    name: str
    sites: int
    examples: tuple[UnresolvedUse, ...] = ()
    outside: tuple[str, ...] = ()


class Answer(_Shown, frozen=True):
    """`other_accesses` counts the uses of a field that were not asked for, by access. `by_shape` counts what an
    interface would make possible if the type got into it, which it does nowhere in the repository."""

    question: str
    subject: Meaning
    resolved: tuple[Link, ...]
    candidates: tuple[Link, ...]
    unresolved: UnresolvedUses
    other_accesses: tuple[tuple[str, int], ...] = ()
    by_shape: int = 0


class Reached(msgspec.Struct, frozen=True):
    """A symbol that a change may reach. `certain` is false if a step on the way goes through an interface or a function
    value. `sites` are the lines, in the symbol's file, where it hands a function over."""

    symbol: Ref
    depth: int
    certain: bool
    how: str
    through: str
    sites: tuple[int, ...] = ()


class Impact(_Shown, frozen=True):
    """`complete` is false if the search stopped at its limit of symbols or at the requested depth."""

    subject: Meaning
    depth: int
    resolved: tuple[Reached, ...]
    candidates: tuple[Reached, ...]
    tests: tuple[Reached, ...]
    unresolved: UnresolvedUses
    complete: bool


class Step(msgspec.Struct, frozen=True):
    """One symbol on a path. `how`, `file` and `sites` describe the step that leads to it; the first one has none."""

    symbol: Ref
    how: str = ""
    file: str = ""
    sites: tuple[int, ...] = ()


class Route(_Shown, frozen=True):
    """A chain of calls from one symbol to another. `certain` is false if a step goes through an interface or a function
    value."""

    source: Meaning
    target: Meaning
    steps: tuple[Step, ...]
    certain: bool
    complete: bool
    unresolved: UnresolvedUses


class SymbolDetails(msgspec.Struct, frozen=True):
    """Everything known about one declaration. `candidate_callers` may call it through an interface that its type gets
    into; `outside` are the external interfaces through which code outside the repository may call it."""

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
    candidate_callers: int = 0
    outside: tuple[str, ...] = ()


class SymbolAnswer(_Shown, frozen=True):
    """The declarations of a name, and the number of unresolved sites with that name."""

    subject: Meaning
    declarations: tuple[SymbolDetails, ...]
    unresolved: UnresolvedUses


class StoreCounts(msgspec.Struct, frozen=True):
    """Counts of what the store contains."""

    packages: int
    files: int
    lines: int
    symbols: dict[str, int]
    edges: dict[str, int]
    externals: int
    unresolved: int
    unresolved_sites: int
    files_with_problems: int
