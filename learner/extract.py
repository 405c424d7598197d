"""One file's bytes → its facts: what it declares, how that looks from outside, and the code of its bodies.

A pure function: no file system, no other file, no clock. Broken Go gives the facts that could be read, and complaints.
The name of the file is not known here, so what follows from it (`_test.go`, `_linux.go`) is added by the project model.
It does not look anything up: what a name means is `infer`'s affair.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final, final

from golore.learner import code as c
from golore.learner import emit as e
from golore.learner import facts as f
from golore.learner.comments import comment_text, is_deprecated, is_generated
from golore.learner.constraints import file_constraint
from golore.learner.emit import Emitter, meaningful
from golore.learner.modern import Receiver, rewrite
from golore.learner.syntax import Node, kind, parse

PACKAGE_CLAUSE: Final = kind("package_clause")
IMPORT_DECLARATION: Final = kind("import_declaration")
IMPORT_SPEC: Final = kind("import_spec")
IMPORT_LIST: Final = kind("import_spec_list")
DOT: Final = kind("dot")
FUNCTION: Final = kind("function_declaration")
METHOD: Final = kind("method_declaration")

MOST_COMPLAINTS: Final = 5
MOST_REWRITES: Final = 5
LONGEST_VALUE: Final = 80
_BOM: Final = b"\xef\xbb\xbf"
_COMMENT: Final = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPACE: Final = re.compile(r"\s+")
_AFTER_OPEN: Final = re.compile(r"([(\[]) ")
_BEFORE_CLOSE: Final = re.compile(r",? ([)\]])")


def extract(source: bytes) -> f.Facts:
    """The facts of one Go file. Never raises on bad input."""
    return _read(source, True).facts()


def extract_shape(source: bytes) -> f.Shape:
    """Only what other files can see of one: for code outside the repository, whose bodies do not matter."""
    return _read(source, False).shape()


def _read(source: bytes, bodies: bool) -> _Reader:
    if source.startswith(_BOM):
        source = b"   " + source[3:]
    tree = parse(source)
    reader = _Reader(source)
    rewritten = source
    for _ in range(MOST_REWRITES):
        if not tree.root_node.has_error:
            break
        newer = rewrite(rewritten, reader.broken_lines(tree.root_node), reader.emitter.line_starts)
        if newer is None:
            break
        rewritten = newer.source
        tree = parse(rewritten)
        reader.receivers.update(newer.receivers)
    reader.read(tree.root_node, bodies)
    return reader


def encode(facts: f.Facts) -> f.EncodedFacts:
    return f.EncodedFacts(f.encode(facts.outline), f.encode(facts.shape), f.encode(facts.body))


@final
class _Reader:
    """Reads the declarations of one file in two passes: first what others see, then the bodies."""

    def __init__(self, source: bytes) -> None:
        self.source: Final = source
        self.emitter: Final = Emitter(source)
        self.package = ""
        self.doc = ""
        self.header_end = 0
        self.imports: list[f.Imported] = []
        self.import_lines: list[int] = []
        self.symbols: list[f.Declared] = []
        self.decls: list[f.Decl] = []
        self.decl_lines: list[int] = []
        self.receivers: dict[int, Receiver] = {}
        self.bodies: list[tuple[int, Node, bytes]] = []
        self.complaints: list[f.Complaint] = []
        self.shape_code: list[int] = []
        self.shape_names = 0
        self.entries: list[f.Entry] = []

    def read(self, root: Node, bodies: bool) -> None:
        if root.has_error:
            self._complain(root, 0)
        self.emitter.in_shape = True
        for node, doc in self._documented(root):
            self._declaration(node, node.kind_id, doc)
        self.shape_code = self.emitter.code
        self.shape_names = len(self.emitter.names)
        self.emitter.in_shape = False
        self.emitter.code = []
        if bodies:
            for decl, node, receiver in self.bodies:
                self._body(decl, node, receiver)
        if self.emitter.too_deep:
            self.complaints.append(f.Complaint(1, "nested too deeply: the innermost parts were not read"))
        if not self.package:
            self.complaints.append(f.Complaint(1, "no package clause"))

    def shape(self) -> f.Shape:
        header = self.source[: self.header_end]
        return f.Shape(
            self.package,
            file_constraint("x.go", header) if b"build" in header else "",
            any(imported.path == "C" for imported in self.imports),
            tuple(self.imports),
            tuple(self.decls),
            tuple(self.emitter.names[: self.shape_names]),
            f.pack(self.shape_code),
        )

    def facts(self) -> f.Facts:
        emitter = self.emitter
        shape = self.shape()
        outline = f.Outline(
            self.package,
            self.doc,
            shape.constraint,
            shape.imports,
            tuple(self.import_lines),
            tuple(self.symbols),
            len(emitter.line_starts) - (1 if not self.source or self.source.endswith(b"\n") else 0),
            is_generated(self.source[: self.header_end]),
            shape.cgo,
            blake2b(f.encode(shape), digest_size=16).hexdigest(),
            tuple(self.complaints),
        )
        body = f.Body(
            tuple(emitter.names[self.shape_names :]),
            f.pack(emitter.code),
            f.pack(emitter.lines),
            f.pack(self.decl_lines),
            tuple(self.entries),
        )
        return f.Facts(outline, shape, body)

    # -- documentation

    def _documented(self, container: Node) -> list[tuple[Node, str]]:
        """The children that are no comments, each with the text of the comment group right above it."""
        found: list[tuple[Node, str]] = []
        group: list[Node] = []
        group_end = -1
        previous: Node | None = None
        for child in flattened(container):
            k = child.kind_id
            if k != e.COMMENT:
                doc = ""
                if group and k > e.COMMENT:
                    if self.emitter.line_of(child.start_byte) == group_end + 1:
                        doc = comment_text([self.emitter.text(comment) for comment in group])
                found.append((child, doc))
                group = []
                previous = child
                continue
            line = self.emitter.line_of(child.start_byte)
            if not group and previous is not None and line == self._last_line(previous):
                continue  # a remark at the end of a line documents nothing
            if group and line > group_end + 1:
                group = []
            group.append(child)
            group_end = self._last_line(child)
        return found

    def _last_line(self, node: Node) -> int:
        return self.emitter.line_of(max(node.start_byte, node.end_byte - 1))

    # -- declarations

    def _declaration(self, node: Node, k: int, doc: str) -> None:
        if k == FUNCTION or k == METHOD:
            self._function(node, k == METHOD, doc)
        elif k == e.TYPE_DECLARATION:
            self._types(node, doc)
        elif k == e.VAR_DECLARATION or k == e.CONST_DECLARATION:
            self._values(node, k == e.CONST_DECLARATION, doc)
        elif k == IMPORT_DECLARATION:
            self._imports(node)
        elif k == PACKAGE_CLAUSE:
            parts = meaningful(node)
            if parts and not self.package:
                self.package = self._text(parts[0])
                self.doc = doc
                self.header_end = node.start_byte

    def _imports(self, node: Node) -> None:
        for child in node.children:
            k = child.kind_id
            if k == IMPORT_LIST or k == e.ERROR:
                self._imports(child)
            elif k == IMPORT_SPEC:
                alias = ""
                for part in child.children:
                    k = part.kind_id
                    if k == e.PACKAGE_IDENTIFIER or k == e.BLANK or k == DOT:
                        alias = self._text(part)
                    elif k == e.STRING or k == e.RAW_STRING:
                        self.imports.append(f.Imported(alias, self._text(part)[1:-1]))
                        self.import_lines.append(self.emitter.line_of(part.start_byte))

    def _function(self, node: Node, method: bool, doc: str) -> None:
        emitter = self.emitter
        receiver: Node | None = None
        name: Node | None = None
        type_parameters: Node | None = None
        body: Node | None = None
        signature: list[Node] = []
        for part in meaningful(node):
            k = part.kind_id
            if k == e.PARAMETERS and method and receiver is None:
                receiver = part
            elif name is None:
                name = part
            elif k == e.TYPE_PARAMETERS:
                type_parameters = part
            elif k == e.BLOCK:
                body = part
            else:
                signature.append(part)
        if name is None:
            return
        owner, pointer, parameters, receiver_name = self._receiver(receiver)
        hidden = self.receivers.get(node.start_byte)
        if hidden is not None:
            method = True
            receiver_name, pointer, owner, parameters = hidden
        at = len(emitter.code)
        emitter.type_parameters(type_parameters)
        emitter.signature(signature[0] if signature else None, signature[1] if len(signature) > 1 else None)
        decl = f.Decl(f.METHOD if method else f.FUNC, self._text(name), owner, at, pointer, parameters)
        end = body.start_byte if body is not None else node.end_byte
        text = clean(self.source[node.start_byte : end])
        self._add(decl, "method" if method else "func", name, node, text, doc)
        if body is not None:
            self.bodies.append((len(self.decls) - 1, body, receiver_name))

    def _receiver(self, receiver: Node | None) -> tuple[str, bool, tuple[str, ...], bytes]:
        """Base type, whether it is a pointer, the names of its type parameters, and the receiver's name."""
        if receiver is None:
            return "", False, (), b""
        declarations = meaningful(receiver)
        parts = meaningful(declarations[0]) if declarations else []
        if not parts:
            return "", False, (), b""
        base = parts[-1]
        pointer = False
        parameters: tuple[str, ...] = ()
        while True:
            k = base.kind_id
            inner = meaningful(base)
            if not inner:
                break
            if k == e.POINTER_TYPE:
                pointer = True
            elif k == e.GENERIC:
                arguments = meaningful(inner[-1])
                parameters = tuple(self._text(argument) for argument in arguments)
            base = inner[0]
        name = self.emitter.text(parts[0]) if len(parts) > 1 else b""
        return self._text(base), pointer, parameters, name

    def _types(self, node: Node, group_doc: str) -> None:
        grouped = any(child.kind_id == T_OPEN for child in node.children)
        for spec, doc in self._documented(node):
            k = spec.kind_id
            if k != e.TYPE_SPEC and k != e.TYPE_ALIAS:
                continue
            name, parameters, type_node = e.type_spec_parts(spec)
            if name is None or type_node is None:
                continue
            at = len(self.emitter.code)
            self.emitter.type_parameters(parameters)
            self.emitter.expression(type_node)
            alias = k == e.TYPE_ALIAS
            decl = f.Decl(f.ALIAS if alias else f.TYPE, self._text(name), "", at)
            shown, text = self._type_signature(spec, type_node, alias)
            self._add(decl, shown, name, spec if grouped else node, text, doc if grouped else group_doc)
            self._members(decl.name, type_node)

    def _type_signature(self, spec: Node, type_node: Node, alias: bool) -> tuple[str, str]:
        k = type_node.kind_id
        if k == e.STRUCT_TYPE or k == e.INTERFACE_TYPE:
            keyword = "struct" if k == e.STRUCT_TYPE else "interface"
            head = clean(self.source[spec.start_byte : type_node.start_byte]).rstrip()
            return "alias" if alias else keyword, f"type {head} {keyword}"
        return "alias" if alias else "type", "type " + clean(self.emitter.text(spec))

    def _members(self, owner: str, type_node: Node) -> None:
        k = type_node.kind_id
        if k == e.STRUCT_TYPE:
            for part in meaningful(type_node):
                if part.kind_id == e.FIELD_LIST:
                    for field, doc in self._documented(part):
                        if field.kind_id == e.FIELD:
                            self._field(owner, field, doc)
        elif k == e.INTERFACE_TYPE:
            for element, doc in self._documented(type_node):
                parts = meaningful(element)
                if element.kind_id == e.METHOD_ELEMENT and parts:
                    text = clean(self.emitter.text(element))
                    self._show("imethod", owner, parts[0], element, text, doc)

    def _field(self, owner: str, field: Node, doc: str) -> None:
        parts = meaningful(field)
        tag = ""
        if len(parts) > 1 and parts[-1].kind_id in (e.RAW_STRING, e.STRING):
            tag = self._text(parts[-1])
        for name, embedded, type_node, pointer in e.field_names(field):
            text = clean(self.emitter.text(type_node))
            text = ("*" if pointer else "") + text if embedded else f"{self._text(name)} {text}"
            self._show("field", owner, name, field, text, doc, tag, embedded == 1)

    def _values(self, node: Node, const: bool, group_doc: str) -> None:
        previous: tuple[int, list[int]] = (-1, [])
        specs = node
        for child in node.children:
            if child.kind_id == e.VAR_LIST:
                specs = child
        grouped = specs is not node or any(child.kind_id == T_OPEN for child in node.children)
        for spec, doc in self._documented(specs):
            k = spec.kind_id
            if k == e.VAR_SPEC or k == e.CONST_SPEC:
                previous = self._value_spec(
                    spec, const, previous, spec if grouped else node, doc if grouped else group_doc
                )

    def _value_spec(
        self, spec: Node, const: bool, previous: tuple[int, list[int]], span: Node, doc: str
    ) -> tuple[int, list[int]]:
        """Declare the names of one spec; returns where its type and values are written, for the next one to repeat."""
        names, type_node, values = e.value_spec_parts(spec)
        emitter = self.emitter
        repeated = const and not values and type_node is None
        if repeated:
            typed, inits = previous
        else:
            typed, inits = -1, []
            if type_node is not None:
                typed = len(emitter.code)
                emitter.expression(type_node)
            if type_node is None or const:
                emitter.skeleton = True
                for value in values:
                    inits.append(len(emitter.code))
                    emitter.expression(value)
                emitter.skeleton = False
        single = len(inits) == 1 and len(names) > 1 and not const
        for i, name in enumerate(names):
            init = inits[0] if single else (inits[i] if i < len(inits) else -1)
            decl = f.Decl(
                f.CONST if const else f.VAR,
                self._text(name),
                "",
                typed,
                init=init,
                index=i if single else 0,
                width=len(names) if single else 1,
            )
            text = self._value_signature(const, decl.name, type_node, values[i] if i < len(values) else None)
            self._add(decl, "const" if const else "var", name, span, text, doc)
            if i < len(values):
                self.bodies.append((len(self.decls) - 1, values[i], b""))
        return typed, inits

    def _value_signature(self, const: bool, name: str, type_node: Node | None, value: Node | None) -> str:
        text = f"{'const' if const else 'var'} {name}"
        if type_node is not None:
            text += " " + clean(self.emitter.text(type_node))
        if value is not None and value.end_byte - value.start_byte <= LONGEST_VALUE:
            text += " = " + clean(self.emitter.text(value))
        return text

    def _body(self, decl: int, node: Node, receiver: bytes) -> None:
        emitter = self.emitter
        at = len(emitter.code)
        if node.kind_id == e.BLOCK:
            emitter.statements(node)
        else:
            emitter.code.append(c.EVALUATE)
            emitter.expression(node)
        emitter.code.append(c.END)
        self.entries.append(f.Entry(decl, at, emitter.intern(receiver)))

    # -- rows

    def _add(self, decl: f.Decl, shown: str, name: Node, span: Node, signature: str, doc: str) -> None:
        self.decls.append(decl)
        self.decl_lines.append(self.emitter.line_of(name.start_byte))
        self._show(shown, decl.owner, name, span, signature, doc)

    def _show(
        self,
        shown: str,
        owner: str,
        name: Node,
        span: Node,
        signature: str,
        doc: str,
        tag: str = "",
        embedded: bool = False,
    ) -> None:
        start = name.start_byte
        self.symbols.append(
            f.Declared(
                shown,
                self._text(name),
                owner,
                self.emitter.line_of(start),
                self._last_line(span),
                span.start_byte,
                span.end_byte,
                start,
                signature,
                doc,
                tag,
                embedded,
                is_deprecated(doc),
            )
        )

    def _text(self, node: Node) -> str:
        return self.emitter.text(node).decode("utf-8", "replace")

    def broken_lines(self, root: Node) -> set[int]:
        """The lines where something does not parse."""
        found: set[int] = set()
        pending = [root]
        while pending:
            node = pending.pop()
            if node.kind_id == e.ERROR or node.is_missing:
                found.add(self.emitter.line_of(node.start_byte))
                found.add(self._last_line(node))
            pending += [child for child in node.children if child.has_error]
        return found

    def _complain(self, node: Node, depth: int) -> None:
        """Tell where the tree is broken, the outermost places first. The grammar misses some line ends: those are fine."""
        if len(self.complaints) >= MOST_COMPLAINTS or depth > e.DEEPEST:
            return
        for child in node.children:
            if child.kind_id == e.ERROR:
                near = self.source[child.start_byte : child.start_byte + 40].split(b"\n")[0].decode("utf-8", "replace")
                line = self.emitter.line_of(child.start_byte)
                self.complaints.append(f.Complaint(line, f"does not parse near {near.strip()!r}"))
                if len(self.complaints) >= MOST_COMPLAINTS:
                    return
            elif child.is_missing and child.is_named:
                line = self.emitter.line_of(child.start_byte)
                self.complaints.append(f.Complaint(line, f"missing {child.type}"))
            elif child.has_error:
                self._complain(child, depth + 1)


T_OPEN: Final = kind("(", False)


def flattened(container: Node) -> list[Node]:
    """The children, with those inside errors brought up: a broken file still declares what can be read."""
    found: list[Node] = []
    pending = [container]
    first = True
    while pending:
        node = pending.pop()
        if node.kind_id == e.ERROR or first:
            first = False
            pending += reversed(node.children)
        else:
            found.append(node)
    return found


def clean(text: bytes) -> str:
    """Source text on one line, as gofmt would set it: no comments, single spaces, no comma before a closing bracket."""
    if b"/" in text:
        text = _COMMENT.sub(b" ", text)
    line = _SPACE.sub(" ", text.decode("utf-8", "replace")).strip()
    if b"\n" in text:
        line = _BEFORE_CLOSE.sub(r"\1", _AFTER_OPEN.sub(r"\1", line))
    return line
