"""Writes the compact code (see `code`) of one file's statements, on top of its expressions and types.

One `Emitter` serves one file. It walks the syntax tree once, in source order, and never raises on broken input: what
did not parse becomes `BAD`. It decides nothing about meaning; a name is a name until `infer` looks it up.
"""

from __future__ import annotations

from typing import Final, final

from golore.learner import code as c
from golore.learner import kinds as g
from golore.learner.expressions import ROOM, Expressions
from golore.learner.kinds import is_meaningful, meaningful
from golore.learner.syntax import Node

NESTED: Final = 4
"""The frames of a nested statement, see `ROOM`."""


@final
class Emitter(Expressions):
    def block(self, block: Node) -> None:
        self.code.append(c.OPEN)
        self.statements(block)
        self.code.append(c.CLOSE)

    def statements(self, node: Node) -> None:
        """Write the statements below a block, a statement list or a case."""
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
        if self.depth > ROOM:
            self.too_deep = True
            return
        self.depth += NESTED
        if k == g.EXPRESSION_STATEMENT:
            self.code.append(c.EVALUATE)
            if not self.simple(node.start_byte, node.end_byte):
                self.only_part(node.children[0])
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
        elif k == g.LABELED:
            for part in meaningful(node):
                k = part.kind_id
                if k != g.LABEL:
                    self.statement(part, k)
        elif k == g.ERROR:
            self.statements(node)
        else:
            self._evaluate_all(node)
        self.depth -= NESTED

    def _evaluate_all(self, node: Node) -> None:
        """A statement of which only the expressions matter: return, go, defer, send, ++, --."""
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

    def _sides(self, node: Node) -> list[Node]:
        """The two lists of expressions of an assignment; none if it is broken."""
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
        self.listed(sides[1], slot)

    def _names(self, expressions: Node) -> int:
        """Write the names on the left of `:=`, without a node for a single simple one."""
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
        self.listed(sides[0], slot - 1)
        self.listed(sides[1], slot)

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
        """A chain of `else if` leans to the right and can be long: it is written without recursion."""
        opened = 0
        following: Node | None = node
        while following is not None:
            self.code.append(c.OPEN)
            opened += 1
            parts = following.children
            following = None
            otherwise = False
            for part in parts:
                k = part.kind_id
                if k == g.T_ELSE:
                    otherwise = True
                elif otherwise and k == g.IF:
                    following = part
                elif is_meaningful(k):
                    self._clause(part, k)
        for _ in range(opened):
            self.code.append(c.CLOSE)

    def _clause(self, part: Node, k: int) -> None:
        """A part of a compound statement's head or body: a statement, a block, or a bare expression."""
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
            self.listed(values, slot)

    def _type_spec(self, spec: Node, alias: int) -> None:
        name, parameters, type_node = g.type_spec_parts(spec)
        if name is None or type_node is None:
            return
        self.code += (c.TYPE, self.name_of(name, name.kind_id), alias)
        self.type_parameters(parameters)
        self.expression(type_node, type_node.kind_id)
