"""Evaluates the statements of a body in order: opens and closes scopes, binds variables, evaluates expressions.

`Evaluator` is the class that the rest of the learner uses: it reads types and evaluates expressions and statements of
one file.
"""

from __future__ import annotations

from typing import final

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.resolution.expressions import Expressions
from golore.learner.resolution.type_reader import LOCAL
from golore.learner.resolution.types import (
    NOTHING,
    UNKNOWN,
    Array,
    Basic,
    Chan,
    Declaration,
    Func,
    GenericAlias,
    Map,
    Named,
    Pointer,
    Slice,
    Tuple,
    Type,
    TypeName,
    Unknown,
)
from golore.learner.resolution.universe import (
    BOOL,
    INT,
    RUNE,
    STRING,
    UNTYPED_NIL,
    UNTYPED_STRING,
    default_type,
)
from golore.learner.resolution.use_recorder import COPY, WRITE


@final
class Evaluator(Expressions):
    """Evaluates the code of one file."""

    def statements(self) -> None:
        """Evaluate statements up to END."""
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
                self._assign()
            elif op == c.RETURN:
                self._return()
            elif op == c.VAR:
                self._value_spec(False)
            elif op == c.CONST:
                self._value_spec(True)
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
            elif op == c.SEND:
                under = self.under(self.expression())
                self.convert(self.expression(), under.elem if isinstance(under, Chan) else UNKNOWN)

    def _assign(self) -> None:
        targets = self._next()
        values = self._next()
        if targets == 1 and values == 1:
            is_part = self.code[self.at] == c.SELECT or self.code[self.at] == c.INDEX
            target = self._target()
            places = self.written
            if is_part and not places and self.initialised:
                places = [self.initialised]
            self.convert(self.stored(places), target)
            return
        types = [self._target() for _ in range(targets)]
        self._store(self._value_types(targets, values), types)

    def _target(self) -> Type:
        """Read one operand on the left of an assignment. Returns no type for the blank name.

        `written` is the field or variable that it is, if it is for functions."""
        self.written = []
        is_blank = self.code[self.at] == c.NAME and self.names[self.code[self.at + 1]] == "_"
        recorder = self.recorder
        if is_blank or recorder is None:
            type = self.accessed(WRITE)
            return NOTHING if is_blank else type
        variables = self.variable(self.at)
        if not variables:
            return self.accessed(WRITE)
        recorder.sets.update([decl.id for decl in variables])
        if not self.is_whole(self.at):
            return self.accessed(WRITE)
        recorder.begin()
        type = self.accessed(WRITE)
        recorder.end([])
        if isinstance(self.under(type), Func):
            self.written = [decl.id for decl in variables]
        return type

    def _store(self, values: list[Type], targets: list[Type]) -> None:
        for value, target in zip(values, targets, strict=False):
            self.convert(value, target)

    def _return(self) -> None:
        count = self._next()
        self._store(self._value_types(len(self.results), count), self.results)

    def _define(self) -> None:
        count = self._next()
        values = self._next()
        names = [self.names[self._next()] for _ in range(count)]
        if count == 1 and self.code[self.at] == c.SELECT and self.recorder is not None:
            self._copy(names[0])
            return
        types = self._value_types(count, values)
        for i, name in enumerate(names):
            if self._scope_depth.get(name, -1) == self._level and name in self._scope and count > 1:
                if i < len(types):
                    self.convert(types[i], self._scope[name])
                continue  # already declared in this scope: := only assigns
            self.bind(name, default_type(types[i]) if i < len(types) else UNKNOWN)

    def _copy(self, name: str) -> None:
        """Read the definition of a name as a field or a member of a package."""
        self.written = []
        type = self.accessed(COPY)
        self.bind(name, default_type(type))
        if self.written:
            self.copies[name] = self.written

    def _value_types(self, count: int, values: int) -> list[Type]:
        """Evaluate `values` expressions that are assigned to `count` names. Returns the types of the names."""
        if values == 1 and count > 1:
            op = self.code[self.at]
            type = self.expression()
            if isinstance(type, Tuple):
                return type.types
            if op == c.CALL:
                return [type if isinstance(type, Unknown) else UNKNOWN] * count
            return [type, BOOL]  # the comma-ok forms
        return [self.expression() for _ in range(values)]

    def _value_spec(self, const: bool) -> None:
        count = self._next()
        typed = self._next()
        values = self._next()
        names = [self.names[self._next()] for _ in range(count)]
        declared: Type | None = self.type() if typed else None
        types = self._value_types(count, values)
        if const:
            if typed or values:
                self._const_types = types if declared is None else [declared] * count
            types = self._const_types
        for i, name in enumerate(names):
            type = declared
            if type is not None and i < len(types) and name != "_":
                self.convert(types[i], type)
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
            params = self.type_parameters(LOCAL)
            type = self.type()
            self.close()
            self.bind(name, TypeName(GenericAlias(type, params) if params else type))
            return
        named = Named(decl, [], None)
        named.local = True
        named.under = UNKNOWN  # in case it is needed while it is being read
        named.text = f"{LOCAL} {name} in {self.file.path}:{self.at}"
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
        types = self._range_types(self.expression())
        for i in range(count):
            if defines:
                name = self.names[self._next()]
                self.bind(name, types[i] if i < len(types) else UNKNOWN)
            else:
                target = self._target()
                if i < len(types):
                    self.convert(types[i], target)

    def _range_types(self, type: Type) -> list[Type]:
        """Return the types of the variables of a range over a value of this type."""
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
                yield_func = self.under(under.params[0])
                if isinstance(yield_func, Func):
                    return yield_func.params
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
            self.convert_interface(guard, type)
            if count == 1 and type is not UNTYPED_NIL:
                bound = type
        if name:
            self.bind(name, bound)
