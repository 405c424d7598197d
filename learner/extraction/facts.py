"""What one file says by itself, in three parts that are stored and read apart.

`Outline` is for people and for the graph's nodes: names, lines, documentation. `Shape` is what other files can see of
this one, without positions and bodies: its digest decides whether anything else must be resolved again. `Body` is what
this file does: the code of its functions and initialisers, needed only to resolve this file itself.

Facts are plain data; `extract` makes them from bytes, and the cache keeps them by digest and `EXTRACTOR`.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

import msgspec

EXTRACTOR: Final = "6"
"""Raised whenever the same bytes would give other facts; caches made by another number are not read."""


class DeclaredSymbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One symbol as the outline shows it. Offsets are bytes, lines count from 1."""

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


FUNC: Final = 0
METHOD: Final = 1
TYPE: Final = 2
ALIAS: Final = 3
CONST: Final = 4
VAR: Final = 5


class Decl(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A package-level declaration as other files see it.

    `at` is where its code begins: for functions TPARAMS SIG, for types TPARAMS T, for values the type, -1 if there is
    none. `init` is the code that gives an untyped value its type, -1 if none; it makes `width` values of which this
    one is number `index`.
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
    """Where the code of one declaration's body begins, and the name of its receiver."""

    decl: int
    at: int
    receiver: int


class Body(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`names` go on where the shape's end; `shape_lines` and `decl_lines` are the lines the shape leaves out."""

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
    """Facts as the cache keeps them."""

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
