"""The nodes and edges of the graph and their properties.

Rows are named tuples, because they are created by the hundred thousand, compared as a whole to find changes, and
converted to tables column by column. The order of the fields is the order of the table's columns (see `tables`).
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
"""Id of the repository node. A store holds one repository, so the id is the same on every machine."""

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
    """A fault in the input, stored as data."""

    file: str
    line: int
    message: str


class Repository(NamedTuple):
    id: str
    name: str
    modules: tuple[str, ...]


class Package(NamedTuple):
    """A Go package as the compiler sees it: `x`, its external test `x_test`, or a `main` in the same directory."""

    id: str
    path: str
    name: str
    dir: str
    module: str
    doc: str
    test: bool


class File(NamedTuple):
    """A Go file. `digest` is that of its content, `shape` that of what other files see of it."""

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
    origin: str = ""
    """what generated the file, from what, as its header says: "by protoc-gen-go from rpc.proto\""""


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
    """Uses of one name in one declaration that could not be resolved, with the reason and the possible targets."""

    id: str
    source: str
    name: str
    file: str
    reason: str
    sites: tuple[int, ...]
    candidates: tuple[str, ...]


class Note(NamedTuple):
    """Knowledge pinned to code. `subject` names the code, even if it no longer exists; `drifted` says how the code has
    changed since, and is empty if it has not."""

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
    """A text about a symbol, a file, a package or the repository, written by a model or a person. `source` is `model`,
    `agent` or `person`; `inputs` is the digest of its inputs; `stale` says which of them have changed since."""

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
    """A section of a document in the repository. `status` is the status of a decision record, otherwise empty."""

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
    """A resolved relation. `sites` are the lines where it occurs, in the file of its source.

    `access` says for each site how a field is used there: `read`, `write`, `address` or `literal`. A line that uses the
    field in two ways is two sites.
    """

    source: str
    target: str
    sites: tuple[int, ...] = ()
    evidence: str = ""
    pointer: bool = False
    access: tuple[str, ...] = ()
