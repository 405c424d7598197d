"""The facts of one file, in three parts that are stored and read separately.

`Outline` is for people and for the nodes of the graph: names, lines, documentation. `Shape` is what other files can see
of this one, without positions and bodies: its digest decides whether other files must be resolved again. `Body` is the
code of its functions and initialisers, needed only to resolve the file itself.

Facts are plain data; `extract` makes them from bytes, and the cache stores them by digest and `EXTRACTOR`.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

import msgspec

EXTRACTOR: Final = "9"
"""Version of extraction: increased whenever the same bytes would give different facts. Cached facts of another version
are not read."""


class DeclaredSymbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One symbol of the outline. Offsets are in bytes, lines count from 1."""

    kind: str
    name: str
    owner: str
    line: int
    end_line: int
    start: int
    end: int
    name_start: int
    signature: str
    doc: str = ""
    tag: str = ""
    embedded: bool = False
    deprecated: bool = False


class ImportSpec(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An import as written: `alias` is empty, a name, `.` or `_`."""

    alias: str
    path: str


class LineProblem(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something wrong in the file, kept as data."""

    line: int
    message: str


class Outline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    package: str
    doc: str
    constraint: str
    imports: tuple[ImportSpec, ...]
    import_lines: tuple[int, ...]
    symbols: tuple[DeclaredSymbol, ...]
    lines: int
    generated: bool
    cgo: bool
    shape: str
    problems: tuple[LineProblem, ...]
    origin: str = ""


FUNC: Final = 0
METHOD: Final = 1
TYPE: Final = 2
ALIAS: Final = 3
CONST: Final = 4
VAR: Final = 5


class Decl(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A package-level declaration as other files see it.

    `at` is the offset of its code (see `opcodes`): TPARAMS SIG for functions, TPARAMS T for types, the type for values,
    or -1 if there is none. `init` is the offset of the initialiser of a constant or of a variable without a type, or
    -1; it yields `width` values, of which this declaration is number `index`.
    """

    kind: int
    name: str
    owner: str
    at: int
    pointer: bool = False
    type_parameters: tuple[str, ...] = ()
    init: int = -1
    index: int = 0
    width: int = 1


class Shape(msgspec.Struct, frozen=True, array_like=True, gc=False):
    package: str
    constraint: str
    cgo: bool
    imports: tuple[ImportSpec, ...]
    decls: tuple[Decl, ...]
    names: tuple[str, ...]
    code: bytes


class BodyEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The body of declaration number `decl`: the offset of its code and the name number of its receiver."""

    decl: int
    at: int
    receiver: int


class Body(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The code of bodies. `names` continue the numbering of the shape's names; `shape_lines` and `decl_lines` are the
    lines that the shape leaves out."""

    names: tuple[str, ...]
    code: bytes
    shape_lines: bytes
    decl_lines: bytes
    entries: tuple[BodyEntry, ...]


class Facts(msgspec.Struct, frozen=True, gc=False):
    outline: Outline
    shape: Shape
    body: Body


class EncodedFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts as the cache stores them."""

    outline: bytes
    shape: bytes
    body: bytes


def pack(numbers: list[int]) -> bytes:
    return struct.pack(f"{len(numbers)}i", *numbers)  # three times as fast as through an array


def unpack(data: bytes) -> list[int]:
    numbers = array("i")
    numbers.frombytes(data)
    return numbers.tolist()


_encoder = msgspec.msgpack.Encoder()
_outline_decoder = msgspec.msgpack.Decoder(Outline)
_shape_decoder = msgspec.msgpack.Decoder(Shape)
_body_decoder = msgspec.msgpack.Decoder(Body)


def encode(part: Outline | Shape | Body) -> bytes:
    return _encoder.encode(part)


def decode_outline(data: bytes) -> Outline:
    return _outline_decoder.decode(data)


def decode_shape(data: bytes) -> Shape:
    return _shape_decoder.decode(data)


def decode_body(data: bytes) -> Body:
    return _body_decoder.decode(data)
