"""Records what resolving a declaration finds: calls, references, uses of fields and unresolved uses, with lines."""

from __future__ import annotations

from typing import Final

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.resolution.types import Declaration, Func, Interface, Method

_KIND_NAMES: Final = {
    f.FUNC: "func",
    f.METHOD: "method",
    f.TYPE: "type",
    f.ALIAS: "alias",
    f.CONST: "const",
    f.VAR: "var",
}


READ: Final = 0
WRITE: Final = 1
ADDRESS: Final = 2
LITERAL: Final = 3
ACCESSES: Final = ("read", "write", "address", "literal")
"""The ways to use a field: read, assigned to, operand of `&`, set in a composite literal."""


class UseRecorder:
    """Collects the uses of one declaration at a time.

    `fields` has a number for each use of a field: the line times the number of accesses, plus the access.
    `externals` (what is outside the repository) and `dynamic` (called interface methods) are collected for the file.
    """

    def __init__(self) -> None:
        self.calls: dict[str, list[int]] = {}
        self.references: dict[str, list[int]] = {}
        self.fields: dict[str, list[int]] = {}
        self.invoked: dict[str, list[int]] = {}
        self.unresolved: dict[tuple[str, str, str], list[int]] = {}
        self.externals: dict[str, tuple[str, str, str]] = {}
        self.dynamic: set[str] = set()

    def start(self) -> None:
        """Begin the next declaration."""
        self.calls = {}
        self.references = {}
        self.fields = {}
        self.invoked = {}
        self.unresolved = {}

    def call(self, decls: list[Declaration], line: int) -> None:
        for decl in decls:
            _add(self.calls, decl.id, line)
            self.record_external(decl)

    def call_method(self, method: Method, line: int) -> None:
        """Record a call through an interface."""
        owner = method.owner
        if method.interface is not None:
            self._invoke(method, method.interface, line)
        elif owner is not None:
            id = self._method_id(method, owner)
            _add(self.calls, id, line)
            self.dynamic.add(id)

    def refer(self, decls: list[Declaration], line: int) -> None:
        for decl in decls:
            if not decl.id:
                continue  # a type declared inside a function
            _add(self.references, decl.id, line)
            self.record_external(decl)

    def refer_method(self, method: Method, line: int) -> None:
        owner = method.owner
        if method.interface is not None:
            self._invoke(method, method.interface, line)
        elif owner is not None:
            _add(self.references, self._method_id(method, owner), line)

    def _invoke(self, method: Method, interface: Interface, line: int) -> None:
        """Record a call, or a method value, of an interface without a symbol: the node of its method is external."""
        id = f"{interface_text(interface)}.{method.name}"
        _add(self.invoked, id, line)
        self.externals[id] = ("imethod", method.name, "")

    def use_field(self, owner: Declaration, path: str, line: int, access: int) -> None:
        id = member_id(owner, path)
        _add(self.fields, id, line * len(ACCESSES) + access)
        if owner.file.package.external and id not in self.externals:
            self.externals[id] = ("field", path.rpartition(".")[2], owner.file.package.path)

    def refer_missing(self, target: str, name: str, package: str, line: int) -> None:
        """Record a use of a name in a package whose source is missing; its kind is `unknown`."""
        _add(self.references, target, line)
        self.record_missing_external(target, name, package)

    def refer_pointer(self, line: int) -> None:
        """Record a use of `unsafe.Pointer`, which no source declares."""
        _add(self.references, "unsafe.Pointer", line)
        self.externals["unsafe.Pointer"] = ("type", "Pointer", "unsafe")

    def record_missing_external(self, target: str, name: str, package: str) -> None:
        if target not in self.externals:
            self.externals[target] = ("unknown", name, package)

    def record_unresolved(self, name: str, line: int, reason: str, candidate: str = "") -> None:
        _add_to(self.unresolved, (name, reason, candidate), line)

    def _method_id(self, method: Method, owner: Declaration) -> str:
        id = member_id(owner, method.name)
        if owner.file.package.external and id not in self.externals:
            self.externals[id] = ("imethod", method.name, owner.file.package.path)
        return id

    def record_external(self, decl: Declaration) -> None:
        """Record kind, name and package of a declaration for its node, if it is outside the repository."""
        if decl.file.package.external and decl.id not in self.externals:
            self.externals[decl.id] = (external_kind(decl), decl.name, decl.file.package.path)


def interface_text(interface: Interface) -> str:
    """An interface as Go writes it, on one line, with full import paths; also its embedded methods, if these are known.

    Equal for identical interfaces. `graph.queries.unnamed_interfaces` reads it.
    """
    methods = interface.all_methods
    if methods is None:
        methods = {method.name: method for method in interface.methods}
    return "interface{" + "; ".join(sorted([f"{m.full_name()}{_signature(m.type)}" for m in methods.values()])) + "}"


def _signature(type: Func) -> str:
    params = ", ".join([param.key() for param in type.params])
    results = ", ".join([result.key() for result in type.results])
    if len(type.results) > 1:
        results = f"({results})"
    return f"({params}{'...' if type.variadic else ''}){' ' if results else ''}{results}"


def external_kind(decl: Declaration) -> str:
    """Return the kind of an external declaration, the same for all of its twins.

    External twins share one node, and the node must not depend on which of its users was resolved last.
    """
    if not decl.file.package.path:
        return "interface"  # error and comparable, the only declarations of the universe
    return min(_kind_name(twin) for twin in decl.twins or [decl])


def _kind_name(decl: Declaration) -> str:
    if decl.kind == f.TYPE and not decl.facts.type_parameters:
        code, at = decl.file.shape_code(), decl.facts.at
        if at >= 0 and code[at : at + 2] == [0, c.INTERFACE]:  # no type parameters, then the type
            return "interface"
    return _KIND_NAMES[decl.kind]


def member_id(owner: Declaration, name: str) -> str:
    """Return the id of a field or interface method: its name follows the name of its type, before a twin's suffix."""
    if owner.suffix:
        return f"{owner.id[: len(owner.id) - len(owner.suffix)]}.{name}{owner.suffix}"
    return f"{owner.id}.{name}"


def _add(found: dict[str, list[int]], target: str, line: int) -> None:
    lines = found.get(target)
    if lines is None:
        found[target] = [line]
    elif lines[-1] != line:
        lines.append(line)


def _add_to(found: dict[tuple[str, str, str], list[int]], key: tuple[str, str, str], line: int) -> None:
    lines = found.get(key)
    if lines is None:
        found[key] = [line]
    elif lines[-1] != line:
        lines.append(line)
