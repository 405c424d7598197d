"""Writes the compact code (see `code`) of types that have parts with names: signatures, structs, interfaces.

The simple types, and where a type ends and an expression begins, are the affair of `Expressions`, which builds on this.
"""

from __future__ import annotations

from golore.learner import code as c
from golore.learner import kinds as g
from golore.learner.kinds import is_meaningful, meaningful
from golore.learner.names import Names
from golore.learner.syntax import Node


class TypeCode(Names):
    def expression(self, node: Node, k: int) -> None:
        """Write the code of one expression or type, a node of kind `k`."""
        raise NotImplementedError

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
        count = 0
        variadic = 0
        if parameters.end_byte - parameters.start_byte == 2:
            return 0, 0
        for declaration in parameters.children:
            k = declaration.kind_id
            if k == g.VARIADIC_PARAMETER:
                variadic = 1
            elif k != g.PARAMETER:
                continue
            count += self._declared(declaration)
        return count, variadic

    def _declared(self, declaration: Node) -> int:
        """Write the names of a parameter declaration, each with the type; an unnamed one has the empty name."""
        parts = meaningful(declaration)
        if not parts:
            return 0
        type_node = parts.pop()
        k = type_node.kind_id
        if not parts:
            self.code.append(0)
            self.expression(type_node, k)
            return 1
        for name in parts:
            self.code.append(self.name_of(name, name.kind_id))
            self.expression(type_node, k)
        return len(parts)

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
                for name in parts:
                    self.code.append(self.name_of(name, name.kind_id))
                    self.expression(constraint, constraint.kind_id)
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
        element = g.only(node)
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
            for declaration in g.gathered(fields, (g.FIELD,)):
                for name, embedded, type_node, pointer in g.field_names(declaration):
                    code.append(self.intern(self.source[name.start_byte : name.end_byte]))
                    code.append(1 if embedded else 0)
                    if pointer:
                        code.append(c.STAR)
                    self.expression(type_node, type_node.kind_id)
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
