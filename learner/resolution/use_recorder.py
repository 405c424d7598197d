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
COPY: Final = 4
"""Read, to give the value a local name."""
ACCESSES: Final = ("read", "write", "address", "literal")
"""The ways to use a field: read, assigned to, operand of `&`, set in a composite literal."""


_Uses = tuple[dict[str, list[int]], dict[str, list[int]], dict[str, list[int]], set[str]]
"""Calls, references, uses of fields, and fields whose copies are used."""


class UseRecorder:
    """Collects the uses of one declaration at a time.

    `fields` has a number for each use of a field: the line times the number of accesses, plus the access.
    `externals` (what is outside the repository) and `dynamic` (called interface methods) are collected for the file.
    `sets`: the package variables that it may change. `function_fields`: fields for functions that matter to `finish`.
    `copied`: uses of fields (as in `fields`) that only give them a local name. `copies`: fields whose such names are
    used.

    Between `begin` and `end`, uses are collected apart: they happen only under conditions (see `finish`).
    """

    def __init__(self) -> None:
        self.calls: dict[str, list[int]] = {}
        self.references: dict[str, list[int]] = {}
        self.fields: dict[str, list[int]] = {}
        self.invoked: dict[str, list[int]] = {}
        self.unresolved: dict[tuple[str, str, str], list[int]] = {}
        self.externals: dict[str, tuple[str, str, str]] = {}
        self.dynamic: set[str] = set()
        self.sets: set[str] = set()
        self.function_fields: set[str] = set()
        self.copies: set[str] = set()
        self.copied: set[tuple[str, int]] = set()
        self._outer: list[_Uses] = []
        self._conditional: list[tuple[list[str], _Uses]] = []

    def start(self) -> None:
        """Begin the next declaration."""
        self.calls = {}
        self.references = {}
        self.fields = {}
        self.invoked = {}
        self.unresolved = {}
        self.sets = set()
        self.function_fields = set()
        self.copies = set()
        self.copied = set()
        self._outer = []
        self._conditional = []

    def begin(self) -> None:
        """From here on, uses depend on conditions. This may be nested; then only the innermost ones count."""
        self._outer.append((self.calls, self.references, self.fields, self.copies))
        self.calls = {}
        self.references = {}
        self.fields = {}
        self.copies = set()

    @property
    def is_conditional(self) -> bool:
        return bool(self._outer)

    def end(self, conditions: list[str]) -> None:
        """The uses since `begin` happen only if a field or variable among the conditions is read. Without conditions,
        they are no uses of a value: a variable is assigned to."""
        if self.calls or self.references or self.fields or self.copies:
            self._conditional.append((conditions, (self.calls, self.references, self.fields, self.copies)))
        self.calls, self.references, self.fields, self.copies = self._outer.pop()

    def finish(self) -> dict[str, set[str]]:
        """End the declaration. Returns what it uses only under conditions, with these. Fields and variables that it
        stores functions in and does not read are among it, without conditions."""
        is_whole = not self._outer
        while self._outer:  # it could not be read to the end
            self.end([])
        found: dict[str, set[str]] = {}
        always = (self.calls, self.references, self.fields, self.copies)
        for conditions, uses in self._conditional:
            for target in (*uses[0], *uses[1]):
                if target not in self.calls and target not in self.references:
                    found.setdefault(target, set()).update(conditions)
            for target in self.function_fields:
                if not self._reads(always, target):
                    if self._reads(uses, target):
                        found.setdefault(target, set()).update(conditions)
                    elif target in conditions:
                        found.setdefault(target, set())
        self._merge()
        return found if is_whole else {}

    def _reads(self, uses: _Uses, field: str) -> bool:
        """Whether a field is read, other than to copy it to a name that is not used here."""
        return field in uses[3] or any(
            use % len(ACCESSES) in (READ, ADDRESS) and (field, use) not in self.copied for use in uses[2].get(field, ())
        )

    def _merge(self) -> None:
        for _, (calls, references, fields, _) in self._conditional:
            for into, uses in ((self.calls, calls), (self.references, references), (self.fields, fields)):
                for target, lines in uses.items():
                    into[target] = into[target] + lines if target in into else lines

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
        if access == COPY:
            access = READ
            self.copied.add((id, line * len(ACCESSES) + READ))
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
