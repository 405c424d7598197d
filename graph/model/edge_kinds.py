"""The table of edges: every label, what it means, which nodes it joins, and which properties it has.

This is the only place that lists labels. The schema of the database, the export, the incremental update, the questions
and the reference page in the documentation are derived from it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class EdgeKind(NamedTuple):
    """A label together with the labels of the nodes at its two ends. One label may have several kinds."""

    label: str
    source: str
    target: str


class EdgeLabel(NamedTuple):
    """One row of the table.

    `properties` name fields of `Edge`. A column costs time in a load of millions of edges, so a field that is not
    listed is not stored. `steps` lists the directions in which traversals follow the label: ">" from source to target,
    "<" back.

    An incremental update replaces the edges of what changed. A *use* and a *body fact* follow from the text of their
    source alone; only uses are listed as users of a symbol. A *shared* edge belongs to no package, because it follows
    from both ends or comes from elsewhere (notes, summaries, documents, git); the step that makes it also updates it.
    All other edges belong to the package of their source.
    """

    label: str
    meaning: str
    ends: tuple[tuple[str, str], ...]
    properties: tuple[str, ...] = ()
    steps: str = ""
    is_use: bool = False
    is_body_fact: bool = False
    is_shared: bool = False


_SYMBOL_OR_EXTERNAL: Final = (("Symbol", "Symbol"), ("Symbol", "External"))
_ANYTHING: Final = ("Repository", "Package", "File", "Symbol")

EDGE_LABELS: Final = {
    row.label: row
    for row in (
        EdgeLabel(
            "CONTAINS",
            "The repository contains a package, a package a file, a file a symbol, a type its methods and fields.",
            (("Repository", "Package"), ("Package", "File"), ("File", "Symbol"), ("Symbol", "Symbol")),
            steps=">",
        ),
        EdgeLabel(
            "IMPORTS",
            "A file imports a package. `evidence`: the name that the import gives it; empty if it gives none.",
            (("File", "Package"), ("File", "External")),
            ("sites", "evidence"),
        ),
        EdgeLabel(
            "CALLS",
            "A declaration calls a function or method. A call through an interface leads to the interface's method.",
            _SYMBOL_OR_EXTERNAL,
            ("sites", "evidence"),
            "<>",
            is_use=True,
        ),
        EdgeLabel(
            "REFERENCES",
            "A declaration names a symbol without calling it: a function as a value, a type, a constant, a variable, "
            "a field. `access`: how each site uses a field (`read`, `write`, `address`, `literal`).",
            _SYMBOL_OR_EXTERNAL,
            ("sites", "evidence", "access"),
            "<>",
            is_use=True,
        ),
        EdgeLabel(
            "CONVERTS",
            "A declaration converts values of a type to interfaces. `evidence`: their ids; `any` for one that the "
            "repository does not declare, the id of a generic declaration for its type parameters, and `<any` if the "
            "type is an interface that gets values from `any`.",
            (("Symbol", "Symbol"),),
            ("evidence",),
            "<>",
            is_body_fact=True,
        ),
        EdgeLabel(
            "INVOKES",
            "A declaration calls a method of an interface that is no symbol, because it is unnamed or declared in a "
            "function, or uses it as a value. The method is external: `interface{Unwrap() error}.Unwrap`.",
            (("Symbol", "External"),),
            ("sites", "evidence"),
            "<>",
            is_body_fact=True,
        ),
        EdgeLabel(
            "RUNS_IF",
            "A declaration uses a symbol only in functions that it stores in fields or package variables. `evidence`: "
            "the ids of these; empty if it stores into the symbol itself and does not read it.",
            (("Symbol", "Symbol"),),
            ("evidence",),
            ">",
            is_body_fact=True,
        ),
        EdgeLabel(
            "SETS",
            "A declaration may change a package variable: it assigns to it or to a part of it, takes its address, or "
            "calls one of its methods that has a pointer receiver.",
            (("Symbol", "Symbol"),),
            ("evidence",),
            "<>",
            is_body_fact=True,
        ),
        EdgeLabel(
            "IMPLEMENTS",
            "A type has all methods of an interface. `pointer`: only the pointer type has them. `evidence`: for an "
            "external interface, also the names of its methods.",
            _SYMBOL_OR_EXTERNAL,
            ("evidence", "pointer"),
            "<>",
            is_shared=True,
        ),
        EdgeLabel(
            "EMBEDS",
            "A struct or interface embeds a type. `pointer`: as `*T`.",
            _SYMBOL_OR_EXTERNAL,
            ("sites", "evidence", "pointer"),
            "<>",
            is_use=True,
        ),
        EdgeLabel(
            "TESTS",
            "A test, benchmark, example or fuzz target reaches a declaration.",
            (("Symbol", "Symbol"),),
            ("sites", "evidence"),
            "<",
        ),
        EdgeLabel(
            "CHANGES_WITH",
            "Two files changed in the same commits. `evidence`: how many of how many.",
            (("File", "File"),),
            ("evidence",),
            is_shared=True,
        ),
        EdgeLabel(
            "DESCRIBES",
            "A note or a section of a document is about a piece of code.",
            (
                *(("Note", target) for target in _ANYTHING),
                *(("Doc", target) for target in ("Package", "File", "Symbol")),
            ),
            ("sites", "evidence"),
            is_shared=True,
        ),
        EdgeLabel(
            "SUMMARIZES",
            "A summary describes a piece of code.",
            tuple(("Summary", target) for target in _ANYTHING),
            is_shared=True,
        ),
        EdgeLabel(
            "SUPERSEDES",
            "A newer note or summary replaces an older one.",
            (("Note", "Note"), ("Summary", "Summary")),
            is_shared=True,
        ),
    )
}

EDGE_KINDS: Final = tuple(EdgeKind(row.label, *ends) for row in EDGE_LABELS.values() for ends in row.ends)
EDGE_PROPERTIES: Final = {row.label: row.properties for row in EDGE_LABELS.values()}
USES: Final = tuple(row.label for row in EDGE_LABELS.values() if row.is_use)
FROM_TEXT: Final = tuple(row.label for row in EDGE_LABELS.values() if row.is_use or row.is_body_fact)
"""Labels of the edges that follow from the text of their source alone."""
RELATIONS: Final = tuple(
    row.label
    for row in EDGE_LABELS.values()
    if ("Symbol", "Symbol") in row.ends and row.label != "CONTAINS" and not row.is_body_fact
)
"""Labels of the relations between declarations that cards report."""
SHARED: Final = frozenset(row.label for row in EDGE_LABELS.values() if row.is_shared)
STEPS: Final = {row.label: row.steps for row in EDGE_LABELS.values() if row.steps}
