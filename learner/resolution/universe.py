"""Go's universe scope: the predeclared types, constants and functions."""

from __future__ import annotations

from typing import Final

from golore.learner.extraction import facts as f
from golore.learner.resolution.types import (
    Basic,
    Builtin,
    Declaration,
    FileScope,
    Func,
    Interface,
    Method,
    Named,
    PackageScope,
    Type,
    TypeName,
)

UNIVERSE_PACKAGE: Final = PackageScope("", "", "", "", True)

BOOL: Final = Basic("bool")
STRING: Final = Basic("string")
INT: Final = Basic("int")
RUNE: Final = Basic("int32")
BYTE: Final = Basic("uint8")
FLOAT: Final = Basic("float64")
COMPLEX: Final = Basic("complex128")
UINTPTR: Final = Basic("uintptr")
POINTER: Final = Basic("unsafe.Pointer")

UNTYPED_BOOL: Final = Basic("untyped bool", True)
UNTYPED_INT: Final = Basic("untyped int", True)
UNTYPED_RUNE: Final = Basic("untyped rune", True)
UNTYPED_FLOAT: Final = Basic("untyped float", True)
UNTYPED_COMPLEX: Final = Basic("untyped complex", True)
UNTYPED_STRING: Final = Basic("untyped string", True)
UNTYPED_NIL: Final = Basic("untyped nil", True)

ANY: Final = Interface([], [])

_DEFAULTS: Final[dict[str, Type]] = {
    "untyped bool": BOOL,
    "untyped int": INT,
    "untyped rune": RUNE,
    "untyped float": FLOAT,
    "untyped complex": COMPLEX,
    "untyped string": STRING,
}


def default_type(type: Type) -> Type:
    """Return the type that a variable gets from an untyped constant of this type; any other type unchanged."""
    if isinstance(type, Basic) and type.untyped:
        return _DEFAULTS.get(type.name, type)
    return type


def _declare(name: str) -> Declaration:
    scope = FileScope(UNIVERSE_PACKAGE, "", "", False)
    decl = Declaration(scope, f.Decl(f.TYPE, name, "", 0), 0)
    decl.id = name
    return decl


def _error_type() -> Named:
    decl = _declare("error")
    named = Named(decl, [], None)
    named.under = Interface([Method("Error", UNIVERSE_PACKAGE, decl, Func([], [STRING], False))], [])
    decl.type = named
    return named


def _comparable() -> Named:
    decl = _declare("comparable")
    named = Named(decl, [], None)
    named.under = Interface([], [])
    decl.type = named
    return named


ERROR: Final = _error_type()

_NAMES: Final = (
    "bool string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr "
    "float32 float64 complex64 complex128"
).split()
_BUILTINS: Final = (
    "append cap clear close complex copy delete imag len make max min new panic print println real recover"
).split()


def _universe() -> dict[str, Type]:
    shared: dict[str, Type] = {t.name: t for t in (BOOL, STRING, INT, RUNE, BYTE, FLOAT, COMPLEX, UINTPTR)}
    scope: dict[str, Type] = {name: TypeName(shared.get(name, Basic(name))) for name in _NAMES}
    scope["byte"] = TypeName(BYTE)
    scope["rune"] = TypeName(RUNE)
    scope["any"] = TypeName(ANY)
    scope["error"] = TypeName(ERROR)
    scope["comparable"] = TypeName(_comparable())
    scope["true"] = UNTYPED_BOOL
    scope["false"] = UNTYPED_BOOL
    scope["iota"] = UNTYPED_INT
    scope["nil"] = UNTYPED_NIL
    for name in _BUILTINS:
        scope[name] = Builtin(name)
    return scope


UNIVERSE: Final[dict[str, Type]] = _universe()
