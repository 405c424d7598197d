"""Writes the compact code (see `code`) of one file's expressions, types and statements.

One `Emitter` serves one file: it holds the growing list of integers and the table of names. It walks the syntax tree
once, in source order, and never raises on broken input: what did not parse becomes `BAD`. It decides nothing about
meaning; a name is a name until `infer` looks it up.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

from golore.learner import code as c
from golore.learner.syntax import Node, kind

DEEPEST: Final = 400
"""How deep expressions and blocks may nest; compiled code has no recursion limit of its own to stop it."""

IDENTIFIER: Final = kind("identifier")
BLANK: Final = kind("blank_identifier")
FIELD_IDENTIFIER: Final = kind("field_identifier")
TYPE_IDENTIFIER: Final = kind("type_identifier")
PACKAGE_IDENTIFIER: Final = kind("package_identifier")
NIL: Final = kind("nil")
TRUE: Final = kind("true")
FALSE: Final = kind("false")
IOTA: Final = kind("iota")
INT_LITERAL: Final = kind("int_literal")
FLOAT_LITERAL: Final = kind("float_literal")
IMAGINARY_LITERAL: Final = kind("imaginary_literal")
RUNE_LITERAL: Final = kind("rune_literal")
RAW_STRING: Final = kind("raw_string_literal")
STRING: Final = kind("interpreted_string_literal")
COMMENT: Final = kind("comment")
ERROR: Final = 65535

SELECTOR: Final = kind("selector_expression")
QUALIFIED: Final = kind("qualified_type")
CALL: Final = kind("call_expression")
CONVERSION: Final = kind("type_conversion_expression")
ARGUMENTS: Final = kind("argument_list")
SPREAD: Final = kind("variadic_argument")
INDEX: Final = kind("index_expression")
INSTANTIATION: Final = kind("type_instantiation_expression")
GENERIC: Final = kind("generic_type")
TYPE_ARGUMENTS: Final = kind("type_arguments")
SLICE: Final = kind("slice_expression")
ASSERTION: Final = kind("type_assertion_expression")
COMPOSITE: Final = kind("composite_literal")
LITERAL_VALUE: Final = kind("literal_value")
LITERAL_ELEMENT: Final = kind("literal_element")
KEYED_ELEMENT: Final = kind("keyed_element")
FUNC_LITERAL: Final = kind("func_literal")
UNARY: Final = kind("unary_expression")
BINARY: Final = kind("binary_expression")
PARENTHESIZED: Final = kind("parenthesized_expression")
PARENTHESIZED_TYPE: Final = kind("parenthesized_type")

POINTER_TYPE: Final = kind("pointer_type")
SLICE_TYPE: Final = kind("slice_type")
ARRAY_TYPE: Final = kind("array_type")
AUTO_ARRAY_TYPE: Final = kind("implicit_length_array_type")
MAP_TYPE: Final = kind("map_type")
CHANNEL_TYPE: Final = kind("channel_type")
FUNCTION_TYPE: Final = kind("function_type")
STRUCT_TYPE: Final = kind("struct_type")
INTERFACE_TYPE: Final = kind("interface_type")
NEGATED_TYPE: Final = kind("negated_type")
TYPE_ELEMENT: Final = kind("type_elem")
TYPE_CONSTRAINT: Final = kind("type_constraint")
METHOD_ELEMENT: Final = kind("method_elem")
FIELD_LIST: Final = kind("field_declaration_list")
FIELD: Final = kind("field_declaration")
PARAMETERS: Final = kind("parameter_list")
PARAMETER: Final = kind("parameter_declaration")
VARIADIC_PARAMETER: Final = kind("variadic_parameter_declaration")
TYPE_PARAMETERS: Final = kind("type_parameter_list")
TYPE_PARAMETER: Final = kind("type_parameter_declaration")

BLOCK: Final = kind("block")
STATEMENTS: Final = kind("statement_list")
EXPRESSIONS: Final = kind("expression_list")
EXPRESSION_STATEMENT: Final = kind("expression_statement")
SHORT_VAR: Final = kind("short_var_declaration")
ASSIGNMENT: Final = kind("assignment_statement")
RECEIVE_STATEMENT: Final = kind("receive_statement")
RANGE_CLAUSE: Final = kind("range_clause")
FOR_CLAUSE: Final = kind("for_clause")
FOR: Final = kind("for_statement")
IF: Final = kind("if_statement")
SWITCH: Final = kind("expression_switch_statement")
TYPE_SWITCH: Final = kind("type_switch_statement")
SELECT: Final = kind("select_statement")
CASE: Final = kind("expression_case")
DEFAULT_CASE: Final = kind("default_case")
TYPE_CASE: Final = kind("type_case")
COMMUNICATION_CASE: Final = kind("communication_case")
LABELED: Final = kind("labeled_statement")
LABEL: Final = kind("label_name")
VAR_DECLARATION: Final = kind("var_declaration")
VAR_LIST: Final = kind("var_spec_list")
VAR_SPEC: Final = kind("var_spec")
CONST_DECLARATION: Final = kind("const_declaration")
CONST_SPEC: Final = kind("const_spec")
TYPE_DECLARATION: Final = kind("type_declaration")
TYPE_SPEC: Final = kind("type_spec")
TYPE_ALIAS: Final = kind("type_alias")

T_TIMES: Final = kind("*", False)
T_AND: Final = kind("&", False)
T_ARROW: Final = kind("<-", False)
T_NOT: Final = kind("!", False)
T_DEFINE: Final = kind(":=", False)
T_RANGE: Final = kind("range", False)
T_SHIFT_LEFT: Final = kind("<<", False)
T_SHIFT_RIGHT: Final = kind(">>", False)
T_CHAN: Final = kind("chan", False)
T_SEMICOLON: Final = kind(";", False)
T_LBRACE: Final = kind("{", False)
T_TYPE: Final = kind("type", False)
COMPARISONS: Final = frozenset(kind(t, False) for t in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"))

_HIGHEST_TOKEN: Final = 94
_NAMED_TOKENS: Final = frozenset(
    (
        IDENTIFIER, BLANK, INT_LITERAL, FLOAT_LITERAL, IMAGINARY_LITERAL, RUNE_LITERAL, NIL, TRUE, FALSE, IOTA,
    )
)  # fmt: skip


def meaningful(node: Node) -> list[Node]:
    """The children that carry meaning: no punctuation, no comments, no errors."""
    found: list[Node] = []
    for child in node.children:
        k = child.kind_id
        if (k > _HIGHEST_TOKEN and k != ERROR) or k in _NAMED_TOKENS:
            found.append(child)
    return found


@final
class Emitter:
    """The code, names and lines of one file, as far as they are written."""

    def __init__(self, source: bytes) -> None:
        self.source: Final = source
        self.code: list[int] = []
        self.names: list[str] = [""]
        self.lines: list[int] = []
        self.in_shape = False
        self.skeleton = False
        self.too_deep = False
        self.depth = 0
        self._index: dict[bytes, int] = {b"": 0}
        self.line_starts = line_starts(source)
        self._line = 1
        self._low = 0
        self._high = self.line_starts[1] if len(self.line_starts) > 1 else len(source) + 1

    # -- places and names

    def line_of(self, offset: int) -> int:
        if offset < self._low or offset >= self._high:
            starts = self.line_starts
            line = bisect_right(starts, offset)
            self._line = line
            self._low = starts[line - 1]
            self._high = starts[line] if line < len(starts) else len(self.source) + 1
        return self._line

    def text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def intern(self, text: bytes) -> int:
        found = self._index.get(text)
        if found is None:
            found = len(self.names)
            self._index[text] = found
            self.names.append(text.decode("utf-8", "replace"))
        return found

    def name_of(self, node: Node) -> int:
        return self.intern(self.source[node.start_byte : node.end_byte])

    def _place(self, offset: int) -> None:
        line = self.line_of(offset)
        if self.in_shape:
            self.code.append(len(self.lines))
            self.lines.append(line)
        else:
            self.code.append(line)

    def _name(self, node: Node) -> None:
        start = node.start_byte
        self.code.append(c.NAME)
        self.code.append(self.intern(self.source[start : node.end_byte]))
        self._place(start)

    # -- expressions and types

    def expression(self, node: Node) -> None:
        """Write the code of one expression or type."""
        if self.depth > DEEPEST:
            self.too_deep = True
            self.code.append(c.BAD)
            return
        self.depth += 1
        k = node.kind_id
        if k == IDENTIFIER or k == TYPE_IDENTIFIER:
            self._name(node)
        elif k == SELECTOR or k == QUALIFIED:
            self._selector(node)
        elif k == CALL:
            self._call(node)
        elif k == INT_LITERAL:
            self._integer(node)
        elif k == STRING or k == RAW_STRING:
            self.code.append(c.STRING)
        elif k == BINARY:
            self._binary(node)
        elif k == UNARY:
            self._unary(node)
        elif k == COMPOSITE:
            self._composite(node)
        elif k == PARENTHESIZED or k == PARENTHESIZED_TYPE:
            self._only(node)
        else:
            self._rarer_expression(node, k)
        self.depth -= 1

    def _rarer_expression(self, node: Node, k: int) -> None:
        code = self.code
        if k == NIL or k == TRUE or k == FALSE or k == IOTA or k == BLANK:
            self._name(node)
        elif k == INDEX or k == INSTANTIATION or k == GENERIC:
            self._index_or_instance(node)
        elif k == POINTER_TYPE:
            code.append(c.STAR)
            self._only(node)
        elif k == SLICE_TYPE:
            code.append(c.SLICE_OF)
            self._only(node)
        elif k == CONVERSION:
            self._conversion(node)
        elif k == SLICE:
            self._slice(node)
        elif k == ASSERTION:
            self._pair(c.ASSERT, node)
        elif k == FUNC_LITERAL:
            self._function_literal(node)
        elif k == RUNE_LITERAL:
            code.append(c.RUNE)
        elif k == FLOAT_LITERAL:
            code.append(c.FLOAT)
        elif k == IMAGINARY_LITERAL:
            code.append(c.IMAGINARY)
        elif k == FIELD_IDENTIFIER or k == PACKAGE_IDENTIFIER:
            self._name(node)
        else:
            self._type(node, k)

    def _type(self, node: Node, k: int) -> None:
        code = self.code
        if k == MAP_TYPE:
            self._pair(c.MAP, node)
        elif k == INTERFACE_TYPE:
            self._interface(node)
        elif k == STRUCT_TYPE:
            self._struct(node)
        elif k == FUNCTION_TYPE:
            code.append(c.FUNCTION_TYPE)
            self.signature_of(node)
        elif k == ARRAY_TYPE:
            self._pair(c.ARRAY, node)
        elif k == AUTO_ARRAY_TYPE:
            code.append(c.ARRAY_AUTO)
            self._only(node)
        elif k == CHANNEL_TYPE:
            self._channel(node)
        elif k == TYPE_ELEMENT or k == TYPE_CONSTRAINT:
            self._union(node)
        elif k == NEGATED_TYPE:
            code.append(c.TILDE)
            self._only(node)
        elif k == LITERAL_VALUE:
            code.append(c.ELIDED)
            self._elements(node)
        elif k == EXPRESSIONS or k == LITERAL_ELEMENT:
            self._only(node)
        else:
            code.append(c.BAD)

    def _only(self, node: Node) -> None:
        parts = meaningful(node)
        if parts:
            self.expression(parts[-1])
        else:
            self.code.append(c.BAD)

    def _pair(self, op: int, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self.code.append(c.BAD)
            return
        self.code.append(op)
        self.expression(parts[0])
        self.expression(parts[1])

    def _selector(self, node: Node) -> None:
        parts = node.children
        if len(parts) != 3:
            parts = meaningful(node)
            if len(parts) != 2:
                self.code.append(c.BAD)
                return
        field = parts[-1]
        start = field.start_byte
        self.code.append(c.SELECT)
        self.code.append(self.intern(self.source[start : field.end_byte]))
        self._place(start)
        self.expression(parts[0])

    def _call(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) < 2:
            self.code.append(c.BAD)
            return
        arguments = meaningful(parts[-1])
        spread = 0
        if arguments and arguments[-1].kind_id == SPREAD:
            spread = 1
        code = self.code
        code.append(c.CALL)
        code.append(len(arguments))
        code.append(spread)
        if len(parts) == 3:
            self._instance(parts[0], meaningful(parts[1]))
        else:
            self.expression(parts[0])
        for argument in arguments:
            if argument.kind_id == SPREAD:
                self._only(argument)
            else:
                self.expression(argument)

    def _conversion(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self.code.append(c.BAD)
            return
        self.code.append(c.CALL)
        self.code.append(1)
        self.code.append(0)
        self.expression(parts[0])
        self.expression(parts[1])

    def _instance(self, operand: Node, arguments: list[Node]) -> None:
        self.code.append(c.INDEX)
        self.code.append(len(arguments))
        self.expression(operand)
        for argument in arguments:
            self.expression(argument)

    def _index_or_instance(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) < 2:
            self.code.append(c.BAD)
        elif parts[1].kind_id == TYPE_ARGUMENTS:
            self._instance(parts[0], meaningful(parts[1]))
        else:
            self._instance(parts[0], parts[1:])

    def _slice(self, node: Node) -> None:
        parts = meaningful(node)
        if not parts:
            self.code.append(c.BAD)
            return
        self.code.append(c.SLICE)
        self.code.append(len(parts) - 1)
        for part in parts:
            self.expression(part)

    def _integer(self, node: Node) -> None:
        self.code.append(c.INT)
        text = self.text(node).replace(b"_", b"")
        value = -1
        if len(text) < 12:
            try:
                value = int(text, 8 if text[:1] == b"0" and text.isdigit() else 0)
            except ValueError:
                value = -1
        self.code.append(value if value < 0x7FFFFFFF else -1)

    def _unary(self, node: Node) -> None:
        children = node.children
        operator = children[0].kind_id
        op = c.UNARY
        if operator == T_TIMES:
            op = c.STAR
        elif operator == T_AND:
            op = c.ADDRESS
        elif operator == T_ARROW:
            op = c.RECEIVE
        elif operator == T_NOT:
            op = c.NOT
        self.code.append(op)
        self._only(node)

    def _binary(self, node: Node) -> None:
        """Long chains lean to the left, so they are written from the outside in, without recursion."""
        rights: list[Node] = []
        while node.kind_id == BINARY:
            parts = node.children
            if len(parts) != 3:
                parts = [p for p in parts if p.kind_id != COMMENT and p.kind_id != ERROR]
                if len(parts) != 3:
                    break
            operator = parts[1].kind_id
            if operator in COMPARISONS:
                self.code.append(c.COMPARE)
            elif operator == T_SHIFT_LEFT or operator == T_SHIFT_RIGHT:
                self.code.append(c.SHIFT)
            else:
                self.code.append(c.BINARY)
            rights.append(parts[2])
            node = parts[0]
        if node.kind_id == BINARY:
            self.code.append(c.BAD)
        else:
            self.expression(node)
        while rights:
            self.expression(rights.pop())

    def _composite(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) != 2:
            self.code.append(c.BAD)
            return
        code = self.code
        code.append(c.COMPOSITE)
        if self.skeleton:
            code.append(0)
            self.expression(parts[0])
            return
        slot = len(code)
        code.append(0)
        self.expression(parts[0])
        elements = meaningful(parts[1])
        code[slot] = len(elements)
        for element in elements:
            self._element(element)

    def _elements(self, value: Node) -> None:
        elements = meaningful(value)
        self.code.append(len(elements))
        for element in elements:
            self._element(element)

    def _element(self, element: Node) -> None:
        k = element.kind_id
        if k == LITERAL_ELEMENT:
            self._only(element)
        elif k == KEYED_ELEMENT:
            self._pair(c.KEYED, element)
        else:
            self.expression(element)

    def _function_literal(self, node: Node) -> None:
        self.code.append(c.FUNCTION)
        self.signature_of(node)
        if not self.skeleton:
            for child in node.children:
                if child.kind_id == BLOCK:
                    self.block(child)
        self.code.append(c.END)

    def signature_of(self, node: Node) -> None:
        """Write the signature of a function, method element or function type: its parameter list and what follows."""
        parameters: Node | None = None
        result: Node | None = None
        for child in meaningful(node):
            k = child.kind_id
            if k == BLOCK:
                break
            if parameters is None:
                if k == PARAMETERS:
                    parameters = child
            else:
                result = child
        self.signature(parameters, result)

    def signature(self, parameters: Node | None, result: Node | None) -> None:
        code = self.code
        head = len(code)
        code += [0, 0, 0]
        if parameters is not None:
            code[head], code[head + 2] = self._parameters(parameters)
        if result is not None:
            if result.kind_id == PARAMETERS:
                code[head + 1] = self._parameters(result)[0]
            else:
                code[head + 1] = 1
                code.append(0)
                self.expression(result)

    def _parameters(self, parameters: Node) -> tuple[int, int]:
        count = 0
        variadic = 0
        for declaration in meaningful(parameters):
            k = declaration.kind_id
            if k == VARIADIC_PARAMETER:
                variadic = 1
            elif k != PARAMETER:
                continue
            parts = meaningful(declaration)
            if not parts:
                continue
            names = parts[:-1]
            if not names:
                self.code.append(0)
                self.expression(parts[-1])
                count += 1
            for name in names:
                self.code.append(self.name_of(name))
                self.expression(parts[-1])
                count += 1
        return count, variadic

    def type_parameters(self, node: Node | None) -> None:
        slot = len(self.code)
        self.code.append(0)
        count = 0
        if node is not None:
            for declaration in meaningful(node):
                parts = meaningful(declaration)
                if len(parts) < 2:
                    continue
                for name in parts[:-1]:
                    self.code.append(self.name_of(name))
                    self.expression(parts[-1])
                    count += 1
        self.code[slot] = count

    def _channel(self, node: Node) -> None:
        tokens = [child.kind_id for child in node.children]
        direction = 0
        if tokens and tokens[0] == T_ARROW:
            direction = 2
        elif len(tokens) > 1 and tokens[1] == T_ARROW:
            direction = 1
        self.code.append(c.CHANNEL)
        self.code.append(direction)
        self._only(node)

    def _union(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) == 1:
            self.expression(parts[0])
            return
        self.code.append(c.UNION)
        self.code.append(len(parts))
        for part in parts:
            self.expression(part)

    def _struct(self, node: Node) -> None:
        code = self.code
        code.append(c.STRUCT)
        slot = len(code)
        code.append(0)
        count = 0
        for part in meaningful(node):
            if part.kind_id != FIELD_LIST:
                continue
            for declaration in fields_of(part):
                for name, kind_of_name, type_node, pointer in field_names(declaration):
                    code.append(self.intern(self.source[name.start_byte : name.end_byte]))
                    code.append(kind_of_name)
                    if pointer:
                        code.append(c.STAR)
                    self.expression(type_node)
                    count += 1
        code[slot] = count

    def _interface(self, node: Node) -> None:
        code = self.code
        code.append(c.INTERFACE)
        slot = len(code)
        code.append(0)
        count = 0
        for part in meaningful(node):
            if part.kind_id == METHOD_ELEMENT:
                inner = meaningful(part)
                if not inner:
                    continue
                code.append(c.METHOD)
                code.append(self.name_of(inner[0]))
                self.signature_of(part)
            else:
                self.expression(part)
            count += 1
        code[slot] = count

    # -- statements

    def block(self, block: Node) -> None:
        self.code.append(c.OPEN)
        self.statements(block)
        self.code.append(c.CLOSE)

    def statements(self, node: Node) -> None:
        """Write the statements below a block, a statement list or a case."""
        for child in node.children:
            k = child.kind_id
            if k == STATEMENTS or k == ERROR:
                self.statements(child)
            elif k > _HIGHEST_TOKEN:
                self.statement(child, k)

    def statement(self, node: Node, k: int) -> None:
        if self.depth > DEEPEST:
            self.too_deep = True
            return
        self.depth += 1
        if k == EXPRESSION_STATEMENT:
            self.code.append(c.EVALUATE)
            self._only(node)
        elif k == SHORT_VAR:
            self._define(node)
        elif k == ASSIGNMENT:
            self._assign(node)
        elif k == IF:
            self._if(node)
        elif k == BLOCK:
            self.block(node)
        elif k == FOR:
            self._for(node)
        elif k == SWITCH or k == SELECT:
            self._switch(node)
        elif k == TYPE_SWITCH:
            self._type_switch(node)
        elif k == VAR_DECLARATION or k == CONST_DECLARATION or k == TYPE_DECLARATION:
            self._declaration(node)
        elif k == RECEIVE_STATEMENT:
            self._receive(node)
        elif k == LABELED:
            for part in meaningful(node):
                if part.kind_id != LABEL:
                    self.statement(part, part.kind_id)
        else:
            self._evaluate_all(node)
        self.depth -= 1

    def _evaluate_all(self, node: Node) -> None:
        """A statement of which only the expressions matter: return, go, defer, send, ++, --."""
        for part in meaningful(node):
            k = part.kind_id
            if k == EXPRESSIONS:
                self._evaluate_all(part)
            elif k != LABEL:
                self.code.append(c.EVALUATE)
                self.expression(part)

    def _sides(self, node: Node) -> tuple[list[Node], list[Node]]:
        sides = [part for part in meaningful(node) if part.kind_id == EXPRESSIONS]
        if len(sides) != 2:
            return [], []
        return meaningful(sides[0]), meaningful(sides[1])

    def _define(self, node: Node) -> None:
        names, values = self._sides(node)
        self.code.append(c.DEFINE)
        self.code.append(len(names))
        self.code.append(len(values))
        for name in names:
            self.code.append(self.name_of(name))
        for value in values:
            self.expression(value)

    def _assign(self, node: Node) -> None:
        targets, values = self._sides(node)
        self.code.append(c.ASSIGN)
        self.code.append(len(targets))
        self.code.append(len(values))
        for part in targets:
            self.expression(part)
        for part in values:
            self.expression(part)

    def _receive(self, node: Node) -> None:
        parts = meaningful(node)
        if len(parts) == 1:
            self.code.append(c.EVALUATE)
            self.expression(parts[0])
            return
        if len(parts) != 2:
            return
        targets = meaningful(parts[0])
        defines = any(child.kind_id == T_DEFINE for child in node.children)
        self.code.append(c.DEFINE if defines else c.ASSIGN)
        self.code.append(len(targets))
        self.code.append(1)
        for target in targets:
            if defines:
                self.code.append(self.name_of(target))
            else:
                self.expression(target)
        self.expression(parts[1])

    def _if(self, node: Node) -> None:
        """A chain of `else if` leans to the right and can be long: it is written without recursion."""
        opened = 0
        following: Node | None = node
        while following is not None:
            self.code.append(c.OPEN)
            opened += 1
            parts = meaningful(following)
            following = parts.pop() if len(parts) > 2 and parts[-1].kind_id == IF else None
            for part in parts:
                self._clause(part)
        for _ in range(opened):
            self.code.append(c.CLOSE)

    def _clause(self, part: Node) -> None:
        """A part of a compound statement's head or body: a statement, a block, or a bare expression."""
        k = part.kind_id
        if STATEMENTS < k <= SELECT or k == BLOCK:
            self.statement(part, k)
        else:
            self.code.append(c.EVALUATE)
            self.expression(part)

    def _for(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in meaningful(node):
            k = part.kind_id
            if k == RANGE_CLAUSE:
                self._range(part)
            elif k == FOR_CLAUSE:
                for inner in meaningful(part):
                    self._clause(inner)
            else:
                self._clause(part)
        self.code.append(c.CLOSE)

    def _range(self, node: Node) -> None:
        parts = meaningful(node)
        if not parts:
            return
        targets: list[Node] = []
        if len(parts) == 2:
            targets = meaningful(parts[0])
        defines = any(child.kind_id == T_DEFINE for child in node.children)
        self.code.append(c.RANGE)
        self.code.append(1 if defines else 0)
        self.code.append(len(targets))
        self.expression(parts[-1])
        for target in targets:
            if defines:
                self.code.append(self.name_of(target))
            else:
                self.expression(target)

    def _switch(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in meaningful(node):
            k = part.kind_id
            if k == CASE or k == DEFAULT_CASE or k == COMMUNICATION_CASE:
                self._case(part)
            else:
                self._clause(part)
        self.code.append(c.CLOSE)

    def _case(self, node: Node) -> None:
        self.code.append(c.OPEN)
        for part in meaningful(node):
            k = part.kind_id
            if k == STATEMENTS:
                self.statements(part)
            elif k == EXPRESSIONS:
                self._evaluate_all(part)
            else:
                self._clause(part)
        self.code.append(c.CLOSE)

    def _type_switch(self, node: Node) -> None:
        bound, head, guard, cases = self._type_switch_parts(node)
        self.code.append(c.OPEN)
        for part in head:
            self._clause(part)
        self.code.append(c.SWITCH_TYPE)
        if guard is None:
            self.code.append(c.BAD)
        else:
            self.expression(guard)
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
            if k == T_SEMICOLON:
                head, before = before, []
            elif k == T_DEFINE:
                if before:
                    names = meaningful(before.pop())
                    bound = self.name_of(names[0]) if names else 0
            elif k == TYPE_CASE or k == DEFAULT_CASE:
                cases.append(child)
            elif (k > _HIGHEST_TOKEN and k != ERROR) or k in _NAMED_TOKENS:
                before.append(child)
        return bound, head, before[-1] if before else None, cases

    def _type_case(self, case: Node, bound: int) -> None:
        self.code.append(c.OPEN)
        types: list[Node] = []
        bodies: list[Node] = []
        for part in meaningful(case):
            if part.kind_id == STATEMENTS:
                bodies.append(part)
            else:
                types.append(part)
        self.code.append(c.CASE_TYPE)
        self.code.append(bound)
        self.code.append(len(types))
        for part in types:
            self.expression(part)
        for body in bodies:
            self.statements(body)
        self.code.append(c.CLOSE)

    # -- declarations inside bodies

    def _declaration(self, node: Node) -> None:
        for spec in specs_of(node):
            k = spec.kind_id
            if k == VAR_SPEC or k == CONST_SPEC:
                self._value_spec(spec, c.VAR if k == VAR_SPEC else c.CONST)
            elif k == TYPE_SPEC or k == TYPE_ALIAS:
                self._type_spec(spec, 1 if k == TYPE_ALIAS else 0)

    def _value_spec(self, spec: Node, op: int) -> None:
        names, type_node, values = value_spec_parts(spec)
        code = self.code
        code.append(op)
        code.append(len(names))
        code.append(0 if type_node is None else 1)
        code.append(len(values))
        for name in names:
            code.append(self.name_of(name))
        if type_node is not None:
            self.expression(type_node)
        for value in values:
            self.expression(value)

    def _type_spec(self, spec: Node, alias: int) -> None:
        name, parameters, type_node = type_spec_parts(spec)
        if name is None or type_node is None:
            return
        self.code.append(c.TYPE)
        self.code.append(self.name_of(name))
        self.code.append(alias)
        self.type_parameters(parameters)
        self.expression(type_node)


def line_starts(source: bytes) -> list[int]:
    starts = [0]
    at = source.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = source.find(b"\n", at + 1)
    return starts


def specs_of(node: Node) -> list[Node]:
    """The specs of a const, var or type declaration, grouped or not, in order. Broken groups give what they have."""
    found: list[Node] = []
    for child in node.children:
        k = child.kind_id
        if k == VAR_SPEC or k == CONST_SPEC or k == TYPE_SPEC or k == TYPE_ALIAS:
            found.append(child)
        elif k == VAR_LIST or k == ERROR:
            found += specs_of(child)
    return found


def value_spec_parts(spec: Node) -> tuple[list[Node], Node | None, list[Node]]:
    """Names, type and values of a const or var spec."""
    names: list[Node] = []
    type_node: Node | None = None
    values: list[Node] = []
    for part in meaningful(spec):
        k = part.kind_id
        if k == EXPRESSIONS:
            values = meaningful(part)
        elif (k == IDENTIFIER or k == BLANK) and type_node is None:
            names.append(part)
        else:
            type_node = part
    return names, type_node, values


def type_spec_parts(spec: Node) -> tuple[Node | None, Node | None, Node | None]:
    """Name, type parameters and type of a type spec or alias."""
    parts = meaningful(spec)
    if len(parts) < 2:
        return None, None, None
    return parts[0], parts[1] if len(parts) == 3 and parts[1].kind_id == TYPE_PARAMETERS else None, parts[-1]


def fields_of(field_list: Node) -> list[Node]:
    found: list[Node] = []
    for child in field_list.children:
        k = child.kind_id
        if k == FIELD:
            found.append(child)
        elif k == ERROR:
            found += fields_of(child)
    return found


def field_names(declaration: Node) -> list[tuple[Node, int, Node, bool]]:
    """For each name of a field declaration: its node, 1 if embedded, the type's node, and whether `*` stands before it."""
    parts = meaningful(declaration)
    if parts and (parts[-1].kind_id == RAW_STRING or parts[-1].kind_id == STRING):
        parts = parts[:-1]
    if not parts:
        return []
    type_node = parts[-1]
    if len(parts) == 1:
        pointer = any(child.kind_id == T_TIMES for child in declaration.children)
        return [(embedded_name(type_node), 1, type_node, pointer)]
    return [(name, 0, type_node, False) for name in parts[:-1]]


def embedded_name(type_node: Node) -> Node:
    """The node that names an embedded field: `T` of `T`, `p.T`, `T[int]` and `p.T[int]`."""
    k = type_node.kind_id
    parts = meaningful(type_node)
    if k == QUALIFIED and parts:
        return parts[-1]
    if (k == GENERIC or k == POINTER_TYPE or k == PARENTHESIZED_TYPE) and parts:
        return embedded_name(parts[0])
    return type_node
