"""Decides which types of two states of a package are the same, and how those that are the same differ.

Two types are the same if they are built alike from the same named types. Two named types are the same if they have the
same name, or if one replaces the other everywhere: an unexported type may be renamed. What a named type is made of may
change compatibly, so when two named types are first found to be the same, their fields and methods are compared.

A type that is not known is taken for the same, and the difference is reported as uncertain.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from golore.learner.compatibility.api_members import (
    ApiMethod,
    exported_fields,
    is_comparable,
    may_have_member,
    method_set,
    satisfies,
    selectable_fields,
)
from golore.learner.resolution.types import (
    Array,
    Basic,
    Chan,
    Field,
    Func,
    GenericAlias,
    Interface,
    Map,
    Method,
    Named,
    PackageScope,
    Pointer,
    Slice,
    Struct,
    Type,
    TypeParam,
    Typer,
    Union,
    Unknown,
    is_exported,
)

_WIDER: Final = {
    "uint8": ("uint16", "uint32", "uint", "uint64"),
    "uint16": ("uint32", "uint", "uint64"),
    "uint32": ("uint", "uint64"),
    "uint": ("uint64",),
    "int8": ("int16", "int32", "int", "int64"),
    "int16": ("int32", "int", "int64"),
    "int32": ("int", "int64"),
    "int": ("int64",),
    "float32": ("float64",),
    "complex64": ("complex128",),
}
"""The basic types that have all values of another, on machines of every size."""
_BOTH_WAYS: Final = 0


class Difference(NamedTuple):
    """A difference that was found. `type` is empty or the type whose `member` differs."""

    type: str
    member: str
    what: str
    is_breaking: bool
    is_certain: bool = True


class Side(NamedTuple):
    """One of the two states of a package."""

    package: PackageScope
    typer: Typer


class Correspondence:
    """The types of two states of one package that were found to be the same, and the differences between them."""

    def __init__(self, old: Side, new: Side) -> None:
        self._old = old
        self._new = new
        self._same: dict[Named, Type] = {}
        self._comparing: list[tuple[Interface, Interface]] = []
        self.differences: dict[Difference, None] = {}
        self.is_uncertain = False
        """Whether an unknown type was compared since this was last set to False."""

    def corresponds(self, old: Type, new: Type) -> bool:
        """Whether two types are the same. Named types on the way are compared, too."""
        old, new = _unwrapped(old), _unwrapped(new)
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            return self._unknown(old, new)
        if isinstance(old, Named):
            return self._named(old, new)
        if isinstance(old, Basic):
            return isinstance(new, Basic) and old.name == new.name
        if isinstance(old, TypeParam):
            return isinstance(new, TypeParam) and old.index == new.index
        if isinstance(old, Func):
            return isinstance(new, Func) and self._functions(old, new)
        if isinstance(old, Interface):
            return isinstance(new, Interface) and self._interfaces(old, new)
        if isinstance(old, Struct):
            return isinstance(new, Struct) and self._structs(old, new)
        return self._composite(old, new)

    def _composite(self, old: Type, new: Type) -> bool:
        if isinstance(old, Pointer):
            return isinstance(new, Pointer) and self.corresponds(old.elem, new.elem)
        if isinstance(old, Slice):
            return isinstance(new, Slice) and self.corresponds(old.elem, new.elem)
        if isinstance(old, Array):
            return isinstance(new, Array) and self.corresponds(old.elem, new.elem) and old.length == new.length
        if isinstance(old, Map):
            if not isinstance(new, Map):
                return False
            index = self.corresponds(old.index, new.index)
            return self.corresponds(old.elem, new.elem) and index
        if isinstance(old, Chan):
            return isinstance(new, Chan) and self.corresponds(old.elem, new.elem) and old.direction == new.direction
        if isinstance(old, Union):
            return isinstance(new, Union) and self._lists(old.terms, new.terms)
        return False

    def _lists(self, old: list[Type], new: list[Type]) -> bool:
        """Compare all pairs, also after one that differs: each pair may lead to further named types."""
        same = [self.corresponds(a, b) for a, b in zip(old, new, strict=False)]
        return all(same) and len(old) == len(new)

    def _unknown(self, old: Type, new: Type) -> bool:
        if isinstance(old, Unknown) and isinstance(new, Unknown) and old.name and new.name:
            return (old.package, old.name) == (new.package, new.name) and self._lists(old.args, new.args)
        names = [_name_outside(type) for type in (old, new)]
        if all(names):
            return names[0] == names[1]
        is_same_gap = isinstance(old, Unknown) and isinstance(new, Unknown) and old.why == new.why
        self.is_uncertain = self.is_uncertain or not is_same_gap
        return True

    def _functions(self, old: Func, new: Func) -> bool:
        params = self._lists(old.params, new.params)
        results = self._lists(old.results, new.results)
        constraints = self._constraints(old.type_params, new.type_params)
        return params and results and constraints and old.variadic == new.variadic

    def _constraints(self, old: list[TypeParam], new: list[TypeParam]) -> bool:
        return self._lists([param.constraint for param in old], [param.constraint for param in new])

    def _structs(self, old: Struct, new: Struct) -> bool:
        if len(old.fields) != len(new.fields):
            return False
        return all(self._same_field(a, b) for a, b in zip(old.fields, new.fields, strict=True))

    def _same_field(self, old: Field, new: Field) -> bool:
        if old.embedded != new.embedded or not self.corresponds(old.type, new.type):
            return False
        return old.name == new.name or (old.embedded and not is_exported(old.name) and not is_exported(new.name))

    def _interfaces(self, old: Interface, new: Interface) -> bool:
        if any(a is old and b is new for a, b in self._comparing):
            return True
        self._comparing.append((old, new))
        before, after = self._methods(old, new)
        same = before.keys() == after.keys() and all(
            self.corresponds(before[name].type, after[name].type) for name in before
        )
        same = self._lists(_type_sets(old), _type_sets(new)) and same
        self._comparing.pop()
        return same

    def _methods(self, old: Interface, new: Interface) -> tuple[dict[str, Method], dict[str, Method]]:
        before, after = self._old.typer.methods_of(old), self._new.typer.methods_of(new)
        if old.unknown_embed != new.unknown_embed:
            self.is_uncertain = True
        return before, after

    # -- named types

    def _named(self, old: Named, new: Type) -> bool:
        known = self._same.get(old)
        if known is not None:
            return known is new or (not isinstance(new, Named) and known.key() == new.key())
        if isinstance(new, Named):
            if old.decl.file.package is not self._old.package or new.decl.file.package is not self._new.package:
                is_same_name = _qualified(old) == _qualified(new)
                return is_same_name and self._lists(old.args, new.args)
            if not self._same_parameters(old, new):
                return False
        elif not isinstance(new, Basic) or old.decl.file.package is not self._old.package:
            return False
        self._same[old] = new
        self._compare_defined(old, new)
        return True

    def _same_parameters(self, old: Named, new: Named) -> bool:
        if old.origin is None:
            return new.origin is None and self._constraints(old.params, new.params)
        if new.origin is None or not self.corresponds(old.origin, new.origin):
            return False
        return self._lists(old.args, new.args)

    def _compare_defined(self, old: Named, new: Type) -> None:
        """Compare what two corresponding named types are made of."""
        name = old.decl.name
        before = self._old.typer.underlying(old)
        after = self._new.typer.underlying(new) if isinstance(new, Named) else new
        if isinstance(before, Unknown) or isinstance(after, Unknown):
            if not self._unknown(before, after):
                self._report(name, "", "its underlying type changed")
            elif isinstance(before, Unknown) != isinstance(after, Unknown):
                self._report(name, "", "its underlying type may have changed", is_certain=False)
            return
        if type(before) is not type(after):
            self._report(name, "", "its underlying type changed")
            return
        if isinstance(before, Interface) and isinstance(after, Interface):
            self._compare_interfaces(name, before, after)
            return
        if isinstance(before, Struct) and isinstance(after, Struct):
            self._compare_structs(name, before, after)
        elif isinstance(before, Chan) and isinstance(after, Chan):
            self._compare_channels(name, before, after)
        elif isinstance(before, Basic) and isinstance(after, Basic):
            self._compare_basics(name, before, after)
        else:
            self._compare_types(name, "", before, after, "its underlying type changed")
        self._compare_methods(name, old, new)

    def _compare_interfaces(self, name: str, old: Interface, new: Interface) -> None:
        before, after = self._methods(old, new)
        is_closed = any(not is_exported(method) for method in before)
        for method in sorted(before):
            if self._is_reported_elsewhere(before[method], name):
                continue
            if is_exported(method) and method in after:
                self._compare_types(name, method, before[method].type, after[method].type, "its signature changed")
            elif is_exported(method):
                self._report(name, method, "removed", is_certain=not new.unknown_embed)
        for method in sorted(after.keys() - before.keys()):
            if self._is_reported_elsewhere(after[method], name):
                continue
            if is_exported(method):
                what = "added to an interface" if is_closed else "added to an interface that others may implement"
                self._report(name, method, what, is_breaking=not is_closed, is_certain=not old.unknown_embed)
            elif not is_closed:
                self._report(name, method, "added, unexported: others can no longer implement the interface")
        gone = _terms(old) - _terms(new)
        if gone and _terms(new):
            self._report(name, "", f"its type set no longer has {', '.join(sorted(gone))}")
        elif _terms(new) and not _terms(old):
            self._report(name, "", "it is a constraint now")

    def _is_reported_elsewhere(self, method: Method, interface: str) -> bool:
        """Whether a method comes from another exported interface of the package, which is compared, too."""
        owner = method.owner
        if owner is None or owner.name == interface or not is_exported(owner.name):
            return False
        return owner.file.package in (self._old.package, self._new.package)

    def _compare_structs(self, name: str, old: Struct, new: Struct) -> None:
        for fields in (exported_fields, selectable_fields):
            before, after = fields(self._old.typer, old), fields(self._new.typer, new)
            for field in before:
                if field not in after:
                    self._report(name, field, "removed")
                else:
                    self._compare_types(name, field, before[field].type, after[field].type, "its type changed")
            for field in after.keys() - before.keys():
                self._report(name, field, "added", is_breaking=False)
        was, is_now = is_comparable(self._old.typer, old), is_comparable(self._new.typer, new)
        if was is not False and is_now is False:
            self._report(name, "", "it is no longer comparable", is_certain=was is True)
        elif was is True and is_now is None:
            self._report(name, "", "it may no longer be comparable", is_certain=False)

    def _compare_channels(self, name: str, old: Chan, new: Chan) -> None:
        self._compare_types(name, "", old.elem, new.elem, "its element type changed")
        if old.direction != new.direction:
            self._report(name, "", "its direction changed", is_breaking=new.direction != _BOTH_WAYS)

    def _compare_basics(self, name: str, old: Basic, new: Basic) -> None:
        if old.name != new.name:
            is_breaking = new.name not in _WIDER.get(old.name, ())
            self._report(name, "", f"it changed from {old.name} to {new.name}", is_breaking=is_breaking)

    def _compare_methods(self, name: str, old: Named, new: Type) -> None:
        before = method_set(self._old.typer, old)
        after = method_set(self._new.typer, new) if isinstance(new, Named) else {}
        for method, known in before.items():
            found = after.get(method)
            if found is None:
                is_hidden = isinstance(new, Named) and may_have_member(self._new.typer, new, method)
                self._report(name, method, "removed", is_certain=not is_hidden)
            elif found.needs_pointer and not known.needs_pointer:
                self._report(name, method, "it needs a pointer receiver now")
            else:
                self._compare_method(name, method, known, found)
        for method in after.keys() - before.keys():
            self._report(name, method, "added", is_breaking=False)

    def _compare_method(self, name: str, method: str, old: ApiMethod, new: ApiMethod) -> None:
        name = old.owner or name  # one difference, however many types promote the method
        if old.type is None or new.type is None:
            if (old.type is None) != (new.type is None):
                self._report(name, method, "its signature may have changed", is_certain=False)
            return
        self._compare_types(name, method, old.type, new.type, "its signature changed")

    def _compare_types(self, name: str, member: str, old: Type, new: Type, what: str) -> None:
        was_uncertain, self.is_uncertain = self.is_uncertain, False
        if not self.corresponds(old, new):
            self._report(name, member, what)
        elif self.is_uncertain:
            self._report(name, member, what.replace(" changed", " may have changed"), is_certain=False)
        self.is_uncertain = was_uncertain

    def _report(self, type: str, member: str, what: str, *, is_breaking: bool = True, is_certain: bool = True) -> None:
        self.differences[Difference(type, member, what, is_breaking, is_certain)] = None

    # -- the package as a whole

    def compare_implementations(self) -> None:
        """Report the types that no longer satisfy an interface of the package."""
        pairs = [(old, new) for old, new in self._same.items() if not old.params and isinstance(new, Named)]
        for interface, new_interface in pairs:
            required = self._old.typer.underlying(interface)
            required_now = self._new.typer.underlying(new_interface)
            if not isinstance(required, Interface) or not isinstance(required_now, Interface):
                continue
            for old, new in pairs:
                if (
                    old is not interface
                    and satisfies(self._old.typer, old, required)
                    and satisfies(self._new.typer, new, required_now) is False
                ):
                    self._report(old.decl.name, "", f"it no longer implements {interface.decl.name}")


def _unwrapped(type: Type) -> Type:
    return type.type if isinstance(type, GenericAlias) else type


def _name_outside(type: Type) -> str:
    if isinstance(type, Unknown):
        return f"{type.package}.{type.name}" if type.name else ""
    return _qualified(type) if isinstance(type, Named) else ""


def _qualified(type: Named) -> str:
    return f"{type.decl.file.package.path}.{type.decl.name}"


def _type_sets(interface: Interface) -> list[Type]:
    """The parts of a constraint that are no interfaces with methods."""
    return [part for part in interface.embeds if isinstance(part, (Union, Basic))]


def _terms(interface: Interface) -> set[str]:
    terms: set[str] = set()
    for part in _type_sets(interface):
        terms.update(term.key() for term in (part.terms if isinstance(part, Union) else [part]))
    return terms
