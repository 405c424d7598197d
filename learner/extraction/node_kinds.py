"""The node kinds of the Go grammar, and accessors for the parts of nodes that several modules read.

Kinds are numbers that the grammar assigns; comparing numbers instead of names makes reading a tree cheap.
`declarations` and `tree_encoder` interpret the nodes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from golore.learner.extraction.parser import Node, kind

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

PACKAGE_CLAUSE: Final = kind("package_clause")
IMPORT_DECLARATION: Final = kind("import_declaration")
IMPORT_SPEC: Final = kind("import_spec")
IMPORT_LIST: Final = kind("import_spec_list")
DOT: Final = kind("dot")
FUNCTION: Final = kind("function_declaration")
METHOD: Final = kind("method_declaration")

SELECTOR: Final = kind("selector_expression")
QUALIFIED: Final = kind("qualified_type")
CALL: Final = kind("call_expression")
CONVERSION: Final = kind("type_conversion_expression")
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

BLOCK: Final = kind("block")
STATEMENTS: Final = kind("statement_list")
EXPRESSIONS: Final = kind("expression_list")
EXPRESSION_STATEMENT: Final = kind("expression_statement")
SHORT_VAR: Final = kind("short_var_declaration")
ASSIGNMENT: Final = kind("assignment_statement")
INCREMENT: Final = kind("inc_statement")
DECREMENT: Final = kind("dec_statement")
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
RETURN: Final = kind("return_statement")
SEND: Final = kind("send_statement")
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
T_SHIFT_LEFT: Final = kind("<<", False)
T_SHIFT_RIGHT: Final = kind(">>", False)
T_SEMICOLON: Final = kind(";", False)
T_OPEN: Final = kind("(", False)
T_ELSE: Final = kind("else", False)
COMPARISONS: Final = frozenset(kind(t, False) for t in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"))

SPECS: Final = (VAR_SPEC, CONST_SPEC, TYPE_SPEC, TYPE_ALIAS)
NAMES: Final = (IDENTIFIER, TYPE_IDENTIFIER, FIELD_IDENTIFIER, BLANK, PACKAGE_IDENTIFIER)
PREDECLARED: Final = (NIL, TRUE, FALSE, IOTA)
"""Names that the grammar parses as values in every context."""

LITERALS: Final = (INT_LITERAL, STRING, RAW_STRING, FLOAT_LITERAL, RUNE_LITERAL, IMAGINARY_LITERAL)

HIGHEST_TOKEN: Final = COMMENT
"""The kinds up to this one are tokens: punctuation, operators, keywords, literals, comments."""

_FIRST_VALUE: Final = INT_LITERAL


def is_meaningful(k: int) -> bool:
    """Whether a kind carries meaning: it is not punctuation, an operator, a keyword, a comment or an error."""
    if k > HIGHEST_TOKEN:
        return k != ERROR
    return k == IDENTIFIER or k == BLANK or _FIRST_VALUE <= k < COMMENT


def meaningful(node: Node) -> list[Node]:
    """Return the children that carry meaning."""
    return [child for child in node.children if is_meaningful(child.kind_id)]


def last_meaningful(node: Node) -> Node | None:
    """Return the last child that carries meaning: for a wrapper node, the wrapped one. None if there is none."""
    for child in reversed(node.children):
        if is_meaningful(child.kind_id):
            return child
    return None


def children_of_kinds(node: Node, wanted: tuple[int, ...]) -> list[Node]:
    """Return the children of these kinds, also those inside ERROR nodes and spec lists, in source order."""
    found: list[Node] = []
    pending = list(reversed(node.children))
    while pending:
        child = pending.pop()
        k = child.kind_id
        if k in wanted:
            found.append(child)
        elif k == VAR_LIST or k == IMPORT_LIST or k == ERROR:
            pending += reversed(child.children)
    return found


def specs_of(node: Node) -> list[Node]:
    """Return the specs of a const, var or type declaration, grouped or not, in source order."""
    return children_of_kinds(node, SPECS)


def value_spec_parts(spec: Node) -> tuple[list[Node], Node | None, Node | None]:
    """Return the names, the type and the value list of a const or var spec."""
    names: list[Node] = []
    type_node: Node | None = None
    values: Node | None = None
    for part in spec.children:
        k = part.kind_id
        if k == EXPRESSIONS:
            values = part
        elif (k == IDENTIFIER or k == BLANK) and type_node is None:
            names.append(part)
        elif is_meaningful(k):
            type_node = part
    return names, type_node, values


def type_spec_parts(spec: Node) -> tuple[Node | None, Node | None, Node | None]:
    """Return the name, the type parameters and the type of a type spec or alias."""
    parts = meaningful(spec)
    if len(parts) < 2:
        return None, None, None
    return parts[0], parts[1] if len(parts) == 3 and parts[1].kind_id == TYPE_PARAMETERS else None, parts[-1]


def without_parentheses(type_node: Node) -> Node:
    while type_node.kind_id == PARENTHESIZED_TYPE:
        inner = last_meaningful(type_node)
        if inner is None:
            break
        type_node = inner
    return type_node


class FieldName(NamedTuple):
    """One name of a field declaration. `pointer`: the field is embedded and has `*` before its type."""

    name: Node
    embedded: bool
    type: Node
    pointer: bool


def field_names(declaration: Node) -> list[FieldName]:
    parts = meaningful(declaration)
    if parts and (parts[-1].kind_id == RAW_STRING or parts[-1].kind_id == STRING):
        parts.pop()
    if not parts:
        return []
    type_node = parts.pop()
    if parts:
        return [FieldName(name, False, type_node, False) for name in parts if name.kind_id in NAMES]
    name = base_name(type_node)
    if name is None:
        return []
    pointer = any(child.kind_id == T_TIMES for child in declaration.children)
    return [FieldName(name, True, type_node, pointer)]


_WITH_ELEMENT: Final = frozenset(
    (POINTER_TYPE, SLICE_TYPE, ARRAY_TYPE, AUTO_ARRAY_TYPE, MAP_TYPE, CHANNEL_TYPE, PARENTHESIZED_TYPE)
)


def struct_within(type_node: Node) -> Node | None:
    """Return the unnamed struct type that a type is made of, None if there is none.

    It may be the element of other unnamed types. Resolution has the same rule (see `TypeReader.own_struct`).
    """
    while True:
        k = type_node.kind_id
        if k == STRUCT_TYPE:
            return type_node
        inner = last_meaningful(type_node) if k in _WITH_ELEMENT else None
        if inner is None:
            return None
        type_node = inner


def base_name(type_node: Node) -> Node | None:
    """Return the node of a type's name: `T` in `T`, `p.T`, `*T`, `(T)`, `T[int]` and `p.T[int]`. None if unnamed."""
    while True:
        k = type_node.kind_id
        if k in NAMES:
            return type_node
        parts = meaningful(type_node)
        if not parts:
            return None
        if k == QUALIFIED:
            type_node = parts[-1]
        elif k == GENERIC or k == POINTER_TYPE or k == PARENTHESIZED_TYPE:
            type_node = parts[0]
        else:
            return None
