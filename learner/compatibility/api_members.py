"""What other packages can select of a type: its exported fields, also of embedded structs, and its method set."""

from __future__ import annotations

from typing import NamedTuple

from golore.learner.resolution.members import UNCERTAIN, select
from golore.learner.resolution.method_sets import type_table
from golore.learner.resolution.types import (
    Array,
    Basic,
    Chan,
    Field,
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
    is_exported,
)


class ApiMethod(NamedTuple):
    """An exported method of a type or its pointer. `type` is None if it is not known. `owner` is the type of the same
    package that declares the method, empty if none does."""

    type: Type | None
    needs_pointer: bool
    owner: str


def exported_fields(_: Typer, struct: Struct) -> dict[str, Field]:
    """The fields that a literal with keys can set."""
    return {field.name: field for field in struct.fields if is_exported(field.name)}


def selectable_fields(typer: Typer, struct: Struct) -> dict[str, Field]:
    """The exported fields that a selector can name, those of embedded structs included. A field hides deeper ones, and
    two of one name at the same depth hide each other."""
    found: dict[str, Field] = {}
    seen: set[str] = set()
    level = [struct]
    while level:
        names = [field.name for holder in level for field in holder.fields]
        seen.update(holder.key() for holder in level)
        deeper: list[Struct] = []
        for field in [field for holder in level for field in holder.fields if names.count(field.name) == 1]:
            if is_exported(field.name):
                found.setdefault(field.name, field)
            inner = _struct_of(typer, field.type) if field.embedded else None
            if inner is not None and inner.key() not in seen:
                deeper.append(inner)
        level = deeper
    return found


def _struct_of(typer: Typer, type: Type) -> Struct | None:
    base = type.elem if isinstance(type, Pointer) else type
    under = typer.underlying(base) if isinstance(base, Named) else base
    return under if isinstance(under, Struct) else None


def method_set(typer: Typer, named: Named) -> dict[str, ApiMethod]:
    """The exported methods of a type and its pointer, own and promoted, by name."""
    table = type_table(typer, named)
    own = named.decl.file.package.methods.get(named.decl.name, {})
    found: dict[str, ApiMethod] = {}
    for name in sorted(own.keys() | table.methods.keys()):
        if is_exported(name) and (name in table.methods or own[name][0].file.in_default_build):
            selection = select(typer, named, name, named.decl.file)
            type = selection.type if selection is not None and isinstance(selection.type, Func) else None
            needs_pointer = name in table.pointer if name in table.methods else own[name][0].pointer
            decls = selection.decls if selection is not None else []
            is_here = bool(decls) and decls[0].file.package is named.decl.file.package
            found[name] = ApiMethod(type, needs_pointer, decls[0].owner if is_here else "")
    return found


def may_have_member(typer: Typer, named: Named, name: str) -> bool:
    """Whether a type that is not known, embedded in this one, may have a member of this name."""
    return select(typer, named, name, named.decl.file) is UNCERTAIN


def satisfies(typer: Typer, named: Named, interface: Interface) -> bool | None:
    """Whether values of a type have all methods of an interface; None if that is not known."""
    required = typer.methods_of(interface)
    if interface.unknown_embed or (interface.embeds and not required):
        return None
    under = typer.underlying(named)
    if isinstance(under, Interface):
        methods = typer.methods_of(under)
        own = {method.full_name(): method.type.key() for method in methods.values()}
    else:
        table = type_table(typer, named)
        own = {name: key for name, key in table.methods.items() if name not in table.pointer}
    wanted = {method.full_name(): method.type.key() for method in required.values()}
    if any("?" in key for key in wanted.values()):
        return None
    return all(own.get(name) == key for name, key in wanted.items())


def is_comparable(typer: Typer, type: Type, depth: int = 0) -> bool | None:
    """Whether values of a type can be compared with `==`; None if that is not known."""
    if isinstance(type, Named):
        return is_comparable(typer, typer.underlying(type), depth + 1) if depth < 50 else None
    if isinstance(type, Struct):
        parts = [is_comparable(typer, field.type, depth + 1) for field in type.fields]
        return False if False in parts else None if None in parts else True
    if isinstance(type, Array):
        return is_comparable(typer, type.elem, depth + 1)
    if isinstance(type, (Slice, Map, Func)):
        return False
    if isinstance(type, (Basic, Pointer, Chan, Interface)):
        return True
    return None if isinstance(type, (Unknown, TypeParam)) else True
