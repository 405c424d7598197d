"""Runs the code of expressions, types and statements (see `code`) and tells their types, by Go's rules.

An `Evaluator` works in one file. It keeps the local scope, asks the `Typer` for what lies outside the function, and,
given a `Recorder`, notes every use it can settle and every call it cannot. After `expression`, `mode` tells what the
returned type is the type of: a value, a type itself, a package, or nothing usable.

It is no checker: code is taken to be valid, constants are not computed, and what cannot be told is `Unknown`.
"""

from __future__ import annotations

from typing import Final, final

from golore.learner import code as c
from golore.learner import facts as f
from golore.learner.generics import core_type, infer, instantiate, substitute, substitute_func
from golore.learner.lookup import AMBIGUOUS, UNSURE, select, visible
from golore.learner.record import Recorder
from golore.learner.types import (
    NOTHING,
    UNKNOWN,
    Array,
    Basic,
    Builtin,
    Chan,
    Declaration,
    DeclName,
    Field,
    FileScope,
    Func,
    GenericAlias,
    Interface,
    Map,
    Method,
    Named,
    PackageName,
    Pointer,
    Selection,
    Slice,
    Struct,
    Tuple,
    Type,
    TypeName,
    TypeParam,
    Typer,
    Union,
    Unknown,
    is_exported,
)
from golore.learner.universe import (
    ANY,
    BOOL,
    BYTE,
    COMPLEX,
    FLOAT,
    INT,
    POINTER,
    RUNE,
    STRING,
    UINTPTR,
    UNTYPED_BOOL,
    UNTYPED_COMPLEX,
    UNTYPED_FLOAT,
    UNTYPED_INT,
    UNTYPED_NIL,
    UNTYPED_RUNE,
    UNTYPED_STRING,
    default_type,
)

VALUE: Final = 0
TYPE: Final = 1
PACKAGE: Final = 2
BUILTIN: Final = 3

DEEPEST: Final = 1000


@final
class Evaluator:
    """One run over one file's code. `owner` is the type declaration being read, whose methods an interface holds."""

    def __init__(self, typer: Typer, file: FileScope, recorder: Recorder | None) -> None:
        self.typer = typer
        self.file = file
        self.recorder = recorder
        self.code: list[int] = file.shape_code()
        self.names: list[str] = file.names
        self.lines: list[int] = []
        self.in_shape = True
        self.at = 0
        self.mode = VALUE
        self.owner: Declaration | None = None
        self.depth = 0
        self._scope: dict[str, Type] = {}
        self._scope_depth: dict[str, int] = {}
        self._level = 0
        self._undo: list[tuple[str, Type | None, int]] = []
        self._marks: list[int] = []
        self._guards: list[Type] = []
        self._constant: list[Type] = []

    def own(self, decl: Declaration) -> None:
        """An interface that comes next is the declaration's own: its methods are symbols. Nested ones are not."""
        self.owner = decl if self.code[self.at] == c.INTERFACE else None

    # -- the local scope

    def bind(self, name: str, type: Type) -> None:
        if name == "_" or not name:
            return
        self._undo.append((name, self._scope.get(name), self._scope_depth.get(name, -1)))
        self._scope[name] = type
        self._scope_depth[name] = self._level

    def open(self) -> None:
        self._marks.append(len(self._undo))
        self._level += 1

    def close(self) -> None:
        if not self._marks:
            return
        mark = self._marks.pop()
        self._level -= 1
        undo = self._undo
        while len(undo) > mark:
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

    def _line(self, place: int) -> int:
        return self.lines[place] if self.in_shape else place

    def under(self, type: Type) -> Type:
        """The underlying type; for a type parameter, the one its constraint allows."""
        if isinstance(type, Named):
            return self.typer.underlying(type)
        if isinstance(type, TypeParam):
            core = core_type(self.typer, type)
            if core is None:
                return type
            return self.typer.underlying(core) if isinstance(core, Named) else core
        return type

    # -- expressions

    def expression(self, calling: bool = False, expected: Type | None = None) -> Type:
        """Read one expression or type and return its type; `mode` says which it was."""
        if self.depth > DEEPEST:
            raise RecursionError("code nested too deeply")
        self.depth += 1
        op = self._next()
        if op == c.NAME:
            type = self._name(calling)
        elif op == c.SELECT:
            type = self._select(calling)
        elif op == c.CALL:
            type = self._call()
        elif op == c.STRING:
            self.mode = VALUE
            type = UNTYPED_STRING
        elif op == c.INT:
            self.at += 1
            self.mode = VALUE
            type = UNTYPED_INT
        elif op == c.STAR:
            type = self._star()
        elif op == c.BINARY or op == c.COMPARE or op == c.SHIFT:
            type = self._binary(op)
        elif op == c.ADDRESS:
            type = self._address(expected)
        elif op == c.INDEX:
            type = self._index(calling)
        elif op == c.COMPOSITE:
            type = self._composite()
        elif op == c.ELIDED:
            type = self._elided(expected)
        else:
            type = self._rarer(op)
        self.depth -= 1
        return type

    def _rarer(self, op: int) -> Type:
        type: Type = UNKNOWN
        if op == c.SLICE_OF:
            type = Slice(self.type())
            self.mode = TYPE
            return type
        if op == c.FUNCTION:
            type = self._function()
        elif op == c.SLICE:
            type = self._slice()
        elif op == c.ASSERT:
            self.expression()
            type = self.type()
        elif op == c.RECEIVE:
            under = self.under(self.expression())
            type = under.elem if isinstance(under, Chan) else UNKNOWN
        elif op == c.UNARY or op == c.NOT:
            type = self.expression()
        elif op == c.RUNE:
            type = UNTYPED_RUNE
        elif op == c.FLOAT:
            type = UNTYPED_FLOAT
        elif op == c.IMAGINARY:
            type = UNTYPED_COMPLEX
        elif op == c.KEYED:
            self.expression()
            type = self.expression()
        elif op != c.BAD:
            type = self._type(op)
            self.mode = TYPE
            return type
        self.mode = VALUE
        return type

    def type(self) -> Type:
        """Read one code that stands where a type must."""
        type = self.expression()
        if self.mode != TYPE:
            return UNKNOWN if not isinstance(type, Unknown) else type
        return type

    def _name(self, calling: bool) -> Type:
        name = self.names[self._next()]
        place = self._next()
        self.mode = VALUE
        type = self._scope.get(name)
        if type is None:
            type = self.typer.lookup(self.file, name)
            if type is None:
                if calling and self.recorder is not None:
                    self.recorder.unsettled(name, self._line(place), "no declaration of this name was found")
                return UNKNOWN
            if isinstance(type, DeclName):
                return self._use(type.decls, place, calling)
            if isinstance(type, PackageName):
                self.mode = PACKAGE
                return type
            if isinstance(type, Builtin):
                self.mode = BUILTIN
                return type
        if isinstance(type, TypeName):
            self.mode = TYPE
            return type.type
        return type

    def _use(self, decls: list[Declaration], place: int, calling: bool) -> Type:
        """A use of a package-level declaration: note it, and tell its type."""
        decl = decls[0]
        kind = decl.kind
        recorder = self.recorder
        if recorder is not None:
            if calling and kind == f.FUNC:
                recorder.call(decls, self._line(place))
            else:
                recorder.refer(decls, self._line(place))
        self.mode = TYPE if kind == f.TYPE or kind == f.ALIAS else VALUE
        return self.typer.type_of(decl)

    def _select(self, calling: bool) -> Type:
        name = self.names[self._next()]
        place = self._next()
        type = self.expression()
        mode = self.mode
        self.mode = VALUE
        if mode == PACKAGE and isinstance(type, PackageName):
            return self._member_of_package(type, name, place, calling)
        if isinstance(type, Pointer) and isinstance(type.elem, Unknown):
            type = type.elem
        if isinstance(type, Unknown):
            if calling and self.recorder is not None:
                self.recorder.unsettled(name, self._line(place), type.why)
            return UNKNOWN if not type.package else Unknown(type.why, type.package)
        return self._member(type, name, place, calling, mode)

    def _member_of_package(self, imported: PackageName, name: str, place: int, calling: bool) -> Type:
        package = imported.package
        if package is None:
            return self._member_of_missing(imported, name, place, calling)
        decls = package.members.get(name)
        if decls is not None and is_exported(name):
            if package.tests and not self.file.sees_tests_of(package):
                decls = [decl for decl in decls if not decl.file.test]
            if decls:
                return self._use(visible(decls, self.file), place, calling)
        if calling and self.recorder is not None:
            self.recorder.unsettled(name, self._line(place), f"package {imported.path} does not declare it")
        return UNKNOWN

    def _member_of_missing(self, imported: PackageName, name: str, place: int, calling: bool) -> Type:
        if imported.path == "unsafe":
            if name == "Pointer":
                self.mode = TYPE
                return POINTER
            self.mode = BUILTIN
            return Builtin("unsafe." + name)
        if imported.path == "C":
            return Unknown("it comes from C")
        why = f"package {imported.path} is not at hand"
        if self.recorder is not None:
            target = f"{imported.path}.{name}"
            if calling:
                self.recorder.unsettled(name, self._line(place), why, target)
            else:
                self.recorder.refer_missing(target, name, imported.path, self._line(place))
        return Unknown(why, imported.path, name)

    def _member(self, type: Type, name: str, place: int, calling: bool, mode: int) -> Type:
        found = self._lookup(type, name)
        recorder = self.recorder
        if found is None or found is UNSURE or found is AMBIGUOUS:
            if calling and recorder is not None:
                why = "its type has no such member"
                if found is not None and isinstance(found.type, Unknown):
                    why = found.type.why
                recorder.unsettled(name, self._line(place), why)
            return UNKNOWN
        if recorder is not None:
            if found.decls:
                decls = visible(found.decls, self.file)
                if calling:
                    recorder.call(decls, self._line(place))
                else:
                    recorder.refer(decls, self._line(place))
            elif found.method is not None:
                if calling:
                    recorder.call_method(found.method, self._line(place))
                else:
                    recorder.refer_method(found.method, self._line(place))
        if mode == TYPE and isinstance(found.type, Func) and (found.decls or found.method is not None):
            return Func([type, *found.type.params], found.type.results, found.type.variadic)
        return found.type

    def _lookup(self, type: Type, name: str) -> Selection | None:
        package = self.file.package
        found = select(self.typer, type, name, package)
        if found is not None and found is not UNSURE:
            return found
        # A build-tag twin of the type may be the one that this file is built with.
        base = type.elem if isinstance(type, Pointer) else type
        if isinstance(base, Named) and base.decl.twins is not None:
            for twin in visible(base.decl.twins, self.file):
                if twin is not base.decl:
                    other = self.typer.type_of(twin)
                    again = select(self.typer, other, name, package)
                    if again is not None and again is not UNSURE:
                        return again
        return found

    def _star(self) -> Type:
        type = self.expression()
        if self.mode == TYPE:
            return Pointer(type)
        if isinstance(type, Unknown) and type.name:
            self.mode = TYPE  # of a missing package: most likely a type, and harmless if it is a value
            return Pointer(type)
        under = self.under(type)
        self.mode = VALUE
        if isinstance(under, Pointer):
            return under.elem
        return type if isinstance(type, Unknown) else UNKNOWN

    def _address(self, expected: Type | None) -> Type:
        inner: Type | None = None
        if expected is not None:
            under = self.under(expected)
            if isinstance(under, Pointer):
                inner = under.elem
        type = self.expression(False, inner)
        self.mode = VALUE
        return Pointer(type)

    def _binary(self, op: int) -> Type:
        """A chain of operators that lean to the left: read the first operand, then the right ones inside out."""
        ops = [op]
        code = self.code
        while code[self.at] == c.BINARY or code[self.at] == c.COMPARE or code[self.at] == c.SHIFT:
            ops.append(code[self.at])
            self.at += 1
        left = self.expression()
        while ops:
            operator = ops.pop()
            right = self.expression()
            if operator == c.COMPARE:
                left = UNTYPED_BOOL
            elif operator == c.BINARY:
                left = _arithmetic(left, right)
        self.mode = VALUE
        return left

    def _index(self, calling: bool) -> Type:
        count = self._next()
        type = self.expression(calling)
        mode = self.mode
        if mode == TYPE:
            args = [self.type() for _ in range(count)]
            self.mode = TYPE
            if isinstance(type, Named):
                return instantiate(type, args)
            if isinstance(type, GenericAlias):
                return substitute(type.type, type.params, args)
            return type
        if isinstance(type, Func) and type.type_params:
            args = [self.type() for _ in range(count)]
            self.mode = VALUE
            return _instantiated(type, args)
        for _ in range(count):
            self.expression()
        self.mode = VALUE
        if isinstance(type, Unknown):
            return Unknown(type.why, type.package)  # an element, or another instantiation: no longer what has the name
        return self._element_of(type)

    def _element_of(self, type: Type) -> Type:
        under = self.under(type)
        if isinstance(under, Pointer):
            under = self.under(under.elem)
        if isinstance(under, Slice):
            return under.elem
        if isinstance(under, Map):
            return under.elem
        if isinstance(under, Array):
            return under.elem
        return BYTE if isinstance(under, Basic) else UNKNOWN

    def _slice(self) -> Type:
        count = self._next()
        type = self.expression()
        for _ in range(count):
            self.expression()
        under = self.under(type)
        if isinstance(under, Pointer):
            under = self.under(under.elem)
            if isinstance(under, Array):
                return Slice(under.elem)
        if isinstance(under, Array):
            return Slice(under.elem)
        return default_type(type)

    # -- calls

    def _call(self) -> Type:
        count = self._next()
        spread = self._next() == 1
        type = self.expression(True)
        mode = self.mode
        if mode == BUILTIN and isinstance(type, Builtin):
            result = self._builtin(type.name, count)
            self.mode = VALUE
            return result
        if mode == TYPE:
            for _ in range(count):
                self.expression(False, type)
            self.mode = VALUE
            return type
        signature = self.under(type)
        if not isinstance(signature, Func):
            for _ in range(count):
                self.expression()
            self.mode = VALUE
            return type if isinstance(type, Unknown) else UNKNOWN
        if signature.type_params:
            result = self._call_generic(signature, count, spread)
        else:
            for _ in range(count):
                self.expression()
            result = signature.result()
        self.mode = VALUE
        return result

    def _call_generic(self, signature: Func, count: int, spread: bool) -> Type:
        arguments: list[Type] = []
        for _ in range(count):
            argument = self.expression()
            if count == 1 and isinstance(argument, Tuple):
                arguments = argument.types
            else:
                arguments.append(argument)
        args = infer(self.typer, signature, arguments, spread)
        return substitute_func(signature, signature.type_params, args).result()

    def _builtin(self, name: str, count: int) -> Type:
        if name == "new" or name == "make":
            type: Type = UNKNOWN
            for i in range(count):
                argument = self.expression()
                if i == 0:
                    type = argument if self.mode == TYPE else default_type(argument)
            return Pointer(type) if name == "new" else type
        types = [self.expression() for _ in range(count)]
        first = types[0] if types else UNKNOWN
        if name == "append":
            return first
        if name == "len" or name == "cap" or name == "copy":
            return INT
        if name == "min" or name == "max":
            for type in types:
                if not (isinstance(type, Basic) and type.untyped):
                    return type
            return first
        if name == "recover":
            return ANY
        if name == "complex":
            return COMPLEX
        if name == "real" or name == "imag":
            return FLOAT
        return self._unsafe(name, first)

    def _unsafe(self, name: str, first: Type) -> Type:
        if name == "unsafe.Slice":
            under = self.under(first)
            return Slice(under.elem) if isinstance(under, Pointer) else UNKNOWN
        if name == "unsafe.String":
            return STRING
        if name == "unsafe.StringData" or name == "unsafe.SliceData":
            under = self.under(first)
            return Pointer(under.elem if isinstance(under, Slice) else BYTE)
        if name == "unsafe.Add":
            return POINTER
        if name.startswith("unsafe."):
            return UINTPTR
        return NOTHING

    # -- composite literals

    def _composite(self) -> Type:
        count = self._next()
        type = self.type()
        self._elements(type, count)
        self.mode = VALUE
        return type

    def _elided(self, expected: Type | None) -> Type:
        count = self._next()
        type = UNKNOWN if expected is None else expected
        literal = type
        if isinstance(type, Pointer):
            literal = type.elem
        self._elements(literal, count)
        self.mode = VALUE
        return type

    def _elements(self, type: Type, count: int) -> None:
        under = self.under(type)
        if isinstance(under, Struct):
            self._struct_elements(under, count)
            return
        index: Type | None = None
        elem: Type | None = None
        if isinstance(under, (Slice, Array)):
            elem = under.elem
        elif isinstance(under, Map):
            index = under.index
            elem = under.elem
        known = elem is not None
        for _ in range(count):
            if self.code[self.at] == c.KEYED:
                self.at += 1
                if not known and self.code[self.at] == c.NAME:
                    self.at += 3  # a field's name or a variable: without the type there is no telling
                else:
                    self.expression(False, index)
            self.expression(False, elem)

    def _struct_elements(self, struct: Struct, count: int) -> None:
        for i in range(count):
            field: Type | None = None
            if self.code[self.at] == c.KEYED:
                self.at += 1
                if self.code[self.at] == c.NAME:
                    name = self.names[self.code[self.at + 1]]
                    self.at += 3
                    for candidate in struct.fields:
                        if candidate.name == name:
                            field = candidate.type
                else:
                    self.expression()
            elif i < len(struct.fields):
                field = struct.fields[i].type
            self.expression(False, field)

    # -- functions and types

    def _function(self) -> Func:
        self.open()
        type = self.signature(True)
        self.statements()
        self.close()
        return type

    def signature(self, bind: bool) -> Func:
        """Read a signature; its parameters and named results become local names if asked."""
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
        """Read a list of type parameters and bind their names; `known` are those it was read as before.

        A parameter is one object, by which instantiation knows it: whoever reads a list again must hand it in.
        """
        count = self._next()
        if not count:
            return []
        if known is not None and len(known) == count:
            return self._known_parameters(known)
        start = self.at
        params: list[TypeParam] = []
        recorder = self.recorder
        self.recorder = None
        for i in range(count):
            name = self.names[self._next()]
            params.append(TypeParam(name, i, owner))
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
        """Pass over one code without asking what its names mean."""
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
            elif op == c.INDEX or op == c.SLICE or op == c.COMPOSITE:
                pending += code[self.at] + 1
                self.at += 1
            elif op == c.UNION or op == c.ELIDED:
                pending += code[self.at]
                self.at += 1
            elif op == c.INT:
                self.at += 1
            elif op == c.CHANNEL:
                self.at += 1
                pending += 1
            elif op in _ONE:
                pending += 1
            elif op in _TWO:
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
            index = self.type()
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

    def _length(self) -> str:
        """An array's length: the number where it is plain to see, else a text that stands for it."""
        start = self.at
        self.expression()
        if self.code[start] == c.INT:
            return str(self.code[start + 1])
        if self.code[start] == c.NAME and self.at == start + 3:
            value = self.typer.integer(self.file, self.names[self.code[start + 1]])
            if value >= 0:
                return str(value)
        return "n"

    def _struct(self) -> Type:
        owner = self.owner
        self.owner = None
        count = self._next()
        fields: list[Field] = []
        for _ in range(count):
            name = self.names[self._next()]
            embedded = self._next() == 1
            fields.append(Field(name, self.type(), embedded))
        self.owner = owner
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

    # -- statements

    def statements(self) -> None:
        """Run statements up to END."""
        code = self.code
        while True:
            op = code[self.at]
            self.at += 1
            if op == c.EVALUATE:
                self.expression()
            elif op == c.END:
                return
            elif op == c.OPEN:
                self.open()
            elif op == c.CLOSE:
                self.close()
            elif op == c.DEFINE:
                self._define()
            elif op == c.ASSIGN:
                count = code[self.at] + code[self.at + 1]
                self.at += 2
                for _ in range(count):
                    self.expression()
            elif op == c.VAR:
                self._values(False)
            elif op == c.CONST:
                self._values(True)
            elif op == c.RANGE:
                self._range()
            elif op == c.TYPE:
                self._local_type()
            elif op == c.SWITCH_TYPE:
                self._guards.append(self.expression())
            elif op == c.CASE_TYPE:
                self._case_type()
            elif op == c.SWITCH_END:
                self._guards.pop()

    def _define(self) -> None:
        count = self._next()
        values = self._next()
        names = [self.names[self._next()] for _ in range(count)]
        types = self._values_for(count, values)
        for i, name in enumerate(names):
            if self._scope_depth.get(name, -1) == self._level and name in self._scope and count > 1:
                continue  # declared above in this scope: := only assigns
            self.bind(name, default_type(types[i]) if i < len(types) else UNKNOWN)

    def _values_for(self, count: int, values: int) -> list[Type]:
        """The types of `values` expressions as they are spread over `count` names."""
        if values == 1 and count > 1:
            op = self.code[self.at]
            type = self.expression()
            if isinstance(type, Tuple):
                return type.types
            if op == c.CALL:
                return [type if isinstance(type, Unknown) else UNKNOWN] * count
            return [type, BOOL]  # the comma-ok forms
        return [self.expression() for _ in range(values)]

    def _values(self, const: bool) -> None:
        count = self._next()
        typed = self._next()
        values = self._next()
        names = [self.names[self._next()] for _ in range(count)]
        declared: Type | None = self.type() if typed else None
        types = self._values_for(count, values)
        if const:
            if typed or values:
                self._constant = types if declared is None else [declared] * count
            types = self._constant
        for i, name in enumerate(names):
            type = declared
            if type is None:
                type = types[i] if i < len(types) else UNKNOWN
                if not const:
                    type = default_type(type)
            self.bind(name, type)

    def _local_type(self) -> None:
        name = self.names[self._next()]
        alias = self._next() == 1
        decl = Declaration(self.file, f.Decl(f.TYPE, name, "", -1), -1)
        if alias:
            self.open()
            params = self.type_parameters("local")
            type = self.type()
            self.close()
            self.bind(name, TypeName(GenericAlias(type, params) if params else type))
            return
        named = Named(decl, [], None)
        named.local = True
        named.text = f"local {name} in {self.file.path}:{self.at}"
        decl.type = named
        self.bind(name, TypeName(named))
        self.open()
        named.params = self.type_parameters(named.text)
        type = self.type()
        named.under = self.under(type) if isinstance(type, Named) else type
        self.close()

    def _range(self) -> None:
        defines = self._next() == 1
        count = self._next()
        types = self._ranged(self.expression())
        for i in range(count):
            if defines:
                name = self.names[self._next()]
                self.bind(name, types[i] if i < len(types) else UNKNOWN)
            else:
                self.expression()

    def _ranged(self, type: Type) -> list[Type]:
        """The types of the variables of a range over a value of this type."""
        under = self.under(type)
        if isinstance(under, Pointer):
            under = self.under(under.elem)
        if isinstance(under, Slice):
            return [INT, under.elem]
        if isinstance(under, Map):
            return [under.index, under.elem]
        if isinstance(under, Array):
            return [INT, under.elem]
        if isinstance(under, Chan):
            return [under.elem]
        if isinstance(under, Func):
            if under.params:
                yielded = self.under(under.params[0])
                if isinstance(yielded, Func):
                    return yielded.params
            return []
        if isinstance(under, Basic):
            if under is STRING or under is UNTYPED_STRING:
                return [INT, RUNE]
            return [default_type(type)]
        if isinstance(type, Unknown):
            return [type, type]
        return []

    def _case_type(self) -> None:
        name = self.names[self._next()]
        count = self._next()
        guard = self._guards[-1] if self._guards else UNKNOWN
        bound = guard
        for _ in range(count):
            type = self.expression()
            if count == 1 and type is not UNTYPED_NIL:
                bound = type
        if name:
            self.bind(name, bound)


_ONE: Final = frozenset(
    (
        c.STAR, c.ADDRESS, c.RECEIVE, c.UNARY, c.NOT, c.ARRAY_AUTO, c.SLICE_OF, c.TILDE,
    )
)  # fmt: skip
_TWO: Final = frozenset((c.ASSERT, c.BINARY, c.SHIFT, c.COMPARE, c.KEYED, c.ARRAY, c.MAP))


def _arithmetic(left: Type, right: Type) -> Type:
    """The type of a binary operation: the typed side decides."""
    if isinstance(left, Basic) and left.untyped:
        if isinstance(right, Basic) and right.untyped:
            return left if _RANK.get(left.name, 0) >= _RANK.get(right.name, 0) else right
        return right
    if isinstance(left, Unknown) and not (isinstance(right, Basic) and right.untyped):
        return right
    return left


_RANK: Final = {"untyped int": 1, "untyped rune": 2, "untyped float": 3, "untyped complex": 4}


def _instantiated(type: Func, args: list[Type]) -> Func:
    """A generic function with some or all of its type arguments given."""
    params = type.type_params
    if len(args) >= len(params):
        changed = substitute_func(type, params, args)
        if changed is type:
            changed = Func(type.params, type.results, type.variadic)
        changed.type_params = []
        return changed
    partial = Func(type.params, type.results, type.variadic)
    partial.type_params = params
    partial.given = args
    return partial
