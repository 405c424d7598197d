"""Writes the code (see `opcodes`) of one file's expressions, types and statements from its syntax tree.

A `TreeEncoder` is made for one file: it has the list of integers written so far and the table of names. It walks the
tree once, in source order, and never raises on broken input: what did not parse becomes `BAD`. Names are not looked up;
resolution does that.

Nodes are expensive: each is an object that is created when it is visited. So short texts and literals of plain data are
read from the bytes of the source (see `short_forms`), and the kind of a node is read once and passed on. Chains of
calls, operators and parentheses are written without recursion; code that nests deeper than `MAX_DEPTH` is not read.

It is one long class in one module because a compiled class cannot be split over modules that are not all compiled.
"""

from __future__ import annotations

from typing import Final, final

from golore.learner.extraction import node_kinds as g
from golore.learner.extraction import opcodes as c
from golore.learner.extraction.node_kinds import is_meaningful, last_meaningful, meaningful
from golore.learner.extraction.parser import Node
from golore.learner.extraction.short_forms import (
    DATA,
    LINE,
    MAX_TEXT_BYTES,
    NO_ELEMENTS,
    WORD,
    Program,
    integer,
    program_of,
    program_of_parameters,
)

MAX_DEPTH: Final = 500
_CODE_PER_BYTE: Final = 16
"""Code has less than one number for each byte of the source, unless groups of names nest."""
_CODE_AT_LEAST: Final = 1 << 16
"""Maximum nesting of code, approximately in Python stack frames. When compiled, this is the only limit on recursion;
otherwise it must be reached before Python's own, here and in the modules that read the code. `LINK_FRAMES`,
`EXPRESSION_FRAMES` and `STATEMENT_FRAMES` are the frames of one step along a chain, into an expression and into a
statement."""
LINK_FRAMES: Final = 2
EXPRESSION_FRAMES: Final = 6
STATEMENT_FRAMES: Final = 4

_SHORT_FORM_KINDS: Final = (g.SELECTOR, g.QUALIFIED, g.POINTER_TYPE, g.SLICE_TYPE, g.UNARY, g.MAP_TYPE)
"""The kinds of nodes whose text may be a short form (see `short_forms`)."""


@final
class TreeEncoder:
    """The code, names and lines of one file, as written so far.

    `in_shape`: lines are written as indices into `lines`. `skeleton`: literal elements and bodies of function literals
    are left out. `too_deep`: code that nests deeper than `MAX_DEPTH`, or whose groups of names nest too often, was left
    out.
    """

    def __init__(self, source: bytes) -> None:
        self.source: Final = source
        self.code: list[int] = []
        self.names: list[str] = [""]
        self.lines: list[int] = []
        self.in_shape = False
        self._index: dict[bytes, int] = {b"": 0}
        self.line_starts = line_starts(source)
        self._line = 1
        self._line_start = 0
        self.skeleton = False
        self.too_deep = False
        self.most_code: Final = _CODE_PER_BYTE * len(source) + _CODE_AT_LEAST
        self.depth = 0
        self._line_end = self.line_starts[1] if len(self.line_starts) > 1 else len(source) + 1

    def line_of(self, offset: int) -> int:
        """Return the line of an offset; fast on the line of the previous call and on the next one."""
        if offset < self._line_start or offset >= self._line_end:
            starts = self.line_starts
            line = self._line + 1
            if offset < self._line_end or line >= len(starts) or offset >= starts[line]:
                line = _line_at(starts, offset)
            self._line = line
            self._line_start = starts[line - 1]
            self._line_end = starts[line] if line < len(starts) else len(self.source) + 1
        return self._line

    def text(self, node: Node) -> bytes:
        # As native integers: a slice by other objects is not compiled.
        start: int = node.start_byte
        end: int = node.end_byte
        return self.source[start:end]

    def intern(self, text: bytes) -> int:
        found = self._index.get(text)
        if found is None:
            found = len(self.names)
            self._index[text] = found
            self.names.append(text.decode("utf-8", "replace"))
        return found

    def name_of(self, node: Node, k: int) -> int:
        """Return the number of a name; a node of another kind, in broken code, counts as the blank name."""
        if k not in g.NAMES and k not in g.PREDECLARED:
            return self.intern(b"_")
        return self.intern(self.source[node.start_byte : node.end_byte])

    def write_line(self, line: int) -> None:
        if self.in_shape:
            self.code.append(len(self.lines))
            self.lines.append(line)
        else:
            self.code.append(line)

    def name(self, node: Node) -> None:
        start = node.start_byte
        self.code.append(c.NAME)
        self.code.append(self.intern(self.source[start : node.end_byte]))
        self.write_line(self.line_of(start))

    def write_short_form(self, start: int, end: int) -> bool:
        """Write the text between two offsets, without nodes, if it is a short form. Returns whether it is one."""
        if end <= start or end - start > MAX_TEXT_BYTES:  # in broken code, brackets may be missing
            return False
        program = program_of(self.source[start:end])
        if program is None:
            return False
        self._write_program(program, self.line_of(start))
        return True

    def _write_program(self, program: Program, line: int) -> None:
        words = program.words
        code = self.code
        used = 0
        for op in program.ops:
            if op == WORD:
                code.append(self.intern(words[used]))
                used += 1
            elif op == LINE:
                self.write_line(line)
            else:
                code.append(op)

    # -- expressions and types

    def expression(self, node: Node, k: int) -> None:
        """Write the code of one expression or type, a node of kind `k`."""
        if k == g.IDENTIFIER or k == g.TYPE_IDENTIFIER:
            self.name(node)
        elif k == g.STRING or k == g.RAW_STRING:
            self.code.append(c.STRING)
        elif k == g.INT_LITERAL:
            self.code += (c.INT, integer(self.text(node)))
        elif k not in _SHORT_FORM_KINDS or not self.write_short_form(node.start_byte, node.end_byte):
            self.compound(node, k)

    def compound(self, node: Node, k: int) -> None:
        """Write an expression or type that is neither a plain name, string or integer nor a short form."""
        if self.depth > MAX_DEPTH:
            self.too_deep = True
            self.code.append(c.BAD)
        else:
            self.depth += EXPRESSION_FRAMES
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
                self._rare_expression(node, k)
            self.depth -= EXPRESSION_FRAMES

    def _rare_expression(self, node: Node, k: int) -> None:
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
            self.write_line(self.line_of(node.start_byte))
            self._elements(node, len(code) - 2)
        elif k == g.EXPRESSIONS or k == g.LITERAL_ELEMENT:
            self.wrapped(node)
        else:
            code.append(c.BAD)

    def wrapped(self, node: Node) -> None:
        """Write the last meaningful child of a node, `BAD` if there is none."""
        inner = last_meaningful(node)
        if inner is None:
            self.code.append(c.BAD)
        else:
            self.expression(inner, inner.kind_id)

    def _parenthesized(self, node: Node, k: int) -> None:
        while k == g.PARENTHESIZED or k == g.PARENTHESIZED_TYPE:
            inner = last_meaningful(node)
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

    def expression_list(self, node: Node, slot: int) -> None:
        """Write each expression of a list. Their number goes to `slot`, a reserved position in the code."""
        if self.write_short_form(node.start_byte, node.end_byte):
            self.code[slot] = 1
            return
        parts = node.children
        if len(parts) == 1:
            self.code[slot] = 1
            self.sole_expression(parts[0])
            return
        count = 0
        for part in parts:
            k = part.kind_id
            if is_meaningful(k):
                self.expression(part, k)
                count += 1
        self.code[slot] = count

    def sole_expression(self, node: Node) -> None:
        """Write the only expression of a text that is known not to be a short form."""
        k = node.kind_id
        if k > g.HIGHEST_TOKEN and k != g.STRING and k != g.RAW_STRING:
            self.compound(node, k)
        else:
            self.expression(node, k)

    # -- calls and selectors

    def _chain(self, node: Node, k: int) -> None:
        """Write calls and selectors from the outside in, without recursion: `a.b(x).c(y)` is CALL c CALL b a x y."""
        code = self.code
        before = self.depth
        pending_arguments: list[tuple[int, Node]] = []
        while True:
            if self.depth > MAX_DEPTH:
                self.too_deep = True
                code.append(c.BAD)
                break
            self.depth += LINK_FRAMES
            if k == g.CALL:
                parts = node.children
                if len(parts) != 2:
                    parts = meaningful(node)
                    if len(parts) < 2:
                        code.append(c.BAD)
                        break
                code += (c.CALL, 0, 0)
                pending_arguments.append((len(code) - 2, parts[-1]))
                if len(parts) == 3:
                    code += (c.INDEX, 0)
                    pending_arguments.append((len(code) - 1, parts[1]))
                node = parts[0]
            elif k == g.SELECTOR or k == g.QUALIFIED:
                if k == g.SELECTOR and pending_arguments and self.write_short_form(node.start_byte, node.end_byte):
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
                self.write_line(self.line_of(start))
                node = parts[0]
            else:
                self.expression(node, k)
                break
            k = node.kind_id
        while pending_arguments:
            slot, arguments = pending_arguments.pop()
            self._arguments(arguments, slot)
        self.depth = before

    def _arguments(self, node: Node, slot: int) -> None:
        """Write arguments. Their number goes to `slot`, and 1 to `slot + 1` if one is followed by `...`."""
        start = node.start_byte
        end = node.end_byte
        if end - start == 2:
            return
        if self.write_short_form(start + 1, end - 1):
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
        target = parts[0]
        while target.kind_id == g.POINTER_TYPE:  # `*T[int](x)` is a dereference: a conversion needs parentheses
            self.code.append(c.STAR)
            target = meaningful(target)[-1]
        self.code += (c.CALL, 1, 0)
        self.expression(target, target.kind_id)
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
        """Write operators from the outside in, without recursion: long chains nest on the left."""
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
        self.write_line(self.line_of(parts[1].start_byte))
        self.expression(parts[0], parts[0].kind_id)
        if not self.skeleton:
            self._elements(parts[1], slot)

    def is_data(self, literal: Node) -> bool:
        """Whether the elements of a composite literal are left out because they cannot refer to anything."""
        value = literal.children[-1]
        start = value.start_byte + 1
        return DATA.fullmatch(self.source, start, max(start, value.end_byte - 1)) is not None

    def _elements(self, value: Node, slot: int) -> None:
        start = value.start_byte
        end = value.end_byte
        if end - start <= 2:  # empty, or without a brace in broken code
            return
        if DATA.fullmatch(self.source, start + 1, end - 1):
            if NO_ELEMENTS.fullmatch(self.source, start + 1, end - 1) is None:
                self.code[slot] = c.DATA
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
        if self.write_short_form(element.start_byte, element.end_byte):
            return
        k = element.kind_id
        if k == g.LITERAL_ELEMENT:
            inner = last_meaningful(element)
            if inner is None:
                self.code.append(c.BAD)
            else:
                self.sole_expression(inner)
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

    # -- signatures, structs, interfaces

    def signature_of(self, parts: list[Node]) -> None:
        """Write the signature of a function, method element or function type: its parameter list and what follows."""
        parameters: Node | None = None
        result: Node | None = None
        for child in parts:
            k = child.kind_id
            if k == g.BLOCK:
                break
            if parameters is None:
                if k == g.PARAMETERS:
                    parameters = child
            elif is_meaningful(k):
                result = child
        self.signature(parameters, result)

    def signature(self, parameters: Node | None, result: Node | None) -> None:
        code = self.code
        head = len(code)
        code += (0, 0, 0)
        if parameters is not None:
            code[head], code[head + 2] = self._parameters(parameters)
        if result is not None:
            k = result.kind_id
            if k == g.PARAMETERS:
                code[head + 1] = self._parameters(result)[0]
            else:
                code[head + 1] = 1
                code.append(0)
                self.expression(result, k)

    def _parameters(self, parameters: Node) -> tuple[int, int]:
        """Write parameters or results; returns how many there are, and 1 if the last is variadic."""
        start = parameters.start_byte
        size = parameters.end_byte - start
        if size == 2:
            return 0, 0
        if 2 < size <= MAX_TEXT_BYTES:
            program = program_of_parameters(self.source[start + 1 : start + size - 1])
            if program is not None:
                self._write_program(program, self.line_of(start))
                return program.count, program.variadic
        variadic = 0
        groups: list[list[Node]] = []
        for declaration in parameters.children:
            k = declaration.kind_id
            if k == g.VARIADIC_PARAMETER:
                variadic = 1
            elif k != g.PARAMETER:
                continue
            parts = meaningful(declaration)
            if parts:
                groups.append(parts)
        return self._parameter_groups(groups), variadic

    def _parameter_groups(self, groups: list[list[Node]]) -> int:
        """Write each name of a group followed by its type, the last node of the group. Returns how many were written.

        Unnamed parameters have the empty name. If one has a name, all have: the grammar parses the first names of a
        long list as types.
        """
        is_named = any(len(parts) > 1 for parts in groups)
        count = 0
        pending_names: list[Node] = []
        for parts in groups:
            type_node = parts.pop()
            k = type_node.kind_id
            if is_named and not parts and k in g.NAMES:
                pending_names.append(type_node)
                continue
            if pending_names:
                parts = pending_names + parts
                pending_names = []
            if not parts:
                self.code.append(0)
                self.expression(type_node, k)
                count += 1
            for number, name in enumerate(parts):
                self.code.append(self.name_of(name, name.kind_id))
                self._type_of_name(type_node, number)
                count += 1
        return count

    def _type_of_name(self, node: Node, number: int) -> None:
        """Write the type of the name with this number in a group such as `a, b T`.

        Each name has a copy of the type, so nested groups, as in `func(a, b func(a, b func()))`, double the code at
        each level. When there is too much code, the types of all names but the first are left out.
        """
        if number and len(self.code) > self.most_code:
            self.too_deep = True
            self.code.append(c.BAD)
        else:
            self.expression(node, node.kind_id)

    def type_parameters(self, node: Node | None) -> None:
        slot = len(self.code)
        self.code.append(0)
        count = 0
        if node is not None:
            for declaration in meaningful(node):
                parts = meaningful(declaration)
                if len(parts) < 2:
                    continue
                constraint = parts.pop()
                for number, name in enumerate(parts):
                    self.code.append(self.name_of(name, name.kind_id))
                    self._type_of_name(constraint, number)
                    count += 1
        self.code[slot] = count

    def channel(self, node: Node) -> None:
        tokens = [child.kind_id for child in node.children]
        direction = 0
        if tokens and tokens[0] == g.T_ARROW:
            direction = 2
        elif len(tokens) > 1 and tokens[1] == g.T_ARROW:
            direction = 1
        self.code.append(c.CHANNEL)
        self.code.append(direction)
        element = g.last_meaningful(node)
        if element is None:
            self.code.append(c.BAD)
        else:
            self.expression(element, element.kind_id)

    def union(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 1:
            self.code.append(c.UNION)
            self.code.append(len(parts))
        for part in parts:
            self.expression(part, part.kind_id)

    def struct(self, node: Node) -> None:
        code = self.code
        code.append(c.STRUCT)
        code.append(0)
        slot = len(code) - 1
        count = 0
        for fields in node.children:
            if fields.kind_id != g.FIELD_LIST:
                continue
            for declaration in g.children_of_kinds(fields, (g.FIELD,)):
                for number, (name, embedded, type_node, pointer) in enumerate(g.field_names(declaration)):
                    code.append(self.intern(self.source[name.start_byte : name.end_byte]))
                    code.append(1 if embedded else 0)
                    if pointer:
                        code.append(c.STAR)
                    self._type_of_name(type_node, number)
                    count += 1
        code[slot] = count

    def interface(self, node: Node) -> None:
        code = self.code
        code.append(c.INTERFACE)
        code.append(0)
        slot = len(code) - 1
        count = 0
        for part in node.children:
            k = part.kind_id
            if k == g.METHOD_ELEMENT:
                inner = meaningful(part)
                if not inner:
                    continue
                code.append(c.METHOD)
                code.append(self.name_of(inner[0], inner[0].kind_id))
                self.signature_of(inner)
            elif is_meaningful(k):
                self.expression(part, k)
            else:
                continue
            count += 1
        code[slot] = count

    # -- statements

    def block(self, block: Node) -> None:
        self.code.append(c.OPEN)
        self.statements(block)
        self.code.append(c.CLOSE)

    def statements(self, node: Node) -> None:
        """Write the statements of a block, a statement list or a case."""
        for child in node.children:
            k = child.kind_id
            if k == g.STATEMENTS:
                for statement in child.children:
                    k = statement.kind_id
                    if k > g.HIGHEST_TOKEN:
                        self.statement(statement, k)
            elif k > g.HIGHEST_TOKEN:
                self.statement(child, k)

    def statement(self, node: Node, k: int) -> None:
        if self.depth > MAX_DEPTH:
            self.too_deep = True
            return
        self.depth += STATEMENT_FRAMES
        if k == g.EXPRESSION_STATEMENT:
            self.code.append(c.EVALUATE)
            self.wrapped(node)
        elif k == g.SHORT_VAR:
            self._define(node)
        elif k == g.ASSIGNMENT:
            self._assign(node)
        elif k == g.IF:
            self._if(node)
        elif k == g.BLOCK:
            self.block(node)
        elif k == g.FOR:
            self._for(node)
        elif k == g.SWITCH or k == g.SELECT:
            self._switch(node)
        elif k == g.TYPE_SWITCH:
            self._type_switch(node)
        elif k == g.VAR_DECLARATION or k == g.CONST_DECLARATION or k == g.TYPE_DECLARATION:
            self._declaration(node)
        elif k == g.RECEIVE_STATEMENT:
            self._receive(node)
        elif k == g.INCREMENT or k == g.DECREMENT:
            self._step(node)
        elif k == g.RETURN:
            self._return(node)
        elif k == g.SEND:
            self._send(node)
        elif k == g.LABELED:
            for part in meaningful(node):
                k = part.kind_id
                if k != g.LABEL:
                    self.statement(part, k)
        elif k == g.ERROR:
            self.statements(node)
        else:
            self._evaluate_all(node)
        self.depth -= STATEMENT_FRAMES

    def _evaluate_all(self, node: Node) -> None:
        """Write the expressions of any other statement, such as go and defer."""
        for part in node.children:
            k = part.kind_id
            if k == g.EXPRESSIONS:
                self._evaluate_list(part)
            elif k != g.LABEL and is_meaningful(k):
                self.code.append(c.EVALUATE)
                self.expression(part, k)

    def _evaluate_list(self, expressions: Node) -> None:
        parts = expressions.children
        if len(parts) == 1:
            self.code.append(c.EVALUATE)
            self.expression(parts[0], parts[0].kind_id)
            return
        for part in parts:
            k = part.kind_id
            if is_meaningful(k):
                self.code.append(c.EVALUATE)
                self.expression(part, k)

    def _return(self, node: Node) -> None:
        for part in node.children:
            if part.kind_id == g.EXPRESSIONS:
                self.code += (c.RETURN, 0)
                self.expression_list(part, len(self.code) - 1)

    def _send(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self._evaluate_all(node)
            return
        self.code.append(c.SEND)
        for part in parts:
            self.expression(part, part.kind_id)

    def _sides(self, node: Node) -> list[Node]:
        """Return the left and the right expression list of an assignment, or nothing if it is broken."""
        parts = node.children
        if len(parts) == 3:
            return [parts[0], parts[2]]
        parts = [part for part in parts if part.kind_id == g.EXPRESSIONS]
        return parts if len(parts) == 2 else []

    def _define(self, node: Node) -> None:
        code = self.code
        sides = self._sides(node)
        if not sides:
            return
        code += (c.DEFINE, 0, 0)
        slot = len(code) - 1
        code[slot - 1] = self._names(sides[0])
        self.expression_list(sides[1], slot)

    def _names(self, expressions: Node) -> int:
        """Write the names on the left of `:=`, a single ASCII one without its node. Returns how many."""
        text = self.text(expressions)
        if text.isalnum() and text.isascii() and not text[:1].isdigit():
            self.code.append(self.intern(text))
            return 1
        parts = meaningful(expressions)
        for part in parts:
            self.code.append(self.name_of(part, part.kind_id))
        return len(parts)

    def _assign(self, node: Node) -> None:
        code = self.code
        sides = self._sides(node)
        if not sides:
            return
        code += (c.ASSIGN, 0, 0)
        slot = len(code) - 1
        self.expression_list(sides[0], slot - 1)
        self.expression_list(sides[1], slot)

    def _step(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) == 1:
            self.code += (c.ASSIGN, 1, 0)
            self.expression(parts[0], parts[0].kind_id)

    def _receive(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) == 1:
            self.code.append(c.EVALUATE)
            self.expression(parts[0], parts[0].kind_id)
            return
        if len(parts) != 2:
            return
        targets = meaningful(parts[0])
        defines = any(child.kind_id == g.T_DEFINE for child in node.children)
        self.code += (c.DEFINE if defines else c.ASSIGN, len(targets), 1)
        self._targets(targets, defines)
        self.expression(parts[1], parts[1].kind_id)

    def _targets(self, targets: list[Node], defines: bool) -> None:
        for target in targets:
            if defines:
                self.code.append(self.name_of(target, target.kind_id))
            else:
                self.expression(target, target.kind_id)

    # -- compound statements

    def _if(self, node: Node) -> None:
        """Write an `if` with its chain of `else if`, without recursion: the chain can be long."""
        opened = 0
        following: Node | None = node
        while following is not None:
            self.code.append(c.OPEN)
            opened += 1
            parts = following.children
            following = None
            after_else = False
            for part in parts:
                k = part.kind_id
                if k == g.T_ELSE:
                    after_else = True
                elif after_else and k == g.IF:
                    following = part
                elif is_meaningful(k):
                    self._clause(part, k)
        for _ in range(opened):
            self.code.append(c.CLOSE)

    def _clause(self, part: Node, k: int) -> None:
        """Write a part of a compound statement's head or body: a statement, a block or an expression."""
        if g.STATEMENTS < k <= g.SELECT or k == g.BLOCK:
            self.statement(part, k)
        else:
            self.code.append(c.EVALUATE)
            self.expression(part, k)

    def _clauses(self, node: Node) -> None:
        for part in node.children:
            k = part.kind_id
            if is_meaningful(k):
                self._clause(part, k)

    def _for(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in node.children:
            k = part.kind_id
            if k == g.RANGE_CLAUSE:
                self._range(part)
            elif k == g.FOR_CLAUSE:
                self._clauses(part)
            elif is_meaningful(k):
                self._clause(part, k)
        self.code.append(c.CLOSE)

    def _range(self, node: Node) -> None:
        parts = meaningful(node)
        if not parts:
            return
        targets: list[Node] = []
        if len(parts) == 2:
            targets = meaningful(parts[0])
        defines = any(child.kind_id == g.T_DEFINE for child in node.children)
        self.code += (c.RANGE, 1 if defines else 0, len(targets))
        self.expression(parts[-1], parts[-1].kind_id)
        self._targets(targets, defines)

    def _switch(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in node.children:
            k = part.kind_id
            if k == g.CASE or k == g.DEFAULT_CASE or k == g.COMMUNICATION_CASE:
                self._case(part)
            elif is_meaningful(k):
                self._clause(part, k)
        self.code.append(c.CLOSE)

    def _case(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in node.children:
            k = part.kind_id
            if k == g.STATEMENTS:
                self.statements(part)
            elif k == g.EXPRESSIONS:
                self._evaluate_list(part)
            elif is_meaningful(k):
                self._clause(part, k)
        self.code.append(c.CLOSE)

    def _type_switch(self, node: Node) -> None:
        bound, head, guard, cases = self._type_switch_parts(node)
        self.code.append(c.OPEN)
        for part in head:
            self._clause(part, part.kind_id)
        self.code.append(c.SWITCH_TYPE)
        if guard is None:
            self.code.append(c.BAD)
        else:
            self.expression(guard, guard.kind_id)
        for case in cases:
            self._type_case(case, bound)
        self.code.append(c.SWITCH_END)
        self.code.append(c.CLOSE)

    def _type_switch_parts(self, node: Node) -> tuple[int, list[Node], Node | None, list[Node]]:
        bound = 0
        head: list[Node] = []
        cases: list[Node] = []
        before: list[Node] = []
        for child in node.children:
            k = child.kind_id
            if k == g.T_SEMICOLON:
                head, before = before, []
            elif k == g.T_DEFINE:
                if before:
                    names = meaningful(before.pop())
                    bound = self.name_of(names[0], names[0].kind_id) if names else 0
            elif k == g.TYPE_CASE or k == g.DEFAULT_CASE:
                cases.append(child)
            elif is_meaningful(k):
                before.append(child)
        return bound, head, before[-1] if before else None, cases

    def _type_case(self, case: Node, bound: int) -> None:
        self.code.append(c.OPEN)
        types: list[Node] = []
        bodies: list[Node] = []
        for part in meaningful(case):
            if part.kind_id == g.STATEMENTS:
                bodies.append(part)
            else:
                types.append(part)
        self.code += (c.CASE_TYPE, bound, len(types))
        for part in types:
            self.expression(part, part.kind_id)
        for body in bodies:
            self.statements(body)
        self.code.append(c.CLOSE)

    # -- declarations inside bodies

    def _declaration(self, node: Node) -> None:
        for spec in g.specs_of(node):
            k = spec.kind_id
            if k == g.VAR_SPEC or k == g.CONST_SPEC:
                self._value_spec(spec, c.VAR if k == g.VAR_SPEC else c.CONST)
            elif k == g.TYPE_SPEC or k == g.TYPE_ALIAS:
                self._type_spec(spec, 1 if k == g.TYPE_ALIAS else 0)

    def _value_spec(self, spec: Node, op: int) -> None:
        names, type_node, values = g.value_spec_parts(spec)
        code = self.code
        code += (op, len(names), 0 if type_node is None else 1, 0)
        slot = len(code) - 1
        for name in names:
            code.append(self.name_of(name, name.kind_id))
        if type_node is not None:
            self.expression(type_node, type_node.kind_id)
        if values is not None:
            self.expression_list(values, slot)

    def _type_spec(self, spec: Node, alias: int) -> None:
        name, parameters, type_node = g.type_spec_parts(spec)
        if name is None or type_node is None:
            return
        self.code += (c.TYPE, self.name_of(name, name.kind_id), alias)
        self.type_parameters(parameters)
        self.expression(type_node, type_node.kind_id)


def _line_at(starts: list[int], offset: int) -> int:
    """What `bisect_right` returns, several times as fast because it is compiled."""
    low = 0
    high = len(starts)
    while low < high:
        middle = (low + high) // 2
        if offset < starts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def line_starts(source: bytes) -> list[int]:
    starts = [0]
    at = 0
    for line in source.split(b"\n"):
        at += len(line) + 1
        starts.append(at)
    starts.pop()
    return starts
