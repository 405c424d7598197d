"""Determines the types of expressions by Go's rules, and records what they use.

With a `UseRecorder`, every use is recorded, resolved or not. After `expression`, `mode`
says what the returned type describes: a value, a type itself, a package or a built-in function.

This is not a type checker: code is assumed to be valid, constants are not computed, and a type that cannot be
determined is `Unknown`.
"""

from __future__ import annotations

from typing import Final

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.resolution.generics import infer, instantiate, substitute, substitute_func
from golore.learner.resolution.members import AMBIGUOUS, UNCERTAIN, select, visible
from golore.learner.resolution.places import Places
from golore.learner.resolution.type_reader import BUILTIN, PACKAGE, TYPE, VALUE
from golore.learner.resolution.types import (
    NOTHING,
    UNKNOWN,
    Array,
    Basic,
    Builtin,
    Chan,
    Declaration,
    DeclName,
    Field,
    Func,
    GenericAlias,
    Interface,
    Map,
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
    Unknown,
    is_exported,
)
from golore.learner.resolution.universe import (
    ANY,
    BYTE,
    COMPLEX,
    FLOAT,
    INT,
    POINTER,
    STRING,
    UINTPTR,
    UNTYPED_BOOL,
    UNTYPED_COMPLEX,
    UNTYPED_FLOAT,
    UNTYPED_INT,
    UNTYPED_RUNE,
    UNTYPED_STRING,
    default_type,
)
from golore.learner.resolution.use_recorder import ADDRESS, LITERAL, READ, member_id

MAX_DEPTH: Final = 1000


class Expressions(Places):
    """Evaluates expressions; `Evaluator` adds statements."""

    def statements(self) -> None:
        """Evaluate statements up to END."""
        raise NotImplementedError

    def expression(self, calling: bool = False, expected: Type | None = None) -> Type:
        """Read one expression or type and return its type; sets `mode`.

        `calling`: it is the function of a call; only then is its use recorded as a call. `expected`
        is the type of a composite literal that omits it. Raises RecursionError if code nests deeper than `MAX_DEPTH`.
        """
        if self.depth > MAX_DEPTH:
            raise RecursionError("code nested too deeply")
        self.depth += 1
        op = self._next()
        if op == c.NAME:
            type = self._name(calling)
        elif op == c.SELECT:
            type = self._select(calling, READ)
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
            type = self._rare_expression(op)
        self.depth -= 1
        return type

    def _rare_expression(self, op: int) -> Type:
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
            value = self.expression()
            type = self.type()
            self.convert_interface(value, type)
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

    def _name(self, calling: bool) -> Type:
        name = self.names[self._next()]
        line_ref = self._next()
        self.mode = VALUE
        type = self._scope.get(name)
        if type is None:
            type = self.typer.lookup(self.file, name)
            if type is None:
                if self.recorder is not None and name != "_":  # an assignment to the blank name uses nothing
                    self.recorder.record_unresolved(name, self._line(line_ref), "no declaration of this name was found")
                return UNKNOWN
            if isinstance(type, DeclName):
                return self._use(type.decls, line_ref, calling)
            if isinstance(type, PackageName):
                self.mode = PACKAGE
                return type
            if isinstance(type, Builtin):
                self.mode = BUILTIN
                return type
        if isinstance(type, TypeName):
            self.mode = TYPE
            return type.type
        if self.copies and name in self.copies and self.recorder is not None:
            self.recorder.copies.update(self.copies[name])
        return type

    def _use(self, decls: list[Declaration], line_ref: int, calling: bool) -> Type:
        """Record a use of a package-level declaration and return its type."""
        decl = decls[0]
        kind = decl.kind
        recorder = self.recorder
        if recorder is not None:
            if calling and kind == f.FUNC:
                recorder.call(decls, self._line(line_ref))
            else:
                recorder.refer(decls, self._line(line_ref))
        self.mode = TYPE if kind == f.TYPE or kind == f.ALIAS else VALUE
        return self.typer.type_of(decl)

    def accessed(self, access: int, expected: Type | None = None) -> Type:
        """Read an expression that is assigned to or whose address is taken. It is a use of a field if it selects one.

        Other fields on the way to that field are only read: `b` in `a.b.c = 1`, `a.b[0] = 1` and `*a.b = 1`.
        """
        if self.code[self.at] == c.SELECT:
            self.at += 1
            return self._select(False, access)
        return self.expression(False, expected)

    def _select(self, calling: bool, access: int) -> Type:
        name = self.names[self._next()]
        line_ref = self._next()
        operand = self.at
        type = self.expression()
        mode = self.mode
        self.mode = VALUE
        if mode == PACKAGE and isinstance(type, PackageName):
            return self._member_of_package(type, name, line_ref, calling)
        if isinstance(type, Pointer) and isinstance(type.elem, Unknown):
            type = type.elem
        if isinstance(type, Unknown):
            if self.recorder is not None:
                self.recorder.record_unresolved(name, self._line(line_ref), type.why)
            return UNKNOWN if not type.package else Unknown(type.why, type.package)
        return self._member(type, name, line_ref, calling, mode, access, operand)

    def _member_of_package(self, imported: PackageName, name: str, line_ref: int, calling: bool) -> Type:
        package = imported.package
        if package is None:
            return self._member_of_missing(imported, name, line_ref, calling)
        decls = package.members.get(name)
        if decls is not None and is_exported(name):
            if package.has_tests and not self.file.package.sees_tests_of(package):
                decls = [decl for decl in decls if not decl.file.test]
            if decls:
                return self._use(visible(decls, self.file), line_ref, calling)
        if self.recorder is not None:
            self.recorder.record_unresolved(name, self._line(line_ref), f"package {imported.path} does not declare it")
        return UNKNOWN

    def _member_of_missing(self, imported: PackageName, name: str, line_ref: int, calling: bool) -> Type:
        if imported.path == "unsafe":
            if name == "Pointer":
                if self.recorder is not None:
                    self.recorder.refer_pointer(self._line(line_ref))
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
                self.recorder.record_unresolved(name, self._line(line_ref), why, target)
            else:
                self.recorder.refer_missing(target, name, imported.path, self._line(line_ref))
        return Unknown(why, imported.path, name)

    def _member(
        self, type: Type, name: str, line_ref: int, calling: bool, mode: int, access: int, operand: int
    ) -> Type:
        found = self._lookup(type, name)
        recorder = self.recorder
        if found is None or found is UNCERTAIN or found is AMBIGUOUS:
            if recorder is not None:
                why = "its type has no such member"
                if found is not None and isinstance(found.type, Unknown):
                    why = found.type.why
                recorder.record_unresolved(name, self._line(line_ref), why)
            return UNKNOWN
        if recorder is not None:
            if found.decls:
                decls = visible(found.decls, self.file)
                if calling:
                    recorder.call(decls, self._line(line_ref))
                else:
                    recorder.refer(decls, self._line(line_ref))
                if decls[0].pointer:
                    self.set_variable(operand)
            elif found.method is not None:
                if calling:
                    recorder.call_method(found.method, self._line(line_ref))
                else:
                    recorder.refer_method(found.method, self._line(line_ref))
            elif found.field is not None:
                self._use_field(found.field, line_ref, access)
        if mode == TYPE and isinstance(found.type, Func) and (found.decls or found.method is not None):
            return Func([type, *found.type.params], found.type.results, found.type.variadic)
        return found.type

    def _use_field(self, field: Field, line_ref: int, access: int) -> None:
        """Record a use of a field, also of the twins of its type that the file can be built with."""
        owner = field.owner
        recorder = self.recorder
        if owner is None or not owner.id or recorder is None:
            return
        line = self._line(line_ref)
        recorder.use_field(owner, field.path, line, access)
        if owner.twins is not None:
            for twin in visible(owner.twins, self.file):
                if twin is not owner and self._declares_field(twin, field.path):
                    recorder.use_field(twin, field.path, line, access)
        if (access != READ or recorder.is_conditional) and isinstance(self.under(field.type), Func):
            self._use_function(owner, field, access)

    def _use_function(self, owner: Declaration, field: Field, access: int) -> None:
        """Note a use of a field for functions that matters to when these run (see `UseRecorder.finish`)."""
        ids = [member_id(owner, field.path)]
        if owner.twins is not None:
            ids += [
                member_id(twin, field.path)
                for twin in visible(owner.twins, self.file)
                if twin is not owner and self._declares_field(twin, field.path)
            ]
        if self.recorder is not None:
            self.recorder.function_fields.update(ids)
        if access != READ and access != ADDRESS and not owner.file.package.external:
            self.written = ids

    def _declares_field(self, decl: Declaration, path: str) -> bool:
        under = self.under(self.typer.type_of(decl))
        return isinstance(under, Struct) and any(field.path == path and field.owner is decl for field in under.fields)

    def _lookup(self, type: Type, name: str) -> Selection | None:
        found = select(self.typer, type, name, self.file)
        if found is not None and found is not UNCERTAIN:
            return found
        # A build-tag twin of the type may be the one that this file is built with.
        base = type.elem if isinstance(type, Pointer) else type
        if isinstance(base, Named) and base.decl.twins is not None:
            for twin in visible(base.decl.twins, self.file):
                if twin is not base.decl:
                    other = self.typer.type_of(twin)
                    twin_selection = select(self.typer, other, name, self.file)
                    if twin_selection is not None and twin_selection is not UNCERTAIN:
                        return twin_selection
        return found

    def _star(self) -> Type:
        type = self.expression()
        if self.mode == TYPE:
            return Pointer(type)
        if isinstance(type, Unknown) and type.name:
            self.mode = TYPE  # of a missing package: most likely a type; harmless if it is a value
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
        if self.recorder is not None:
            self.set_variable(self.at)
        type = self.accessed(ADDRESS, inner)
        self.mode = VALUE
        return Pointer(type)

    def _binary(self, op: int) -> Type:
        """Evaluate a chain of operators that nests on the left: the first operand, then the others in source order."""
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
                self._instantiate(type.params, args)
                return instantiate(type, args)
            if isinstance(type, GenericAlias):
                self._instantiate(type.params, args)
                return substitute(type.type, type.params, args)
            return type
        if isinstance(type, Func) and type.type_params:
            args = [self.type() for _ in range(count)]
            self.mode = VALUE
            self._instantiate(type.type_params, args)
            return _instantiated(type, args)
        if isinstance(type, Unknown):
            return self._index_of_unknown(type, count)
        under = self.under(type)
        for _ in range(count):
            index = self.expression()
            if isinstance(under, Map):
                self.convert(index, under.index)
        self.mode = VALUE
        return self._element_of(type)

    def _index_of_unknown(self, type: Unknown, count: int) -> Type:
        """Read the indices of an expression of unknown type: `dep.Stream[Item]` is a type, `dep.Table[i]` an element.

        The first keeps its name, because the same name with the same type arguments is the same type. If nothing says
        whether an index is a type (`dep.Table[dep.X]`), it counts as one.
        """
        args: list[Type] = []
        for _ in range(count):
            arg = self.expression()
            if self.mode == TYPE or (isinstance(arg, Unknown) and arg.name):
                args.append(arg)
        self.mode = VALUE
        if type.name and not type.args and len(args) == count:
            return Unknown(type.why, type.package, type.name, args)
        return Unknown(type.why, type.package)

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
        stored_in = self.stored_in
        if not stored_in:
            return self._called("")
        self.stored_in = ""
        type = self._called(stored_in)
        self.stored_in = stored_in
        return type

    def _called(self, stored_in: str) -> Type:
        """Read a call, or a conversion of a value that is stored in a variable."""
        count = self._next()
        spread = self._next() == 1
        if stored_in and self.is_delayed():
            self.stored_in = stored_in
        type = self.expression(True)
        mode = self.mode
        if mode == BUILTIN and isinstance(type, Builtin):
            result = self._builtin(type.name, count)
            self.mode = VALUE
            return result
        if mode == TYPE:
            self.stored_in = stored_in
            for _ in range(count):
                self.convert(self.expression(False, type), type)
            self.mode = VALUE
            return type
        signature = self.under(type)
        if not isinstance(signature, Func):
            for _ in range(count):
                self.convert(self.expression(), UNKNOWN)
            self.mode = VALUE
            return type if isinstance(type, Unknown) else UNKNOWN
        if signature.type_params:
            result = self._call_generic(signature, count, spread)
        else:
            for i in range(count):
                argument = self.expression()
                if isinstance(argument, Tuple):
                    self._pass(argument.types, signature, spread)
                else:
                    self.convert(argument, _parameter(signature, i, spread))
            result = signature.result()
        self.mode = VALUE
        return result

    def _pass(self, arguments: list[Type], signature: Func, spread: bool) -> None:
        for i, argument in enumerate(arguments):
            self.convert(argument, _parameter(signature, i, spread))

    def _call_generic(self, signature: Func, count: int, spread: bool) -> Type:
        arguments: list[Type] = []
        for _ in range(count):
            argument = self.expression()
            if count == 1 and isinstance(argument, Tuple):
                arguments = argument.types
            else:
                arguments.append(argument)
        args = infer(self.typer, signature, arguments, spread)
        called = substitute_func(signature, signature.type_params, args)
        if self.recorder is not None:
            self._instantiate(signature.type_params, args)
            self._pass(arguments, called, spread)
        return called.result()

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
            under = self.under(first)
            if isinstance(under, Slice):
                for type in types[1:]:
                    self.convert(type, under.elem)
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
        if name == "panic":
            self.convert(first, ANY)
            return NOTHING
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
        line_ref = self._next()
        type = self.type()
        self.owner = None  # structs in the elements are not part of the owner's type
        self._elements(type, count, line_ref)
        self.mode = VALUE
        return type

    def _elided(self, expected: Type | None) -> Type:
        count = self._next()
        line_ref = self._next()
        type = UNKNOWN if expected is None else expected
        literal = type
        if isinstance(type, Pointer):
            literal = type.elem
        self._elements(literal, count, line_ref)
        self.mode = VALUE
        return type

    def _elements(self, type: Type, count: int, line_ref: int) -> None:
        under = self.under(type)
        if isinstance(under, Struct):
            self._struct_elements(under, count, line_ref)
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
                    self.at += 3  # a field name or a variable: ambiguous without the type
                else:
                    key = self.expression(False, index)
                    if index is not None:
                        self.convert(key, index)
            value = self.expression(False, elem)
            if elem is not None:
                self.convert(value, elem)

    def _struct_elements(self, struct: Struct, count: int, line_ref: int) -> None:
        """Read the elements of a struct literal. Without keys, they set all fields of the struct."""
        if count == c.DATA:
            for field in struct.fields:
                self._use_field(field, line_ref, LITERAL)
            return
        for i in range(count):
            type: Type | None = None
            self.written = []
            if self.code[self.at] == c.KEYED:
                self.at += 1
                if self.code[self.at] == c.NAME:
                    name = self.names[self.code[self.at + 1]]
                    key_line = self.code[self.at + 2]
                    self.at += 3
                    key = self._field_named(struct, name)
                    if key is not None:
                        type = key.type
                        self._use_field(key, key_line, LITERAL)
                else:
                    self.expression()
            elif i < len(struct.fields):
                type = struct.fields[i].type
                self._use_field(struct.fields[i], line_ref, LITERAL)
            value = self.stored(self.written, type)
            self.convert(value, UNKNOWN if type is None else type)

    def _field_named(self, struct: Struct, name: str) -> Field | None:
        """Return the field that a key of a literal names. Since Go 1.27 it may be promoted."""
        for field in struct.fields:
            if field.name == name:
                return field
        found = select(self.typer, struct, name, self.file)
        return None if found is None else found.field

    def _function(self) -> Func:
        stored_in = self.stored_in
        recorder = self.recorder if stored_in else None
        if recorder is not None:
            self.stored_in = ""
            recorder.begin()
        self.open()
        type = self.signature(True)
        results = self.results
        self.results = type.results
        self.statements()
        self.results = results
        self.close()
        if recorder is not None:
            self.stored_in = stored_in
            recorder.end([stored_in])
        return type

    # -- functions as values

    def stored(self, places: list[str], expected: Type | None = None) -> Type:
        """Read a value that is stored in a field or variable, if there is one. If it is a function, what it uses is
        used only by those who read the place."""
        recorder = self.recorder
        if not places or recorder is None or not self.is_function():
            return self.expression(False, expected)
        stored_in = self.stored_in
        self.stored_in = ""
        recorder.begin()
        type = self.expression(False, expected)
        recorder.end(places)
        self.stored_in = stored_in
        return type

    # -- conversions to interfaces

    def convert(self, source: Type, target: Type) -> None:
        """Record the conversion of a value to the type that its place requires, if that is an interface."""
        if self.recorder is not None:
            self.conversions.add(source, target)

    def convert_interface(self, source: Type, target: Type) -> None:
        """Like `convert`, for a type assertion: only one to an interface converts."""
        if self.recorder is not None and isinstance(self.under(target), Interface):
            self.conversions.add(source, target)

    def _instantiate(self, params: list[TypeParam], args: list[Type]) -> None:
        if self.recorder is not None:
            self.conversions.instantiate(params, args)


def _parameter(signature: Func, position: int, spread: bool) -> Type:
    """Return the type of the parameter that an argument is passed to."""
    params = signature.params
    last = len(params) - 1
    if position < last or not signature.variadic or spread:
        return params[position] if position <= last else NOTHING
    variadic = params[last]
    return variadic.elem if isinstance(variadic, Slice) else variadic


def _arithmetic(left: Type, right: Type) -> Type:
    """Return the type of an arithmetic operation: the type of the typed operand."""
    if isinstance(left, Basic) and left.untyped:
        if isinstance(right, Basic) and right.untyped:
            return left if _RANK.get(left.name, 0) >= _RANK.get(right.name, 0) else right
        return right
    if isinstance(left, Unknown) and not (isinstance(right, Basic) and right.untyped):
        return right
    return left


_RANK: Final = {"untyped int": 1, "untyped rune": 2, "untyped float": 3, "untyped complex": 4}


def _instantiated(type: Func, args: list[Type]) -> Func:
    """Return a generic function with some or all of its type arguments given."""
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
