"""Writes the code (see `opcodes`) of bodies and values from their tokens, without a syntax tree.

Building the tree of a body costs several times as much as encoding it. So bodies of plain, complete Go are parsed here,
by Go's grammar, in one pass over the tokens. Anything else raises `CannotEncode`, and the file is read from its syntax
tree instead (see `tree_encoder`), which also handles broken code. Both write the same opcodes; a test compares them.

Code is in prefix order, but many operators follow their first operand in the source: their opcode is inserted before
the code of that operand. Positions that are reserved for counts always precede the insertion.
"""
# pyright: reportUnnecessaryComparison=false
# pyright assumes that `_kind` keeps the value it was compared with, also after a call of `_next`.

from __future__ import annotations

from typing import Final, cast, final

from golore.learner.extraction import lexer as t
from golore.learner.extraction import opcodes as c
from golore.learner.extraction.lexer import tokens_of
from golore.learner.extraction.short_forms import integer
from golore.learner.extraction.tree_encoder import (
    EXPRESSION_FRAMES,
    LINK_FRAMES,
    MAX_DEPTH,
    STATEMENT_FRAMES,
    TreeEncoder,
)

_PRECEDENCE: Final = (1, 2, 3, 4, 4, 4, 5, 5, 5, 5)
"""Precedence of the binary operators, by token kind minus `FIRST_BINARY`."""
_BINARY_CODE: Final = (c.COMPARE, c.COMPARE, c.COMPARE, *(c.BINARY,) * 6, c.SHIFT)

_OTHER: Final = 0
_NAMED: Final = 1
_LITERAL_TYPE: Final = 2
"""The forms of an operand. A `{` after a name may begin a composite literal, after a type such as `[]T` it always does,
after any other operand never."""


class CannotEncode(Exception):
    """The file is not plain, complete Go and must be read from its syntax tree."""


@final
class TokenEncoder:
    """Appends the code of the bodies of one file to the code of its `TreeEncoder`.

    `_in_head` is true between `if`, `for` or `switch` and its block, where `{` after a name begins the block.
    """

    def __init__(self, encoder: TreeEncoder) -> None:
        self._encoder: Final = encoder
        self._code: list[int] = encoder.code
        self._kinds: list[int] = []
        self._texts: list[bytes] = []
        self._lines: list[int] = []
        self._at = 0
        self._kind = 0
        self._depth = 0
        self._in_head = False

    def read_statements(self, source: bytes, start: int, end: int) -> None:
        """Write the statements between two offsets. If this raises `CannotEncode`, the code written is unusable."""
        self._tokenize(source, start, end)
        self._statements()
        self._expect(t.END)

    def read_value(self, source: bytes, start: int, end: int) -> None:
        """Like `read_statements`, for the expression between two offsets."""
        self._tokenize(source, start, end)
        self._code.append(c.EVALUATE)
        self._expression()
        self._expect(t.END)

    def _tokenize(self, source: bytes, start: int, end: int) -> None:
        found = tokens_of(source, start, end, self._encoder.line_of(start))
        self._kinds = found.kinds
        self._texts = found.texts
        self._lines = found.lines
        self._code = self._encoder.code
        self._depth = 0
        self._in_head = False
        self._go_to(0)

    # -- tokens

    def _go_to(self, at: int) -> None:
        self._at = at
        self._kind = self._kinds[at]

    def _next(self) -> None:
        self._at += 1
        self._kind = self._kinds[self._at]

    def _expect(self, kind: int) -> None:
        """Skip a token of this kind (`END` is not skipped); raises `CannotEncode` if the current token is another."""
        if self._kind != kind:
            raise CannotEncode
        if kind != t.END:
            self._next()

    def _name(self) -> None:
        """Write the number of the current name and skip it; raises `CannotEncode` if the token is not a name."""
        if self._kind != t.NAME:
            raise CannotEncode
        self._code.append(self._encoder.intern(self._texts[self._at]))
        self._next()

    def _closing_bracket(self, at: int) -> int:
        """Return the position of the bracket that closes the one at position `at`."""
        kinds = self._kinds
        depth = 0
        while True:
            kind = kinds[at]
            if t.LPAREN <= kind <= t.LBRACE:
                depth += 1
            elif t.RPAREN <= kind <= t.RBRACE:
                depth -= 1
                if not depth:
                    return at
            elif kind == t.END:
                raise CannotEncode
            at += 1

    def _descend(self, by: int) -> None:
        self._depth += by
        if self._depth > MAX_DEPTH:
            raise CannotEncode

    # -- expressions

    def _expression(self) -> None:
        self._descend(EXPRESSION_FRAMES)
        self._binary(1)
        self._depth -= EXPRESSION_FRAMES

    def _binary(self, weakest: int) -> None:
        start = len(self._code)
        self._unary()
        if self._kind < t.FIRST_BINARY:
            return
        operators: list[int] = []
        while self._kind >= t.FIRST_BINARY:
            operator = self._kind - t.FIRST_BINARY
            precedence = _PRECEDENCE[operator]
            if precedence < weakest:
                break
            self._next()
            operators.append(_BINARY_CODE[operator])
            self._binary(precedence + 1)
        if operators:
            # All at once: a generated constant may have 100,000 operators, and each insertion moves the code after it.
            operators.reverse()
            self._code[start:start] = operators

    def _unary(self) -> None:
        before = self._depth
        while True:
            kind = self._kind
            if kind == t.AND:
                op = c.ADDRESS
            elif kind == t.NOT:
                op = c.NOT
            elif kind == t.TIMES:
                op = c.STAR
            elif kind == t.ARROW and self._kinds[self._at + 1] != t.CHAN:
                op = c.RECEIVE
            elif kind == t.PLUS or kind == t.CARET:
                op = c.UNARY
            else:
                break
            self._code.append(op)
            self._next()
            self._descend(EXPRESSION_FRAMES)
        self._primary()
        self._depth = before

    def _primary(self) -> None:
        code = self._code
        start = len(code)
        before = self._depth
        form = self._operand()
        while True:
            self._descend(LINK_FRAMES)
            kind = self._kind
            if kind == t.LPAREN:
                code.insert(start, 0)
                code.insert(start, 0)
                code.insert(start, c.CALL)
                self._arguments(start + 1)
                form = _OTHER
            elif kind == t.DOT:
                following = self._kinds[self._at + 1]
                if following == t.NAME:
                    self._next()
                    code.insert(start, self._lines[self._at])
                    code.insert(start, self._encoder.intern(self._texts[self._at]))
                    code.insert(start, c.SELECT)
                    self._next()
                    form = form if form == _NAMED else _OTHER
                elif following == t.LPAREN and self._kinds[self._at + 2] != t.TYPE:
                    self._next()
                    self._next()
                    code.insert(start, c.ASSERT)
                    self._type()
                    self._expect(t.RPAREN)
                    form = _OTHER
                else:
                    break
            elif kind == t.LBRACK:
                self._index(start)
                form = form if form == _NAMED else _OTHER
            elif kind == t.LBRACE and (form == _LITERAL_TYPE or (form == _NAMED and not self._in_head)):
                code.insert(start, self._lines[self._at])
                code.insert(start, 0)
                code.insert(start, c.COMPOSITE)
                self._elements(start + 1)
                form = _OTHER
            else:
                break
        self._depth = before

    def _operand(self) -> int:
        """Write the first operand of an expression, for a name with its selectors and call. Returns its form."""
        code = self._code
        kind = self._kind
        if kind == t.NAME:
            self._selector_chain()
            return _NAMED if self._kinds[self._at - 1] == t.NAME else _OTHER
        if kind == t.STRING:
            code.append(c.STRING)
        elif kind == t.INT:
            code.append(c.INT)
            code.append(integer(self._texts[self._at]))
        elif kind == t.RUNE:
            code.append(c.RUNE)
        elif kind == t.FLOAT:
            code.append(c.FLOAT)
        elif kind == t.IMAGINARY:
            code.append(c.IMAGINARY)
        elif kind == t.LPAREN:
            self._next()
            before = self._in_head
            self._in_head = False
            self._expression()
            self._in_head = before
            if self._kind != t.RPAREN:
                raise CannotEncode
        elif kind == t.FUNC:
            self._function()
            return _OTHER
        else:
            self._type()
            return _LITERAL_TYPE if kind == t.LBRACK or kind == t.MAP or kind == t.STRUCT else _OTHER
        self._next()
        return _OTHER

    def _selector_chain(self) -> None:
        """Write `a.b.c` or `a.b.c(…)`, with all operators in order: nothing has to be inserted."""
        code = self._code
        kinds = self._kinds
        first = self._at
        last = first
        while kinds[last + 1] == t.DOT and kinds[last + 2] == t.NAME:
            last += 2
        if (last - first) * LINK_FRAMES > MAX_DEPTH:
            raise CannotEncode
        is_call = kinds[last + 1] == t.LPAREN
        slot = len(code) + 1
        if is_call:
            code.append(c.CALL)
            code.append(0)
            code.append(0)
        at = last
        encoder = self._encoder  # not its bound method: a call of that is not compiled
        # As objects, because a native integer is converted to another object.
        objects, lines = cast("list[object]", code), cast("list[object]", self._lines)
        while at > first:
            code.append(c.SELECT)
            code.append(encoder.intern(self._texts[at]))
            objects.append(lines[at])
            at -= 2
        code.append(c.NAME)
        code.append(encoder.intern(self._texts[first]))
        objects.append(lines[first])
        self._go_to(last + 1)
        if is_call:
            self._arguments(slot)

    def _arguments(self, slot: int) -> None:
        """Write arguments up to `)`. Their number goes to `slot`, and 1 to `slot + 1` if one is followed by `...`."""
        before = self._in_head
        self._in_head = False
        self._next()
        count = 0
        while self._kind != t.RPAREN:
            self._expression()
            count += 1
            if self._kind == t.ELLIPSIS:
                self._code[slot + 1] = 1
                self._next()
            if self._kind == t.COMMA:
                self._next()
            elif self._kind != t.RPAREN:
                raise CannotEncode
        self._next()
        self._code[slot] = count
        self._in_head = before

    def _index(self, start: int) -> None:
        """Write `x[i]`, `x[T, U]` or `x[i:j:k]`; the code of `x` begins at `start`."""
        before = self._in_head
        self._in_head = False
        self._next()
        count = colons = 0
        while self._kind != t.RBRACK:
            if self._kind == t.COLON:
                colons += 1
                self._next()
                continue
            self._expression()
            count += 1
            if self._kind == t.COMMA and not colons:
                self._next()
            elif self._kind != t.COLON and self._kind != t.RBRACK:
                raise CannotEncode
        if colons > 2 or (not count and not colons) or (colons and count > colons + 1):
            raise CannotEncode
        self._next()
        self._code.insert(start, count)
        self._code.insert(start, c.SLICE if colons else c.INDEX)
        self._in_head = before

    def _elements(self, slot: int) -> None:
        """Write the elements between braces and their number, unless they are data, which cannot refer to anything."""
        code = self._code
        closing = self._end_of_data(self._at)
        if closing:
            if closing > self._at + 1:
                code[slot] = c.DATA
            self._go_to(closing + 1)
            return
        self._descend(EXPRESSION_FRAMES)
        before = self._in_head
        self._in_head = False
        self._next()
        count = 0
        while self._kind != t.RBRACE:
            start = len(code)
            self._element()
            if self._kind == t.COLON:
                code.insert(start, c.KEYED)
                self._next()
                self._element()
            count += 1
            if self._kind == t.COMMA:
                self._next()
            elif self._kind != t.RBRACE:
                raise CannotEncode
        self._next()
        code[slot] = count
        self._in_head = before
        self._depth -= EXPRESSION_FRAMES

    def _element(self) -> None:
        if self._kind == t.LBRACE:
            self._code.append(c.ELIDED)
            self._code.append(0)
            self._code.append(self._lines[self._at])
            self._elements(len(self._code) - 2)
        else:
            self._expression()

    def _end_of_data(self, at: int) -> int:
        """Return the position of the brace that closes the one at `at` if only data is between them, otherwise 0."""
        kinds = self._kinds
        while True:
            at += 1
            kind = kinds[at]
            if kind == t.RBRACE:
                return at
            if kind == t.NAME:
                text = self._texts[at]
                if text != b"nil" and text != b"true" and text != b"false":
                    return 0
            elif kind == t.PLUS:
                pass
            elif (kind > t.STRING and kind != t.COMMA and kind != t.COLON) or kind == t.END:
                return 0

    def _function(self) -> None:
        """Write a function literal or a function type."""
        code = self._code
        slot = len(code)
        code.append(c.FUNCTION)
        self._next()
        self._signature()
        if self._kind != t.LBRACE:
            code[slot] = c.FUNCTION_TYPE
            return
        before = self._in_head
        self._in_head = False
        self._block()
        self._in_head = before
        code.append(c.END)

    # -- types

    def _type(self) -> None:
        self._descend(EXPRESSION_FRAMES)
        kind = self._kind
        if kind == t.NAME:
            self._type_name()
        elif kind == t.TIMES:
            self._next()
            self._code.append(c.STAR)
            self._type()
        elif kind == t.LBRACK:
            self._array()
        elif kind == t.MAP:
            self._next()
            self._expect(t.LBRACK)
            self._code.append(c.MAP)
            self._type()
            self._expect(t.RBRACK)
            self._type()
        elif kind == t.FUNC:
            self._next()
            self._code.append(c.FUNCTION_TYPE)
            self._signature()
        elif kind == t.CHAN or kind == t.ARROW:
            self._channel()
        elif kind == t.STRUCT:
            self._struct()
        elif kind == t.INTERFACE:
            self._interface()
        elif kind == t.LPAREN:
            self._next()
            self._type()
            self._expect(t.RPAREN)
        else:
            raise CannotEncode
        self._depth -= EXPRESSION_FRAMES

    def _type_name(self) -> None:
        """Write `T`, `p.T`, `T[U]` or `p.T[U]`."""
        code = self._code
        start = len(code)
        encoder = self._encoder  # not its bound method: a call of that is not compiled
        at = self._at
        last = at
        if self._kinds[at + 1] == t.DOT and self._kinds[at + 2] == t.NAME:
            last += 2
            code.append(c.SELECT)
            code.append(encoder.intern(self._texts[last]))
            code.append(self._lines[last])
        code.append(c.NAME)
        code.append(encoder.intern(self._texts[at]))
        code.append(self._lines[at])
        self._go_to(last + 1)
        if self._kind == t.LBRACK and self._kinds[last + 2] != t.RBRACK:
            self._next()
            count = 0
            while self._kind != t.RBRACK:
                self._type()
                count += 1
                if self._kind == t.COMMA:
                    self._next()
                elif self._kind != t.RBRACK:
                    raise CannotEncode
            self._next()
            code.insert(start, count)
            code.insert(start, c.INDEX)

    def _array(self) -> None:
        code = self._code
        self._next()
        if self._kind == t.RBRACK:
            code.append(c.SLICE_OF)
        elif self._kind == t.ELLIPSIS:
            self._next()
            code.append(c.ARRAY_AUTO)
        else:
            code.append(c.ARRAY)
            before = self._in_head
            self._in_head = False
            self._expression()
            self._in_head = before
        self._expect(t.RBRACK)
        self._type()

    def _channel(self) -> None:
        direction = 0
        if self._kind == t.ARROW:
            self._next()
            direction = 2
        self._expect(t.CHAN)
        if not direction and self._kind == t.ARROW:
            self._next()
            direction = 1
        self._code.append(c.CHANNEL)
        self._code.append(direction)
        self._type()

    def _struct(self) -> None:
        code = self._code
        self._next()
        self._expect(t.LBRACE)
        code.append(c.STRUCT)
        code.append(0)
        slot = len(code) - 1
        while self._kind != t.RBRACE:
            code[slot] += self._field()
            if self._kind == t.STRING:
                self._next()
            if self._kind == t.SEMICOLON:
                self._next()
            elif self._kind != t.RBRACE:
                raise CannotEncode
        self._next()

    def _field(self) -> int:
        """Write one field declaration. Returns how many fields it declares."""
        code = self._code
        kinds = self._kinds
        at = self._at
        if kinds[at] == t.NAME and not self._is_embedded(at + 1):
            names = self._name_list()
            after = self._at
            for name in names:
                self._go_to(after)
                code.append(name)
                code.append(0)
                self._type_of_name()
            return len(names)
        pointer = kinds[at] == t.TIMES
        if pointer:
            self._next()
            at += 1
        if kinds[at] != t.NAME:
            raise CannotEncode
        if kinds[at + 1] == t.DOT:
            at += 2
        code.append(self._encoder.intern(self._texts[at]))
        code.append(1)
        if pointer:
            code.append(c.STAR)
        self._type()
        return 1

    def _is_embedded(self, at: int) -> bool:
        """Whether the name before position `at` begins the type of an embedded field, instead of naming a field."""
        kind = self._kinds[at]
        if kind == t.LBRACK and self._kinds[at + 1] != t.RBRACK:
            kind = self._kinds[self._closing_bracket(at) + 1]
        return kind == t.SEMICOLON or kind == t.RBRACE or kind == t.STRING or kind == t.DOT

    def _name_list(self) -> list[int]:
        """Return the numbers of the names in a comma-separated list and skip it."""
        names: list[int] = []
        while self._kind == t.NAME:
            names.append(self._encoder.intern(self._texts[self._at]))
            self._next()
            if self._kind != t.COMMA:
                return names
            self._next()
        raise CannotEncode

    def _interface(self) -> None:
        code = self._code
        self._next()
        self._expect(t.LBRACE)
        code.append(c.INTERFACE)
        code.append(0)
        slot = len(code) - 1
        while self._kind != t.RBRACE:
            if self._kind == t.NAME and self._kinds[self._at + 1] == t.LPAREN:
                code.append(c.METHOD)
                self._name()
                self._signature()
            else:
                self._type()
            code[slot] += 1
            if self._kind == t.SEMICOLON:
                self._next()
            elif self._kind != t.RBRACE:
                raise CannotEncode
        self._next()

    def _signature(self) -> None:
        code = self._code
        head = len(code)
        code.append(0)
        code.append(0)
        code.append(0)
        self._parameters(head, head + 2)
        kind = self._kind
        if kind == t.LPAREN:
            self._parameters(head + 1, -1)
        elif (
            kind == t.NAME
            or kind == t.TIMES
            or kind == t.LBRACK
            or kind == t.ARROW
            or kind in (t.MAP, t.CHAN, t.FUNC, t.STRUCT, t.INTERFACE)
        ):
            code[head + 1] = 1
            code.append(0)
            self._type()

    def _parameters(self, slot: int, variadic: int) -> None:
        """Write parameters or results, each name followed by its type. Their number goes to `slot`.

        `variadic` is the position of the flag for a variadic last parameter, -1 for results.
        """
        if self._kind != t.LPAREN:
            raise CannotEncode
        code = self._code
        starts, is_named, end = self._parameter_starts()
        pending_names: list[int] = []
        count = 0
        for at in starts:
            self._go_to(at)
            if is_named:
                if self._kind != t.NAME:
                    raise CannotEncode
                pending_names.append(self._encoder.intern(self._texts[at]))
                self._next()
                if self._kind == t.COMMA:
                    continue
            else:
                pending_names.append(0)
            if self._kind == t.ELLIPSIS:
                if variadic < 0 or at != starts[-1]:
                    raise CannotEncode
                code[variadic] = 1
                self._next()
            type_at = self._at
            for name in pending_names:
                self._go_to(type_at)
                code.append(name)
                self._type_of_name()
            if self._kind != t.COMMA and self._kind != t.RPAREN:
                raise CannotEncode
            count += len(pending_names)
            pending_names = []
        if pending_names:
            raise CannotEncode
        code[slot] = count
        self._go_to(end + 1)

    def _type_of_name(self) -> None:
        """Write the type of one name of a group, which may be too much code (see `TreeEncoder`)."""
        if len(self._code) > self._encoder.most_code:
            raise CannotEncode
        self._type()

    def _parameter_starts(self) -> tuple[list[int], bool, int]:
        """Return the positions of the entries of a parameter list, whether they have names, and where its `)` is."""
        kinds = self._kinds
        at = self._at + 1
        starts: list[int] = []
        is_named = False
        while kinds[at] != t.RPAREN:
            starts.append(at)
            if kinds[at] == t.NAME:
                following = kinds[at + 1]
                if following == t.LBRACK and kinds[at + 2] != t.RBRACK:
                    following = kinds[self._closing_bracket(at + 1) + 1]
                if following != t.COMMA and following != t.RPAREN and following != t.DOT:
                    is_named = True
            while kinds[at] != t.COMMA and kinds[at] != t.RPAREN:
                kind = kinds[at]
                if t.LPAREN <= kind <= t.LBRACE:
                    at = self._closing_bracket(at)
                elif kind == t.END:
                    raise CannotEncode
                at += 1
            if kinds[at] == t.COMMA:
                at += 1
        return starts, is_named, at

    # -- statements

    def _statements(self) -> None:
        while True:
            kind = self._kind
            if kind == t.SEMICOLON:
                self._next()
                continue
            if kind == t.RBRACE or kind == t.END or kind == t.CASE or kind == t.DEFAULT:
                return
            self._statement()
            kind = self._kind
            if kind == t.SEMICOLON:
                self._next()
            elif kind != t.RBRACE and kind != t.END:
                raise CannotEncode

    def _block(self) -> None:
        self._expect(t.LBRACE)
        self._code.append(c.OPEN)
        self._statements()
        self._expect(t.RBRACE)
        self._code.append(c.CLOSE)

    def _statement(self) -> None:
        self._descend(STATEMENT_FRAMES)
        kind = self._kind
        if kind < t.CASE:
            if kind == t.NAME and self._kinds[self._at + 1] == t.COLON:
                self._go_to(self._at + 2)
                if self._kind != t.SEMICOLON and self._kind != t.RBRACE and self._kind != t.END:
                    self._statement()
            elif kind == t.RETURN:
                self._return()
            elif kind == t.LBRACE:
                self._block()
            elif kind == t.BREAK or kind == t.CONTINUE or kind == t.FALLTHROUGH:
                self._next()
                if self._kind == t.NAME:
                    self._next()
            else:
                self._simple_statement()
        elif kind == t.IF:
            self._if()
        elif kind == t.FOR:
            self._for()
        elif kind == t.DEFER or kind == t.GO:
            self._next()
            self._code.append(c.EVALUATE)
            self._expression()
        elif kind == t.SWITCH:
            self._switch()
        elif kind == t.SELECT:
            self._next()
            self._code.append(c.OPEN)
            self._cases(True)
            self._code.append(c.CLOSE)
        elif kind == t.VAR or kind == t.CONST or kind == t.TYPE:
            self._declaration(kind)
        elif kind == t.GOTO:
            self._next()
            self._expect(t.NAME)
        else:
            self._simple_statement()
        self._depth -= STATEMENT_FRAMES

    def _return(self) -> None:
        self._next()
        if self._kind == t.SEMICOLON or self._kind == t.RBRACE or self._kind == t.END:
            return
        code = self._code
        code += (c.RETURN, 0)
        slot = len(code) - 1
        code[slot] = self._expression_list()

    def _evaluate_list(self) -> None:
        """Write the expressions of a comma-separated list, each as a statement."""
        while True:
            self._code.append(c.EVALUATE)
            self._expression()
            if self._kind != t.COMMA:
                return
            self._next()

    def _expression_list(self) -> int:
        """Write the expressions of a comma-separated list. Returns how many."""
        count = 1
        self._expression()
        while self._kind == t.COMMA:
            self._next()
            self._expression()
            count += 1
        return count

    def _simple_statement(self) -> bool:
        """Write an expression, definition, assignment, `++`, `--` or send. Returns whether it is an expression."""
        code = self._code
        if self._kind == t.NAME and self._is_definition():
            start = len(code)
            code.append(c.DEFINE)
            code.append(0)
            code.append(0)
            names = self._name_list()
            code += names
            self._next()
            code[start + 1] = len(names)
            code[start + 2] = self._expression_list()
            return False
        start = len(code)
        code.append(c.EVALUATE)
        count = self._expression_list()
        if self._kind == t.ASSIGN or (self._kind == t.UPDATE and count == 1):
            self._next()
            code[start] = c.ASSIGN
            code.insert(start + 1, 0)
            code.insert(start + 1, count)
            code[start + 2] = self._expression_list()
        elif count > 1:
            raise CannotEncode
        elif self._kind == t.STEP:
            self._next()
            code[start] = c.ASSIGN
            code.insert(start + 1, 0)
            code.insert(start + 1, 1)
        elif self._kind == t.ARROW:
            self._next()
            code[start] = c.SEND
            self._expression()
        else:
            return True
        return False

    def _is_definition(self) -> bool:
        kinds = self._kinds
        at = self._at + 1
        while kinds[at] == t.COMMA and kinds[at + 1] == t.NAME:
            at += 2
        return kinds[at] == t.DEFINE

    def _if(self) -> None:
        code = self._code
        opened = 0
        while True:
            code.append(c.OPEN)
            opened += 1
            self._next()
            if not self._statement_head():
                raise CannotEncode
            self._block()
            if self._kind != t.ELSE:
                break
            self._next()
            if self._kind != t.IF:
                self._block()
                break
        for _ in range(opened):
            code.append(c.CLOSE)

    def _statement_head(self) -> bool:
        """Write the optional statement and the optional expression between `if` or `switch` and its block.

        Returns whether there is an expression.
        """
        before = self._in_head
        self._in_head = True
        has_value = False
        if self._kind != t.SEMICOLON and self._kind != t.LBRACE:
            has_value = self._simple_statement()
            if not has_value and self._kind != t.SEMICOLON:
                raise CannotEncode
        if self._kind == t.SEMICOLON:
            self._next()
            has_value = False
            if self._kind != t.LBRACE:
                has_value = self._simple_statement()
                if not has_value:
                    raise CannotEncode
        self._in_head = before
        return has_value

    def _for(self) -> None:
        code = self._code
        code.append(c.OPEN)
        self._next()
        at = self._at
        while self._kinds[at] not in (t.RANGE, t.SEMICOLON, t.LBRACE, t.END):
            at += 1
        before = self._in_head
        self._in_head = True
        if self._kinds[at] == t.RANGE:
            self._range(at)
        else:
            self._for_clause()
        self._in_head = before
        self._block()
        code.append(c.CLOSE)

    def _for_clause(self) -> None:
        if self._kind == t.LBRACE:
            return
        is_condition = True
        if self._kind != t.SEMICOLON:
            is_condition = self._simple_statement()
        if self._kind != t.SEMICOLON:
            if not is_condition:
                raise CannotEncode
        else:
            self._next()
            if self._kind != t.SEMICOLON:
                self._code.append(c.EVALUATE)
                self._expression()
            self._expect(t.SEMICOLON)
            if self._kind != t.LBRACE:
                self._simple_statement()

    def _range(self, at: int) -> None:
        """Write a range clause: first the range operand, then the targets. `at` is the position of `range`."""
        code = self._code
        first = self._at
        operator = self._kinds[at - 1] if at > first else 0
        code.append(c.RANGE)
        code.append(1 if operator == t.DEFINE else 0)
        code.append(0)
        slot = len(code) - 1
        self._go_to(at + 1)
        self._expression()
        after = self._at
        if at > first:
            self._go_to(first)
            if operator == t.DEFINE:
                names = self._name_list()
                code += names
                code[slot] = len(names)
            elif operator == t.ASSIGN:
                code[slot] = self._expression_list()
            if self._at != at - 1:
                raise CannotEncode
        self._go_to(after)

    def _switch(self) -> None:
        code = self._code
        self._next()
        guard = self._find_type_guard()
        code.append(c.OPEN)
        if guard:
            self._type_switch(guard)
        else:
            self._statement_head()
            self._cases(False)
        code.append(c.CLOSE)

    def _cases(self, communicates: bool) -> None:
        code = self._code
        self._expect(t.LBRACE)
        while self._kind != t.RBRACE:
            code.append(c.OPEN)
            if self._kind == t.DEFAULT:
                self._next()
            else:
                self._expect(t.CASE)
                if communicates:
                    self._simple_statement()
                else:
                    self._evaluate_list()
            self._expect(t.COLON)
            self._statements()
            code.append(c.CLOSE)
        self._next()

    def _find_type_guard(self) -> int:
        """Return the position of `.(type)` in the head of a switch, 0 if there is none."""
        kinds = self._kinds
        at = self._at
        while kinds[at] != t.LBRACE and kinds[at] != t.END:
            if kinds[at] == t.DOT and kinds[at + 1] == t.LPAREN and kinds[at + 2] == t.TYPE:
                return at
            if kinds[at] == t.LPAREN or kinds[at] == t.LBRACK:
                at = self._closing_bracket(at)
            at += 1
        return 0

    def _type_switch(self, guard: int) -> None:
        code = self._code
        before = self._in_head
        self._in_head = True
        at = self._at
        while at < guard and self._kinds[at] != t.SEMICOLON:
            at += 1
        if at < guard:
            if self._kind != t.SEMICOLON:
                self._simple_statement()
            self._expect(t.SEMICOLON)
        bound = 0
        if self._kind == t.NAME and self._kinds[self._at + 1] == t.DEFINE:
            bound = self._encoder.intern(self._texts[self._at])
            self._go_to(self._at + 2)
        code.append(c.SWITCH_TYPE)
        self._primary()
        if self._at != guard or self._kinds[guard + 3] != t.RPAREN:
            raise CannotEncode
        self._in_head = before
        self._go_to(guard + 4)
        self._expect(t.LBRACE)
        while self._kind != t.RBRACE:
            self._type_case(bound)
        self._next()
        code.append(c.SWITCH_END)

    def _type_case(self, bound: int) -> None:
        code = self._code
        code.append(c.OPEN)
        code.append(c.CASE_TYPE)
        code.append(bound)
        code.append(0)
        slot = len(code) - 1
        if self._kind == t.DEFAULT:
            self._next()
        else:
            self._expect(t.CASE)
            self._type()
            code[slot] = 1
            while self._kind == t.COMMA:
                self._next()
                self._type()
                code[slot] += 1
        self._expect(t.COLON)
        self._statements()
        code.append(c.CLOSE)

    # -- declarations

    def _declaration(self, keyword: int) -> None:
        self._next()
        if self._kind != t.LPAREN:
            self._spec(keyword, True)
            return
        self._next()
        is_first = True
        while self._kind != t.RPAREN:
            self._spec(keyword, is_first)
            is_first = False
            if self._kind == t.SEMICOLON:
                self._next()
            elif self._kind != t.RPAREN:
                raise CannotEncode
        self._next()

    def _spec(self, keyword: int, is_first: bool) -> None:
        code = self._code
        if keyword == t.TYPE:
            code.append(c.TYPE)
            self._name()
            code.append(1 if self._kind == t.ASSIGN else 0)
            if self._kind == t.ASSIGN:
                self._next()
            code.append(0)
            self._type()
            return
        names = self._name_list()
        start = len(code)
        code.append(c.VAR if keyword == t.VAR else c.CONST)
        code.append(len(names))
        code.append(0)
        code.append(0)
        code += names
        if self._kind not in (t.ASSIGN, t.SEMICOLON, t.RPAREN, t.RBRACE, t.END):
            code[start + 2] = 1
            self._type()
        if self._kind == t.ASSIGN:
            self._next()
            code[start + 3] = self._expression_list()
        elif keyword == t.VAR:
            if not code[start + 2]:
                raise CannotEncode
        elif code[start + 2] or is_first:
            raise CannotEncode
