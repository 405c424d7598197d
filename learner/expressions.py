"""Writes the compact code (see `code`) of one file's expressions and types.

Nodes are dear: each is an object made for this walk. So what a few bytes of the source can tell is read from them (a
name that was seen before, `a.b.c`, a table of numbers), and the kind of a node, once asked for, is handed on.
Chains of calls, operators and parentheses are written without recursion; what nests deeper than `ROOM` is not read.
"""

from __future__ import annotations

import re
from typing import Final

from golore.learner import code as c
from golore.learner import kinds as g
from golore.learner.kinds import is_meaningful, meaningful, only
from golore.learner.simple import integer
from golore.learner.syntax import Node
from golore.learner.typecode import TypeCode

ROOM: Final = 500
"""How deep code may nest, about in frames of Python. Where this is compiled nothing else would stop it, and where it is
not, it has to end before Python's own limit, for the readers of the code too. `LINK` and `NESTED` are the frames of a
step along a chain, and of one into an expression."""
LINK: Final = 2
NESTED: Final = 6

_NEVER_SIMPLE: Final = (g.COMPOSITE, g.FUNC_LITERAL, g.TYPE_ELEMENT, g.TYPE_CONSTRAINT)
"""The last two are unions where others have an operator: `a | b`."""
_DATA: Final = re.compile(
    rb"""(?:[\s\d,.{}:+-]++|0[xX][0-9a-fA-F_]++|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)++'|`[^`]*+`"""
    rb"""|//[^\n]*+|(?:true|false|nil)\b)*+"""
)
"""A literal without names and calls: nothing in it can refer to anything."""


class Expressions(TypeCode):
    """Writes expressions; `Emitter` adds the statements in the function literals among them."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.skeleton = False
        self.too_deep = False
        self.depth = 0

    def block(self, block: Node) -> None:
        raise NotImplementedError

    def expression(self, node: Node, k: int) -> None:
        """Write the code of one expression or type, a node of kind `k`."""
        if k == g.IDENTIFIER or k == g.TYPE_IDENTIFIER:
            self.name(node)
        elif k == g.STRING or k == g.RAW_STRING:
            self.code.append(c.STRING)
        elif k == g.INT_LITERAL:
            self.code += (c.INT, integer(self.text(node)))
        elif k in _NEVER_SIMPLE or not self.simple(node.start_byte, node.end_byte):
            self.compound(node, k)

    def compound(self, node: Node, k: int) -> None:
        """Write an expression or type that has parts and whose text alone does not tell the code."""
        if self.depth > ROOM:
            self.too_deep = True
            self.code.append(c.BAD)
        else:
            self.depth += NESTED
            if k == g.SELECTOR or k == g.CALL or k == g.QUALIFIED:
                self._chain(node, k)
            elif k == g.BINARY:
                self._binary(node)
            elif k == g.UNARY:
                self._unary(node)
            elif k == g.COMPOSITE:
                self._composite(node)
            elif k == g.PARENTHESIZED or k == g.PARENTHESIZED_TYPE:
                self._parenthesized(node, k)
            else:
                self._rarer_expression(node, k)
            self.depth -= NESTED

    def _rarer_expression(self, node: Node, k: int) -> None:
        code = self.code
        if k == g.NIL or k == g.TRUE or k == g.FALSE or k == g.IOTA or k == g.BLANK:
            self.name(node)
        elif k == g.INDEX or k == g.INSTANTIATION or k == g.GENERIC:
            self._index_or_instance(node)
        elif k == g.POINTER_TYPE:
            self._prefixed(c.STAR, node)
        elif k == g.SLICE_TYPE:
            self._prefixed(c.SLICE_OF, node)
        elif k == g.CONVERSION:
            self._conversion(node)
        elif k == g.SLICE:
            self._slice(node)
        elif k == g.ASSERTION:
            self._pair(c.ASSERT, node)
        elif k == g.FUNC_LITERAL:
            self._function_literal(node)
        elif k == g.RUNE_LITERAL:
            code.append(c.RUNE)
        elif k == g.FLOAT_LITERAL:
            code.append(c.FLOAT)
        elif k == g.IMAGINARY_LITERAL:
            code.append(c.IMAGINARY)
        elif k == g.FIELD_IDENTIFIER or k == g.PACKAGE_IDENTIFIER:
            self.name(node)
        else:
            self._type(node, k)

    def _type(self, node: Node, k: int) -> None:
        code = self.code
        if k == g.MAP_TYPE:
            self._pair(c.MAP, node)
        elif k == g.INTERFACE_TYPE:
            self.interface(node)
        elif k == g.STRUCT_TYPE:
            self.struct(node)
        elif k == g.FUNCTION_TYPE:
            code.append(c.FUNCTION_TYPE)
            self.signature_of(node.children)
        elif k == g.ARRAY_TYPE:
            self._pair(c.ARRAY, node)
        elif k == g.AUTO_ARRAY_TYPE:
            self._prefixed(c.ARRAY_AUTO, node)
        elif k == g.CHANNEL_TYPE:
            self.channel(node)
        elif k == g.TYPE_ELEMENT or k == g.TYPE_CONSTRAINT:
            self.union(node)
        elif k == g.NEGATED_TYPE:
            self._prefixed(c.TILDE, node)
        elif k == g.LITERAL_VALUE:
            code.append(c.ELIDED)
            code.append(0)
            self._elements(node, len(code) - 1)
        elif k == g.EXPRESSIONS or k == g.LITERAL_ELEMENT:
            self.wrapped(node)
        else:
            code.append(c.BAD)

    def wrapped(self, node: Node) -> None:
        """Write what a node wraps: its last part."""
        inner = only(node)
        if inner is None:
            self.code.append(c.BAD)
        else:
            self.expression(inner, inner.kind_id)

    def _parenthesized(self, node: Node, k: int) -> None:
        while k == g.PARENTHESIZED or k == g.PARENTHESIZED_TYPE:
            inner = only(node)
            if inner is None:
                self.code.append(c.BAD)
                return
            node = inner
            k = node.kind_id
        self.expression(node, k)

    def _prefixed(self, op: int, node: Node) -> None:
        self.code.append(op)
        self.wrapped(node)

    def _pair(self, op: int, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self.code.append(c.BAD)
            return
        self.code.append(op)
        self.expression(parts[0], parts[0].kind_id)
        self.expression(parts[1], parts[1].kind_id)

    def listed(self, node: Node, slot: int) -> None:
        """Write each expression of a list, and their number into a slot of the code that was left for it."""
        if self.simple(node.start_byte, node.end_byte):
            self.code[slot] = 1
            return
        parts = node.children
        if len(parts) == 1:
            self.code[slot] = 1
            self.only_part(parts[0])
            return
        count = 0
        for part in parts:
            k = part.kind_id
            if is_meaningful(k):
                self.expression(part, k)
                count += 1
        self.code[slot] = count

    def only_part(self, node: Node) -> None:
        """Write an expression that is all there is in a text that was found not to be simple."""
        k = node.kind_id
        if k > g.HIGHEST_TOKEN and k != g.STRING and k != g.RAW_STRING:
            self.compound(node, k)
        else:
            self.expression(node, k)

    # -- calls and selectors

    def _chain(self, node: Node, k: int) -> None:
        """Calls and selectors from the outside in, without recursion: `a.b(x).c(y)` is CALL c CALL b a x y."""
        code = self.code
        before = self.depth
        waiting: list[tuple[int, Node]] = []
        while True:
            if self.depth > ROOM:
                self.too_deep = True
                code.append(c.BAD)
                break
            self.depth += LINK
            if k == g.CALL:
                parts = node.children
                if len(parts) != 2:
                    parts = meaningful(node)
                    if len(parts) < 2:
                        code.append(c.BAD)
                        break
                code += (c.CALL, 0, 0)
                waiting.append((len(code) - 2, parts[-1]))
                if len(parts) == 3:
                    code += (c.INDEX, 0)
                    waiting.append((len(code) - 1, parts[1]))
                node = parts[0]
            elif k == g.SELECTOR or k == g.QUALIFIED:
                if k == g.SELECTOR and waiting and self.simple(node.start_byte, node.end_byte):
                    break
                parts = node.children
                if len(parts) != 3:
                    parts = meaningful(node)
                    if len(parts) != 2:
                        code.append(c.BAD)
                        break
                field = parts[-1]
                start = field.start_byte
                code.append(c.SELECT)
                code.append(self.intern(self.source[start : field.end_byte]))
                self.place(self.line_of(start))
                node = parts[0]
            else:
                self.expression(node, k)
                break
            k = node.kind_id
        while waiting:
            slot, arguments = waiting.pop()
            self._arguments(arguments, slot)
        self.depth = before

    def _arguments(self, node: Node, slot: int) -> None:
        """Write what stands between brackets; its number goes into the slot, and whether it is spread behind that."""
        start = node.start_byte
        end = node.end_byte
        if end - start == 2:
            return
        if self.simple(start + 1, end - 1):
            self.code[slot] = 1
            return
        count = 0
        for child in node.children:
            k = child.kind_id
            if k == g.SPREAD:
                self.code[slot + 1] = 1
                self.wrapped(child)
                count += 1
            elif is_meaningful(k):
                self.expression(child, k)
                count += 1
        self.code[slot] = count

    def _conversion(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self.code.append(c.BAD)
            return
        self.code += (c.CALL, 1, 0)
        self.expression(parts[0], parts[0].kind_id)
        self.expression(parts[1], parts[1].kind_id)

    def _index_or_instance(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) < 2:
            self.code.append(c.BAD)
            return
        operand = parts[0]
        if parts[1].kind_id == g.TYPE_ARGUMENTS:
            parts = meaningful(parts[1])
        else:
            parts = parts[1:]
        self.code.append(c.INDEX)
        self.code.append(len(parts))
        self.expression(operand, operand.kind_id)
        for part in parts:
            self.expression(part, part.kind_id)

    def _slice(self, node: Node) -> None:
        parts = meaningful(node)
        if not parts:
            self.code.append(c.BAD)
            return
        self.code.append(c.SLICE)
        self.code.append(len(parts) - 1)
        for part in parts:
            self.expression(part, part.kind_id)

    # -- operators and literals

    def _unary(self, node: Node) -> None:
        operator = node.children[0].kind_id
        op = c.UNARY
        if operator == g.T_TIMES:
            op = c.STAR
        elif operator == g.T_AND:
            op = c.ADDRESS
        elif operator == g.T_ARROW:
            op = c.RECEIVE
        elif operator == g.T_NOT:
            op = c.NOT
        self._prefixed(op, node)

    def _binary(self, node: Node) -> None:
        """Long chains lean to the left, so they are written from the outside in, without recursion."""
        rights: list[Node] = []
        k = g.BINARY
        while k == g.BINARY:
            parts = node.children
            if len(parts) != 3:
                parts = [p for p in parts if p.kind_id != g.COMMENT and p.kind_id != g.ERROR]
                if len(parts) != 3:
                    break
            operator = parts[1].kind_id
            if operator in g.COMPARISONS:
                self.code.append(c.COMPARE)
            elif operator == g.T_SHIFT_LEFT or operator == g.T_SHIFT_RIGHT:
                self.code.append(c.SHIFT)
            else:
                self.code.append(c.BINARY)
            rights.append(parts[2])
            node = parts[0]
            k = node.kind_id
        if k == g.BINARY:
            self.code.append(c.BAD)
        else:
            self.expression(node, k)
        while rights:
            right = rights.pop()
            self.expression(right, right.kind_id)

    def _composite(self, node: Node) -> None:
        parts = node.children
        if len(parts) != 2:
            parts = meaningful(node)
            if len(parts) != 2:
                self.code.append(c.BAD)
                return
        code = self.code
        code.append(c.COMPOSITE)
        code.append(0)
        slot = len(code) - 1
        self.expression(parts[0], parts[0].kind_id)
        if not self.skeleton:
            self._elements(parts[1], slot)

    def _elements(self, value: Node, slot: int) -> None:
        start = value.start_byte
        end = value.end_byte
        if end - start == 2 or (end - start > 8 and _DATA.fullmatch(self.source, start, end)):
            return
        count = 0
        for element in value.children:
            k = element.kind_id
            if k == g.LITERAL_ELEMENT:
                self._element(element)
            elif k == g.KEYED_ELEMENT:
                self._keyed(element)
            elif is_meaningful(k):
                self.expression(element, k)
            else:
                continue
            count += 1
        self.code[slot] = count

    def _keyed(self, element: Node) -> None:
        if self.simple(element.start_byte, element.end_byte):
            return
        parts = element.children
        if len(parts) != 3:
            parts = meaningful(element)
            if len(parts) != 2:
                self.code.append(c.BAD)
                return
        self.code.append(c.KEYED)
        self._element(parts[0])
        self._element(parts[-1])

    def _element(self, element: Node) -> None:
        if self.simple(element.start_byte, element.end_byte):
            return
        k = element.kind_id
        if k == g.LITERAL_ELEMENT:
            inner = only(element)
            if inner is None:
                self.code.append(c.BAD)
            else:
                self.only_part(inner)
        else:
            self.expression(element, k)

    def _function_literal(self, node: Node) -> None:
        self.code.append(c.FUNCTION)
        parts = node.children
        self.signature_of(parts)
        if not self.skeleton:
            for child in parts:
                if child.kind_id == g.BLOCK:
                    self.block(child)
        self.code.append(c.END)
