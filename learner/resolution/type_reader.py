"""Reads types from code (see `opcodes`) in the scope of one file: type literals, signatures and type parameters.

A `TypeReader` has the current position in the code and the local names in scope. Expressions are left to its subclass
`Expressions`.
"""

from __future__ import annotations

from typing import Final

from golore.learner.extraction import opcodes as c
from golore.learner.resolution.conversions import OUTSIDE, Conversions
from golore.learner.resolution.generics import core_type
from golore.learner.resolution.types import (
    UNKNOWN,
    Array,
    Chan,
    Declaration,
    Field,
    FileScope,
    Func,
    Interface,
    Map,
    Method,
    Named,
    Slice,
    Struct,
    Type,
    TypeName,
    TypeParam,
    Typer,
    Union,
    Unknown,
)
from golore.learner.resolution.use_recorder import UseRecorder

VALUE: Final = 0
TYPE: Final = 1
PACKAGE: Final = 2
BUILTIN: Final = 3
LOCAL: Final = "local"
"""The owner of type parameters that are declared in a function; text may follow."""


class TypeReader:
    """Reads the code of one file.

    `mode` says what the type that was read last describes. `owner` is the declaration whose interface or struct is
    being read: the owner of its members. `path` leads from the owner to an unnamed struct in it (see `Field`).
    """

    def __init__(self, typer: Typer, file: FileScope, recorder: UseRecorder | None) -> None:
        self.typer = typer
        self.file = file
        self.recorder = recorder
        self.conversions = Conversions(typer)
        self.code: list[int] = file.shape_code()
        self.names: list[str] = file.names
        self.lines: list[int] = []
        self.in_shape = True
        self.at: int = 0
        self.mode = VALUE
        self.owner: Declaration | None = None
        self.path = ""
        self.depth = 0
        self._scope: dict[str, Type] = {}
        self._scope_depth: dict[str, int] = {}
        self._level = 0
        self._undo: list[tuple[str, Type | None, int]] = []
        self._scope_starts: list[int] = []
        self._guards: list[Type] = []
        self._const_types: list[Type] = []
        self.results: list[Type] = []
        """The results of the function whose body is being read."""
        self.stored_in = ""
        """The package variable whose value is being read, outside of calls and functions."""
        self.initialised = ""
        """The package variable whose initialiser is being read."""
        self.written: list[str] = []
        """The field that was assigned to or copied last, with its twins; none if it is not for functions."""
        self.copies: dict[str, list[str]] = {}
        """The fields for functions that local names are copies of."""

    def set_owner(self, decl: Declaration) -> None:
        """Make a type declaration the owner of the members of the interface or struct that follows, if one does.

        Methods of nested interfaces have no owner.
        """
        if self.code[self.at] == c.INTERFACE:
            self.owner = decl
        else:
            self.own_struct(decl)

    def own_struct(self, decl: Declaration, ahead: int = 0) -> None:
        """Make a declaration the owner of the fields of the unnamed struct that follows, `ahead` numbers further.

        The struct may be the element of other unnamed types: extraction finds the fields that are symbols by the same
        rule (see `node_kinds.struct_within`).
        """
        start = self.at
        self.at += ahead
        while True:
            op = self._next()
            if op == c.CHANNEL:
                self.at += 1
            elif op == c.MAP or op == c.ARRAY:
                self.skip()
            elif op != c.STAR and op != c.SLICE_OF and op != c.ARRAY_AUTO:
                break
        self.at = start
        self.owner = decl if op == c.STRUCT else None

    # -- the local scope

    def bind(self, name: str, type: Type) -> None:
        if name == "_" or not name:
            return
        self._undo.append((name, self._scope.get(name), self._scope_depth.get(name, -1)))
        self._scope[name] = type
        self._scope_depth[name] = self._level

    def open(self) -> None:
        self._scope_starts.append(len(self._undo))
        self._level += 1

    def close(self) -> None:
        if not self._scope_starts:
            return
        scope_start = self._scope_starts.pop()
        self._level -= 1
        undo = self._undo
        while len(undo) > scope_start:
            name, type, level = undo.pop()
            if type is None:
                del self._scope[name]
                del self._scope_depth[name]
            else:
                self._scope[name] = type
                self._scope_depth[name] = level

    def _next(self) -> int:
        value = self.code[self.at]
        self.at += 1
        return value

    def _line(self, line_ref: int) -> int:
        return self.lines[line_ref] if self.in_shape else line_ref

    def under(self, type: Type) -> Type:
        """Return the underlying type; for a type parameter that of its core type, or itself if it has none."""
        if isinstance(type, Named):
            return self.typer.underlying(type)
        if isinstance(type, TypeParam):
            core = core_type(self.typer, type)
            if core is None:
                return type
            return self.typer.underlying(core) if isinstance(core, Named) else core
        return type

    def expression(self, calling: bool = False, expected: Type | None = None) -> Type:
        """Read one expression or type and return its type; sets `mode`."""
        raise NotImplementedError

    def type(self) -> Type:
        """Read one code where a type is required. Returns an unknown type if it is not a type."""
        type = self.expression()
        if self.mode != TYPE:
            return UNKNOWN if not isinstance(type, Unknown) else type
        return type

    # -- type literals

    def signature(self, bind: bool) -> Func:
        """Read a signature. If `bind`, its parameters and named results become local names."""
        params = self._next()
        results = self._next()
        variadic = self._next() == 1
        names: list[str] = []
        types: list[Type] = []
        for i in range(params + results):
            names.append(self.names[self._next()])
            type = self.type()
            types.append(Slice(type) if variadic and i == params - 1 else type)
        if bind:
            for i, name in enumerate(names):
                self.bind(name, types[i])
        return Func(types[:params], types[params:], variadic)

    def type_parameters(self, owner: str, known: list[TypeParam] | None = None) -> list[TypeParam]:
        """Read a list of type parameters and bind their names.

        Instantiation identifies a parameter by its object, so a list that was read before must be passed as `known`.
        """
        count = self._next()
        if not count:
            return []
        if known is not None and len(known) == count:
            return self._known_parameters(known)
        start = self.at
        is_symbol = not self.file.package.external and owner != LOCAL and not owner.startswith(LOCAL + " ")
        place = owner if is_symbol else OUTSIDE
        params: list[TypeParam] = []
        recorder = self.recorder
        self.recorder = None
        for i in range(count):
            name = self.names[self._next()]
            params.append(TypeParam(name, i, owner, place))
            self.skip()
        self.recorder = recorder
        for param in params:
            self.bind(param.name, TypeName(param))
        self.at = start
        for param in params:
            self.at += 1
            param.constraint = self.type()
        return params

    def _known_parameters(self, params: list[TypeParam]) -> list[TypeParam]:
        for param in params:
            self.bind(param.name, TypeName(param))
        for _ in params:
            self.at += 1
            self.type()
        return params

    def skip(self) -> None:
        """Skip one code without looking up its names."""
        pending = 1
        code = self.code
        while pending:
            pending -= 1
            op = code[self.at]
            self.at += 1
            if op == c.NAME:
                self.at += 2
            elif op == c.SELECT:
                self.at += 2
                pending += 1
            elif op == c.CALL:
                pending += code[self.at] + 1
                self.at += 2
            elif op == c.INDEX or op == c.SLICE:
                pending += code[self.at] + 1
                self.at += 1
            elif op == c.COMPOSITE:
                pending += max(code[self.at], 0) + 1
                self.at += 2
            elif op == c.ELIDED:
                pending += max(code[self.at], 0)
                self.at += 2
            elif op == c.UNION:
                pending += code[self.at]
                self.at += 1
            elif op == c.INT:
                self.at += 1
            elif op == c.CHANNEL:
                self.at += 1
                pending += 1
            elif op in _ONE_OPERAND:
                pending += 1
            elif op in _TWO_OPERANDS:
                pending += 2
            elif op == c.FUNCTION_TYPE:
                self._skip_signature()
            elif op == c.FUNCTION:
                self._skip_signature()
                self.at += 1  # END: literals in shapes have no body
            elif op == c.STRUCT:
                count = self._next()
                for _ in range(count):
                    self.at += 2
                    self.skip()
            elif op == c.INTERFACE:
                count = self._next()
                for _ in range(count):
                    if code[self.at] == c.METHOD:
                        self.at += 2
                        self._skip_signature()
                    else:
                        self.skip()

    def _skip_signature(self) -> None:
        count = self.code[self.at] + self.code[self.at + 1]
        self.at += 3
        for _ in range(count):
            self.at += 1
            self.skip()

    def _type(self, op: int) -> Type:
        if op == c.MAP:
            index = self._index_type()
            return Map(index, self.type())
        if op == c.STRUCT:
            return self._struct()
        if op == c.INTERFACE:
            return self._interface()
        if op == c.FUNCTION_TYPE:
            self.open()
            type = self.signature(False)
            self.close()
            return type
        if op == c.ARRAY:
            length = self._length()
            return Array(self.type(), length)
        if op == c.ARRAY_AUTO:
            return Array(self.type(), "n")
        if op == c.CHANNEL:
            direction = self._next()
            return Chan(direction, self.type())
        if op == c.TILDE:
            return self.type()
        if op == c.UNION:
            count = self._next()
            return Union([self.type() for _ in range(count)])
        return UNKNOWN

    def _index_type(self) -> Type:
        """Read the key type of a map, whose fields are no symbols."""
        owner = self.owner
        self.owner = None
        type = self.type()
        self.owner = owner
        return type

    def _length(self) -> str:
        """Read the length of an array: the number if it is a literal or names a plain constant, otherwise `n`."""
        start = self.at
        owner = self.owner
        self.owner = None
        self.expression()
        self.owner = owner
        if self.code[start] == c.INT:
            return str(self.code[start + 1])
        if self.code[start] == c.NAME and self.at == start + 3:
            value = self.typer.integer(self.file, self.names[self.code[start + 1]])
            if value >= 0:
                return str(value)
        return "n"

    def _struct(self) -> Type:
        owner = self.owner
        prefix = self.path
        self.owner = None
        count = self._next()
        fields: list[Field] = []
        for _ in range(count):
            name = self.names[self._next()]
            embedded = self._next() == 1
            path = prefix + name
            if owner is not None:
                self.path = path + "."
                self.own_struct(owner)
            fields.append(Field(name, self.type(), embedded, owner, path))
            self.owner = None
        self.owner = owner
        self.path = prefix
        return Struct(self.file.package, fields)

    def _interface(self) -> Type:
        owner = self.owner
        self.owner = None
        count = self._next()
        methods: list[Method] = []
        embeds: list[Type] = []
        for _ in range(count):
            if self.code[self.at] == c.METHOD:
                self.at += 1
                name = self.names[self._next()]
                methods.append(Method(name, self.file.package, owner, self.signature(False)))
            else:
                embeds.append(self.type())
        self.owner = owner
        return Interface(methods, embeds)


_ONE_OPERAND: Final = frozenset(
    (
        c.STAR, c.ADDRESS, c.RECEIVE, c.UNARY, c.NOT, c.ARRAY_AUTO, c.SLICE_OF, c.TILDE,
    )
)  # fmt: skip
_TWO_OPERANDS: Final = frozenset((c.ASSERT, c.BINARY, c.SHIFT, c.COMPARE, c.KEYED, c.ARRAY, c.MAP))
