"""Method sets: every method of a type or its pointer, own and promoted, with signatures that are compared as text.

Types and interfaces become plain tables, so that `implements` can join the tables of all packages without the types
themselves. Left out, because nothing certain is known about them: generic types, interfaces with type sets, and members
deeper than an unknown embedded type.
"""

from __future__ import annotations

from typing import NamedTuple

from golore.learner.extraction import facts as f
from golore.learner.resolution.members import (
    MAX_EMBEDDED,
    MAX_EMBEDDING_DEPTH,
    EmbeddedType,
    embedded_in,
    interface_methods,
    merge_repeated,
    method_type,
    visible,
)
from golore.learner.resolution.types import (
    Declaration,
    FileScope,
    Interface,
    Named,
    PackageScope,
    Pointer,
    Struct,
    Typer,
    Unknown,
    is_exported,
)


class MethodTable(NamedTuple):
    """The methods of one type or interface: name → signature. `pointer` has the names of those that only `*T` has.

    `constraint` is the build constraint of its file: a type does not implement an interface that is never in its build.
    """

    id: str
    methods: dict[str, str]
    pointer: frozenset[str]
    constraint: str


def package_tables(typer: Typer, package: PackageScope) -> tuple[list[MethodTable], list[MethodTable]]:
    """Return the tables of a package's concrete types that have methods, and of its interfaces."""
    types: list[MethodTable] = []
    interfaces: list[MethodTable] = []
    for file in package.files:
        for decl in file.decls:
            if decl.kind != f.TYPE:
                continue
            named = typer.type_of(decl)
            if not isinstance(named, Named) or named.params:
                continue
            under = typer.underlying(named)
            if isinstance(under, Interface):
                table = interface_table(typer, decl, under)
                if table is not None:
                    interfaces.append(table)
            elif not isinstance(under, Pointer):
                found = type_table(typer, named)
                if found.methods:
                    types.append(found)
    return types, interfaces


def interface_table(typer: Typer, decl: Declaration, interface: Interface) -> MethodTable | None:
    """Return the methods that an interface requires.

    None if it requires none, has a type set, or has an embedded type or a signature that is not known.
    """
    if _has_type_set(typer, interface, 0):
        return None
    methods = interface_methods(typer, interface)
    if not methods or interface.unknown_embed:
        return None
    table = {method.full_name(): method.type.key() for method in methods.values()}
    if any(_has_unknown_type(signature) for signature in table.values()):
        return None
    return MethodTable(decl.id, table, frozenset(), decl.file.constraint)


def _has_type_set(typer: Typer, interface: Interface, depth: int) -> bool:
    for embed in interface.embeds:
        if isinstance(embed, Named) and embed.decl.id == "comparable":
            return True
        under = typer.underlying(embed) if isinstance(embed, Named) else embed
        if isinstance(under, Interface):
            if depth < 20 and _has_type_set(typer, under, depth + 1):
                return True
        elif not isinstance(under, Unknown):
            return True
    return False


def type_table(typer: Typer, named: Named) -> MethodTable:
    """Return all methods of `named` and `*named`. Members at a lesser depth of embedding hide deeper ones."""
    methods: dict[str, str] = {}
    pointer: set[str] = set()
    hidden: set[str] = set()
    level: list[EmbeddedType] = [EmbeddedType(named)]
    seen: list[Named] = []
    depth = 0
    while level and depth <= MAX_EMBEDDING_DEPTH and len(seen) <= MAX_EMBEDDED:
        depth += 1
        found: dict[str, tuple[str, bool]] = {}
        fields: set[str] = set()
        ambiguous: set[str] = set()
        deeper: list[EmbeddedType] = []
        unknown = False
        for entry in merge_repeated(level):
            type = entry.type
            if isinstance(type, Named):
                if any(other is type for other in seen):
                    continue
                seen.append(type)
                for name, signature, needs_pointer in _own_methods(typer, type, named.decl.file):
                    if name in found or entry.is_repeated:
                        ambiguous.add(name)
                    found[name] = (signature, needs_pointer and not entry.indirect)
            under = typer.underlying(type) if isinstance(type, Named) else type
            if isinstance(under, Struct):
                for field in under.fields:
                    name = field.name if is_exported(field.name) else f"{under.package.path}.{field.name}"
                    if name in fields:
                        ambiguous.add(name)
                    fields.add(name)
                    if field.embedded:
                        deeper.append(embedded_in(field, entry))
            elif isinstance(under, Interface):
                for method in interface_methods(typer, under).values():
                    name = method.full_name()
                    if name in found or entry.is_repeated:
                        ambiguous.add(name)
                    found[name] = (method.type.key(), False)
                unknown = unknown or under.unknown_embed
            elif isinstance(under, Unknown):
                unknown = True
        for name, (signature, needs_pointer) in found.items():
            if name not in hidden and name not in ambiguous and name not in fields and not _has_unknown_type(signature):
                methods[name] = signature
                if needs_pointer:
                    pointer.add(name)
        hidden |= fields
        hidden.update(found)
        level = [] if unknown else deeper
    return MethodTable(named.decl.id, methods, frozenset(pointer), named.decl.file.constraint)


def _own_methods(typer: Typer, named: Named, file: FileScope) -> list[tuple[str, str, bool]]:
    """Return name, signature and whether the receiver is a pointer, for each method declared on a type.

    The methods are those of the default build if `file` is in it, otherwise those that `file` can be built with.
    """
    if named.local:
        return []
    package = named.decl.file.package
    in_default_build = file.in_default_build
    sees_tests = file.package.sees_tests_of(package)
    found: list[tuple[str, str, bool]] = []
    for name, decls in package.methods.get(named.decl.name, {}).items():
        decl = decls[0] if in_default_build else visible(decls, file)[0]
        if (in_default_build and not decl.file.in_default_build) or (decl.file.test and not sees_tests):
            continue
        full = name if is_exported(name) else f"{package.path}.{name}"
        found.append((full, method_type(typer, named, decl).key(), decl.pointer))
    return found


def _has_unknown_type(signature: str) -> bool:
    """Whether a signature contains an unknown type, so that it is not comparable."""
    return "?" in signature
