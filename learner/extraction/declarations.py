"""Reads the top-level declarations of one file: its symbols for the outline, and its declarations for the shape.

Call `declare`, then `finish_shape`, then `encode_bodies_from_tokens` or `encode_bodies_from_tree`. The order matters:
the shape must not depend on bodies. Of a broken declaration, the parts that parse are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, final

from golore.learner.extraction import facts as f
from golore.learner.extraction import node_kinds as g
from golore.learner.extraction import opcodes as c
from golore.learner.extraction.doc_comments import comment_text, is_deprecated
from golore.learner.extraction.newer_syntax import Receiver
from golore.learner.extraction.node_kinds import meaningful
from golore.learner.extraction.one_line import one_line
from golore.learner.extraction.parser import Node
from golore.learner.extraction.token_encoder import TokenEncoder
from golore.learner.extraction.tree_encoder import TreeEncoder

MAX_VALUE_BYTES: Final = 80
"""A longer value is left out of the signature of a constant or variable."""
_MAX_NESTED: Final = 100
"""Levels of unnamed structs in structs whose fields are read."""
_TYPE_KINDS: Final = {g.STRUCT_TYPE: "struct", g.INTERFACE_TYPE: "interface"}


@final
class Declarations:
    """The declarations of one file.

    `receivers` has the receivers of methods that `newer_syntax` rewrote as functions, by the offset of the declaration.
    Without `outline`, only what the shape is made of is read: there are no symbols.
    """

    def __init__(self, source: bytes, receivers: dict[int, Receiver], outline: bool = True) -> None:
        self.source: Final = source
        self.encoder: Final = TreeEncoder(source)
        self.package = ""
        self.doc = ""
        self.header_end = 0
        self.imports: list[f.ImportSpec] = []
        self.import_lines: list[int] = []
        self.symbols: list[f.DeclaredSymbol] = []
        self.decls: list[f.Decl] = []
        self.decl_lines: list[int] = []
        self.problems: list[f.LineProblem] = []
        self.shape_code: list[int] = []
        self.shape_names = 0
        self.entries: list[f.BodyEntry] = []
        self._receivers: Final = receivers
        self._outline: Final = outline
        self._bodies: list[tuple[int, Node, bytes]] = []
        self.encoder.in_shape = True

    def declare(self, top: Iterable[Node]) -> None:
        """Read the top-level declarations. `top` yields their nodes one at a time, so that each is freed after use."""
        for node, k, doc in self._with_docs(top):
            if k == g.FUNCTION or k == g.METHOD:
                self._function(node, k == g.METHOD, doc)
            elif k == g.TYPE_DECLARATION:
                self._types(node, doc)
            elif k == g.VAR_DECLARATION or k == g.CONST_DECLARATION:
                self._values(node, k == g.CONST_DECLARATION, doc)
            elif k == g.IMPORT_DECLARATION:
                self._imports(node)
            elif k == g.PACKAGE_CLAUSE and not self.package:
                parts = meaningful(node)
                if parts:
                    self.package = self._text(parts[0])
                    self.doc = doc
                    self.header_end = node.start_byte

    def finish_shape(self) -> None:
        self.shape_code = self.encoder.code
        self.shape_names = len(self.encoder.names)
        self.encoder.in_shape = False
        self.encoder.code = []

    def covers(self, cuts: Iterable[int]) -> bool:
        """Whether every cut, given by the offset of its opening brace, lies inside a body. `cuts` must be ascending."""
        bodies = iter(self._bodies)
        body = next(bodies, None)
        for cut in cuts:
            while body is not None and body[1].end_byte <= cut:
                body = next(bodies, None)
            if body is None or cut < body[1].start_byte:
                return False
        return True

    def encode_bodies_from_tokens(self) -> None:
        """Write the code of all bodies from their tokens. Raises `CannotEncode` if a body is not plain Go."""
        token_encoder = TokenEncoder(self.encoder)
        for decl, node, receiver in self._bodies:
            at = len(self.encoder.code)
            start = node.start_byte
            end = node.end_byte
            k = node.kind_id
            if k == g.BLOCK:
                token_encoder.read_statements(self.source, start + 1, end - 1)
            elif k == g.COMPOSITE and self.encoder.is_data(node):
                self.encoder.code.append(c.EVALUATE)
                self.encoder.expression(node, k)
            else:
                token_encoder.read_value(self.source, start, end)
            self._end_body(decl, at, receiver)

    def encode_bodies_from_tree(self) -> None:
        """Write the code of all bodies from the tree. Frees the nodes of each body after writing it, to save memory."""
        encoder = self.encoder
        self._bodies.reverse()
        while self._bodies:
            decl, node, receiver = self._bodies.pop()
            at = len(encoder.code)
            k = node.kind_id
            if k == g.BLOCK:
                encoder.statements(node)
            else:
                encoder.code.append(c.EVALUATE)
                encoder.expression(node, k)
            self._end_body(decl, at, receiver)

    def _end_body(self, decl: int, at: int, receiver: bytes) -> None:
        self.encoder.code.append(c.END)
        self.entries.append(f.BodyEntry(decl, at, self.encoder.intern(receiver)))

    # -- documentation

    def _with_docs(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, int, str]]:
        """Yield each node that is not a comment, with its kind and the text of the comment group directly above it."""
        group: list[Node] = []
        group_end = -1
        previous: Node | None = None
        encoder = self.encoder  # not its bound method: a call of that is not compiled
        outline = self._outline
        for child in nodes:
            k = child.kind_id
            if not outline:
                if k != g.COMMENT:
                    yield child, k, ""
                continue
            if k != g.COMMENT:
                doc = ""
                if group and k > g.COMMENT and encoder.line_of(child.start_byte) == group_end + 1:
                    doc = comment_text([encoder.text(comment) for comment in group])
                yield child, k, doc
                group = []
                previous = child
                continue
            line = encoder.line_of(child.start_byte)
            if not group and previous is not None and line == self._last_line(previous):
                continue  # a comment at the end of a line of code documents nothing
            if group and line > group_end + 1:
                group = []
            group.append(child)
            group_end = self._last_line(child)

    def _last_line(self, node: Node) -> int:
        return self.encoder.line_of(max(node.start_byte, node.end_byte - 1))

    # -- imports and functions

    def _imports(self, node: Node) -> None:
        for spec in g.children_of_kinds(node, (g.IMPORT_SPEC,)):
            alias = ""
            for part in spec.children:
                k = part.kind_id
                if k == g.PACKAGE_IDENTIFIER or k == g.BLANK or k == g.DOT:
                    alias = self._text(part)
                elif k == g.STRING or k == g.RAW_STRING:
                    self.imports.append(f.ImportSpec(alias, self._text(part)[1:-1]))
                    self.import_lines.append(self.encoder.line_of(part.start_byte))

    def _function(self, node: Node, method: bool, doc: str) -> None:
        encoder = self.encoder
        receiver: Node | None = None
        name: Node | None = None
        type_parameters: Node | None = None
        body: Node | None = None
        signature: list[Node] = []
        for part in meaningful(node):
            k = part.kind_id
            if k == g.PARAMETERS and method and receiver is None:
                receiver = part
            elif name is None:
                name = part
            elif k == g.TYPE_PARAMETERS:
                type_parameters = part
            elif k == g.BLOCK:
                body = part
            else:
                signature.append(part)
        if name is None:
            return
        owner, pointer, parameters, receiver_name = self._receiver(receiver)
        start = node.start_byte
        rewritten = self._receivers.get(start)
        if rewritten is not None:
            method = True
            receiver_name, pointer, owner, parameters = rewritten
        at = len(encoder.code)
        encoder.type_parameters(type_parameters)
        encoder.signature(signature[0] if signature else None, signature[1] if len(signature) > 1 else None)
        decl = f.Decl(f.METHOD if method else f.FUNC, self._text(name), owner, at, pointer, parameters)
        self.decls.append(decl)
        if self._outline:
            text = self.source[start : body.start_byte if body is not None else node.end_byte]
            self._add_declared("method" if method else "func", name, node, one_line(text.rstrip()), doc)
        if body is not None:
            self._bodies.append((len(self.decls) - 1, body, receiver_name))

    def _receiver(self, receiver: Node | None) -> tuple[str, bool, tuple[str, ...], bytes]:
        """Return the base type, whether it is a pointer, the names of its type parameters, and the receiver's name."""
        declarations = meaningful(receiver) if receiver is not None else []
        parts = meaningful(declarations[0]) if declarations else []
        if not parts:
            return "", False, (), b""
        type_node = parts[-1]
        base = g.base_name(type_node)
        pointer = False
        parameters: tuple[str, ...] = ()
        while base is not None:
            k = type_node.kind_id
            if k == g.POINTER_TYPE:
                pointer = True
            elif k == g.GENERIC:
                arguments = g.last_meaningful(type_node)
                parameters = tuple(self._text(argument) for argument in meaningful(arguments)) if arguments else ()
                break
            elif k != g.PARENTHESIZED_TYPE:
                break
            type_node = meaningful(type_node)[0]
        name = self.encoder.text(parts[0]) if len(parts) > 1 else b""
        return "" if base is None else self._text(base), pointer, parameters, name

    # -- types

    def _types(self, node: Node, group_doc: str) -> None:
        grouped = any(child.kind_id == g.T_OPEN for child in node.children)
        for spec, k, doc in self._with_docs(flattened(node)):
            if k != g.TYPE_SPEC and k != g.TYPE_ALIAS:
                continue
            name, parameters, type_node = g.type_spec_parts(spec)
            if name is None or type_node is None:
                continue
            at = len(self.encoder.code)
            self.encoder.type_parameters(parameters)
            self.encoder.expression(type_node, type_node.kind_id)
            alias = k == g.TYPE_ALIAS
            decl = f.Decl(f.ALIAS if alias else f.TYPE, self._text(name), "", at)
            self.decls.append(decl)
            if not self._outline:
                continue
            underlying = g.without_parentheses(type_node)
            k = underlying.kind_id
            kind = "alias" if alias else _TYPE_KINDS.get(k, "type")
            if kind == "struct" or kind == "interface":
                head = one_line(self.source[spec.start_byte : type_node.start_byte].rstrip())
                text = f"type {head} {kind}"
            else:
                text = "type " + one_line(self.encoder.text(spec))
            self._add_declared(kind, name, spec if grouped else node, text, doc if grouped else group_doc)
            self._members(decl.name, underlying, k)

    def _members(self, owner: str, type_node: Node, k: int) -> None:
        if k != g.INTERFACE_TYPE:
            self._fields(owner, type_node)
        else:
            for element, element_kind, doc in self._with_docs(flattened(type_node)):
                if element_kind == g.METHOD_ELEMENT:
                    parts = meaningful(element)
                    if parts:
                        text = one_line(self.encoder.text(element))
                        self._add_symbol("imethod", owner, self._text(parts[0]), parts[0], element, text, doc)

    def _fields(self, owner: str, type_node: Node) -> None:
        """Add the fields of the unnamed struct that a type is made of, if any."""
        struct = g.struct_within(type_node)
        for part in () if struct is None else struct.children:
            if part.kind_id == g.FIELD_LIST:
                for field, field_kind, doc in self._with_docs(flattened(part)):
                    if field_kind == g.FIELD:
                        self._field(owner, field, doc)

    def _field(self, owner: str, field: Node, doc: str) -> None:
        tag = ""
        last = g.last_meaningful(field)
        if last is not None and last.kind_id in (g.RAW_STRING, g.STRING):
            tag = self._text(last)
        for number, (name, embedded, type_node, pointer) in enumerate(g.field_names(field)):
            field_name = self._text(name)
            text = one_line(self.encoder.text(type_node))
            text = ("*" if pointer else "") + text if embedded else f"{field_name} {text}"
            self._add_symbol("field", owner, field_name, name, field, text, doc, tag, embedded)
            # Nested groups of names, as in `a, b struct{ a, b struct{} }`, double the fields at each level. Each level
            # takes some of Python's stack.
            if (number and len(self.symbols) > len(self.source)) or owner.count(".") > _MAX_NESTED:
                self.encoder.too_deep = True
            elif not embedded:
                self._fields(f"{owner}.{field_name}", type_node)

    # -- constants and variables

    def _values(self, node: Node, const: bool, group_doc: str) -> None:
        previous: tuple[int, list[int]] = (-1, [])
        specs = node
        grouped = False
        for child in node.children:
            k = child.kind_id
            if k == g.VAR_LIST:
                specs = child
            grouped = grouped or k == g.VAR_LIST or k == g.T_OPEN
        for spec, k, doc in self._with_docs(flattened(specs)):
            if k == g.VAR_SPEC or k == g.CONST_SPEC:
                previous = self._value_spec(
                    spec, const, previous, spec if grouped else node, doc if grouped else group_doc
                )

    def _value_spec(
        self, spec: Node, const: bool, previous: tuple[int, list[int]], span: Node, doc: str
    ) -> tuple[int, list[int]]:
        """Declare the names of one spec.

        Returns the offsets of the code of its type and values. A constant spec without type and values repeats those
        of the spec before, passed as `previous`.
        """
        names, type_node, expressions = g.value_spec_parts(spec)
        values = [] if expressions is None else meaningful(expressions)
        type_at, inits = previous
        if not const or values or type_node is not None:
            type_at, inits = self._write_value_type(type_node, values, const)
        single = len(inits) == 1 and len(names) > 1 and not const
        for i, name in enumerate(names):
            decl = f.Decl(
                f.CONST if const else f.VAR,
                self._text(name),
                "",
                type_at,
                init=inits[0] if single else (inits[i] if i < len(inits) else -1),
                index=i if single else 0,
                width=len(names) if single else 1,
            )
            self.decls.append(decl)
            if self._outline:
                value = values[i] if i < len(values) else None
                text = self._value_signature(const, decl.name, type_node, value)
                self._add_declared("const" if const else "var", name, span, text, doc)
                if not const:
                    self._value_fields(decl.name, type_node, value)
            if i < len(values) and values[i].kind_id not in g.LITERALS:
                self._bodies.append((len(self.decls) - 1, values[i], b""))
        return type_at, inits

    def _value_fields(self, owner: str, type_node: Node | None, value: Node | None) -> None:
        """Add the fields of the unnamed struct that the type of a variable is made of."""
        if type_node is None and value is not None and value.kind_id == g.COMPOSITE:
            type_node = meaningful(value)[0]
        if type_node is not None:
            self._fields(owner, type_node)

    def _write_value_type(self, type_node: Node | None, values: list[Node], const: bool) -> tuple[int, list[int]]:
        """Write the type, and for constants or without a type also the values, without literal elements and bodies.

        Returns the offset of the type (-1 if there is none) and the offsets of the values.
        """
        encoder = self.encoder
        type_at = -1
        inits: list[int] = []
        if type_node is not None:
            type_at = len(encoder.code)
            encoder.expression(type_node, type_node.kind_id)
        if type_node is None or const:
            encoder.skeleton = True
            for value in values:
                inits.append(len(encoder.code))
                encoder.expression(value, value.kind_id)
            encoder.skeleton = False
        return type_at, inits

    def _value_signature(self, const: bool, name: str, type_node: Node | None, value: Node | None) -> str:
        text = f"{'const' if const else 'var'} {name}"
        if type_node is not None:
            text += " " + one_line(self.encoder.text(type_node))
        if value is not None and value.end_byte - value.start_byte <= MAX_VALUE_BYTES:
            value_text = self.encoder.text(value)
            if value_text.find(b"\n") < 0:
                text += " = " + one_line(value_text)
        return text

    # -- rows

    def _add_declared(self, kind: str, name_node: Node, span: Node, signature: str, doc: str) -> None:
        """Add the symbol of the last declaration."""
        decl = self.decls[-1]
        self._add_symbol(kind, decl.owner, decl.name, name_node, span, signature, doc)
        self.decl_lines.append(self.symbols[-1].line)

    def _add_symbol(
        self,
        kind: str,
        owner: str,
        name: str,
        name_node: Node,
        span: Node,
        signature: str,
        doc: str,
        tag: str = "",
        embedded: bool = False,
    ) -> None:
        start = name_node.start_byte
        span_start = span.start_byte
        span_end = span.end_byte
        line = self.encoder.line_of(start)
        self.symbols.append(
            f.DeclaredSymbol(
                kind,
                name,
                owner,
                line,
                self.encoder.line_of(max(span_start, span_end - 1)),
                span_start,
                span_end,
                start,
                signature,
                doc,
                tag,
                embedded,
                bool(doc) and is_deprecated(doc),
            )
        )

    def _text(self, node: Node) -> str:
        return self.encoder.text(node).decode("utf-8", "replace")


def flattened(container: Node) -> list[Node]:
    """Return the children, with each ERROR node replaced by its own: a broken file still declares what parses."""
    if not container.has_error:
        return container.children
    found: list[Node] = []
    pending = list(reversed(container.children))
    while pending:
        node = pending.pop()
        if node.kind_id == g.ERROR:
            pending += reversed(node.children)
        else:
            found.append(node)
    return found
