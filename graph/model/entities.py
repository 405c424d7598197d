"""The vocabulary of the graph: what its nodes and edges are and which properties they carry.

Rows are named tuples: they are made by the hundred thousand, compared whole to find what changed, and turned
column by column into tables. The order of a row's fields is the order of its table's columns (see `schema`).
This module holds no behaviour beyond that; how rows are stored is `store`'s affair.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NewType

RepoPath = NewType("RepoPath", str)
"""A path below the repository's root, with forward slashes."""
ImportPath = NewType("ImportPath", str)
SymbolId = NewType("SymbolId", str)
PackageId = NewType("PackageId", str)
Digest = NewType("Digest", str)
"""BLAKE2b of bytes, in hexadecimal."""

REPOSITORY_ID: Final = "."
"""A store holds one repository; its id is the same on every machine."""

SYMBOL_KINDS: Final = (
    "func",
    "method",
    "struct",
    "interface",
    "type",
    "alias",
    "const",
    "var",
    "field",
    "imethod",
)


class Problem(NamedTuple):
    """Something wrong with the input, kept as data."""

    file: str
    line: int
    message: str


class Repository(NamedTuple):
    id: str
    name: str
    modules: tuple[str, ...]


class Package(NamedTuple):
    """One Go package as the compiler sees it: `x`, its external test `x_test`, or a stray `main` beside them."""

    id: str
    path: str
    name: str
    dir: str
    module: str
    doc: str
    test: bool


class File(NamedTuple):
    id: str
    path: str
    package: str
    digest: str
    shape: str
    lines: int
    bytes: int
    constraint: str
    test: bool
    generated: bool
    cgo: bool
    problems: tuple[str, ...]


class Symbol(NamedTuple):
    """A package-level declaration, a field or an interface's method."""

    id: str
    kind: str
    name: str
    qualified_name: str
    package: str
    file: str
    line: int
    end_line: int
    start: int
    end: int
    owner: str
    signature: str
    doc: str
    tag: str
    exported: bool
    deprecated: bool
    embedded: bool


class External(NamedTuple):
    """A package or symbol outside the repository. `kind` is a symbol kind, `package`, or `unknown`."""

    id: str
    kind: str
    name: str
    package: str
    source: str


class Unresolved(NamedTuple):
    """Uses of one name in one declaration that could not be settled, with the reason and what they may mean."""

    id: str
    source: str
    name: str
    file: str
    reason: str
    sites: tuple[int, ...]
    candidates: tuple[str, ...]


class Note(NamedTuple):
    """Knowledge that was pinned to code. `subject` names what it was pinned to, also when that is no more; `drifted`
    says what has happened to the code since, empty where nothing has."""

    id: str
    kind: str
    text: str
    subject: str
    author: str
    source: str
    created: str
    tags: tuple[str, ...]
    status: str
    drifted: str


class Summary(NamedTuple):
    """A text about a symbol, file, package or the repository that a model or a person wrote. `source` is `model`,
    `agent` or `person`; `inputs` is the digest of what it was written from; `stale` says what has changed since."""

    id: str
    subject: str
    level: str
    text: str
    quality: str
    source: str
    model: str
    prompt: str
    inputs: str
    created: str
    status: str
    stale: str


class Doc(NamedTuple):
    """A section of a document in the repository. `status` is that of a decision record, empty for everything else."""

    id: str
    path: str
    title: str
    level: int
    line: int
    end_line: int
    text: str
    record: bool
    status: str


Node = Repository | Package | File | Symbol | External | Unresolved | Note | Summary | Doc


class Edge(NamedTuple):
    """A resolved relation. `sites` are the lines where it occurs, in the file of its source."""

    source: str
    target: str
    sites: tuple[int, ...] = ()
    evidence: str = ""
    pointer: bool = False
