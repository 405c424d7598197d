"""Conversions to interfaces: which types a declaration stores in, passes as or returns as interfaces.

A conversion leads from a source to a target. Both are named by ids: of a type, of an interface, or of a generic
declaration, which stands for its type parameters. All interfaces that the repository does not declare, and unnamed
ones, are one place, `OUTSIDE`: a value that is in one of them may get into any other, by code that is not read.

Valid code is assumed: the target is not compared with the method set of the source. Values that reach an interface
through a type argument that is inferred from an assignment are not found.
"""

from __future__ import annotations

from typing import Final

from golore.learner.resolution.types import (
    Array,
    Basic,
    Chan,
    Func,
    Interface,
    Map,
    Named,
    Pointer,
    Slice,
    Struct,
    Type,
    TypeParam,
    Typer,
    Unknown,
)
from golore.learner.resolution.universe import ANY

OUTSIDE: Final = "any"
FROM_OUTSIDE: Final = "<any"
"""Among the targets of an interface: it gets values from `OUTSIDE`."""
_MAX_NESTING: Final = 12


class Conversions:
    """Collects the conversions of one declaration: id of the source → ids of the targets."""

    def __init__(self, typer: Typer) -> None:
        self.typer = typer
        self.found: dict[str, set[str]] = {}

    def add(self, source: Type, target: Type) -> None:
        """Record that a value of type `source` is used where `target` is required. Most targets are no interfaces."""
        if isinstance(source, Basic):
            return
        if isinstance(target, Named):
            if source is target:
                return
            under = self.typer.underlying(target)
            if isinstance(under, Interface):
                self._record(source, self._named_targets(target, under))
            elif isinstance(under, Unknown):
                self._record(source, [OUTSIDE])
        elif isinstance(target, Interface):
            self._record(source, self._unnamed_targets(target))
        elif isinstance(target, Unknown):
            self._record(source, [OUTSIDE])

    def instantiate(self, params: list[TypeParam], args: list[Type]) -> None:
        """Record that types are the arguments of type parameters."""
        for param, arg in zip(params, args, strict=False):
            if isinstance(arg, (Basic, Unknown)):
                continue
            targets = [param.place]
            constraint = param.constraint
            if isinstance(constraint, Named):
                under = self.typer.underlying(constraint)
                if isinstance(under, Interface):
                    targets += self._named_targets(constraint, under)
            elif isinstance(constraint, Interface) and constraint is not ANY:
                # Methods of an unnamed constraint are called like those of other unnamed interfaces.
                is_called = any(method.interface is not None for method in constraint.methods)
                targets += [id for id in self._unnamed_targets(constraint) if is_called or id != OUTSIDE]
            self._record(arg, targets)

    def _named_targets(self, target: Named, interface: Interface) -> list[str]:
        decl = target.decl
        if not decl.id:
            return self._unnamed_targets(interface)
        if decl.file.package.external or not decl.file.package.path:
            return [OUTSIDE]
        methods = interface.methods
        if methods and methods[0].owner is not decl:
            # `type J I`: a call of a method of J is a call of the method of I.
            return [decl.id, *self._owners(interface)]
        return [decl.id]

    def _unnamed_targets(self, interface: Interface) -> list[str]:
        return [OUTSIDE] if interface is ANY else [OUTSIDE, *self._owners(interface)]

    def _owners(self, interface: Interface) -> list[str]:
        owners: list[str] = []
        for method in self.typer.methods_of(interface).values():
            owner = method.owner
            if owner is not None and owner.id and not owner.file.package.external and owner.file.package.path:
                owners.append(owner.id)
        return owners

    def _record(self, source: Type, targets: list[str]) -> None:
        whole: list[str] = []
        parts: list[str] = []
        self._whole(source, whole, parts, 0)
        for id in whole:
            for target in targets:
                if id == target:
                    continue
                if id == OUTSIDE:
                    self._add(target, FROM_OUTSIDE)
                else:
                    self._add(id, target)
        for id in parts:
            self._add(id, OUTSIDE)

    def _add(self, source: str, target: str) -> None:
        known = self.found.get(source)
        if known is None:
            known = set[str]()
            self.found[source] = known
        known.add(target)

    def _whole(self, type: Type, whole: list[str], parts: list[str], depth: int) -> None:
        """Collect the ids of types whose methods the interface gets; `parts` are those that only reflection reaches."""
        if depth > _MAX_NESTING:
            return
        if isinstance(type, Pointer):
            self._whole(type.elem, whole, parts, depth + 1)
        elif isinstance(type, Named):
            self._named(type, whole, parts, depth)
        elif isinstance(type, (Interface, Unknown)):
            whole.append(OUTSIDE)
        elif isinstance(type, TypeParam):
            whole.append(type.place)
        elif isinstance(type, Struct):
            for field in type.fields:
                if field.embedded:
                    self._whole(field.type, whole, parts, depth + 1)
                else:
                    self._parts(field.type, parts, depth + 1)
        else:
            self._parts(type, parts, depth)

    def _named(self, type: Named, whole: list[str], parts: list[str], depth: int) -> None:
        decl = type.decl
        package = decl.file.package
        under = self.typer.underlying(type)
        if isinstance(under, Interface):
            whole.append(decl.id if decl.id and not package.external and package.path else OUTSIDE)
        elif not decl.id:
            self._whole(under, whole, parts, depth + 1)  # declared in a function: it only has promoted methods
        elif not package.external and (decl.name in package.methods or not isinstance(under, Basic)):
            whole.append(decl.id)
        for arg in type.args:
            self._parts(arg, parts, depth + 1)

    def _parts(self, type: Type, parts: list[str], depth: int) -> None:
        """Collect the ids of the named types that a type is made of."""
        if depth > _MAX_NESTING:
            return
        deeper = depth + 1
        if isinstance(type, Named):
            whole: list[str] = []
            self._named(type, whole, parts, deeper)
            parts += [id for id in whole if id != OUTSIDE]
        elif isinstance(type, (Pointer, Slice, Array, Chan)):
            self._parts(type.elem, parts, deeper)
        elif isinstance(type, TypeParam):
            if type.place != OUTSIDE:
                parts.append(type.place)
        elif isinstance(type, Map):
            self._parts(type.index, parts, deeper)
            self._parts(type.elem, parts, deeper)
        elif isinstance(type, Struct):
            for field in type.fields:
                self._parts(field.type, parts, deeper)
        elif isinstance(type, Func):
            for part in type.params:
                self._parts(part, parts, deeper)
            for part in type.results:
                self._parts(part, parts, deeper)
