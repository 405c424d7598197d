"""Finds members: fields and methods by Go's rules of depth and promotion, and the methods of interfaces.

An embedded type that is unknown may hide members that are found deeper; such a result is `UNCERTAIN`, never a fact.
Of build-tag twins, `visible` returns the declarations that one file can be built with.
"""

from __future__ import annotations

from typing import Final

from golore.learner.go_rules.build_constraints import compatible
from golore.learner.resolution.generics import substitute
from golore.learner.resolution.types import (
    Declaration,
    Field,
    FileScope,
    Func,
    Interface,
    Method,
    Named,
    Pointer,
    Selection,
    Struct,
    Type,
    TypeParam,
    Typer,
    Unknown,
    is_exported,
)

UNCERTAIN: Final = Selection(Unknown("an embedded type is not known"), [], None, 0)
MAX_EMBEDDING_DEPTH: Final = 50
MAX_EMBEDDED: Final = 2000
"""Limits of the search for members: `type T[P any] struct{ *T[T[P]] }`, which no compiler accepts, never ends."""
AMBIGUOUS: Final = Selection(Unknown("ambiguous selector"), [], None, 0)


def visible(decls: list[Declaration], file: FileScope) -> list[Declaration]:
    """Return the twins that can be in one build with `file`; only its own if it declares any.

    If none is compatible, returns the first.
    """
    if len(decls) == 1:
        return decls
    own = [decl for decl in decls if decl.file is file]
    if own:
        return own
    return [decl for decl in decls if compatible(decl.file.constraint, file.constraint)] or decls[:1]


def methods_of(named: Named, name: str, file: FileScope, strict: bool) -> list[Declaration] | None:
    """Return the declarations of a type's own method `name`, not promoted, that `file` sees; None if there are none.

    If `strict`, a type in the default build only has methods that are in the default build.
    """
    if named.local:
        return None
    package = file.package
    home = named.decl.file.package
    table = home.methods.get(named.decl.name)
    if table is None:
        return None
    found = table.get(name)
    if found is None or (home is not package and not is_exported(name)):
        return None
    if home.has_tests and not package.sees_tests_of(home):
        found = [decl for decl in found if not decl.file.test]
    constraint = named.decl.file.constraint
    if constraint and found:
        # Methods of a twin in another build count only if this declaration has the method, too. Its own come first.
        own = [decl for decl in found if decl.file is named.decl.file or compatible(decl.file.constraint, constraint)]
        found = own + [decl for decl in found if decl not in own] if own else own
    if not found or (strict and named.decl.file.in_default_build and not found[0].file.in_default_build):
        return None
    return found


def built_with(typer: Typer, named: Named, file: FileScope) -> Type:
    """Return the twin of a type that `file` is built with: a field's type may be a twin of another build."""
    if named.decl.twins is None or named.args or compatible(named.decl.file.constraint, file.constraint):
        return named
    return typer.type_of(visible(named.decl.twins, file)[0])


def interface_methods(typer: Typer, interface: Interface) -> dict[str, Method]:
    """Return all methods of an interface by name, including those of embedded interfaces."""
    known = interface.all_methods
    if known is None:
        known = dict[str, Method]()
        interface.all_methods = known
        for method in interface.methods:
            known[method.name] = method
        for embed in interface.embeds:
            under = typer.underlying(embed) if isinstance(embed, Named) else embed
            if isinstance(under, Interface):
                for name, method in interface_methods(typer, under).items():
                    known.setdefault(name, method)
                if under.unknown_embed:
                    interface.unknown_embed = True
            elif isinstance(under, Unknown):
                interface.unknown_embed = True
    return known


class EmbeddedType:
    """A type at some depth of embedding.

    `indirect`: there is a pointer on the path to it. `is_repeated`: it occurs more than once at this depth, so that its
    members are ambiguous.
    """

    def __init__(self, type: Type, indirect: bool = False, is_repeated: bool = False) -> None:
        self.type = type
        self.indirect = indirect
        self.is_repeated = is_repeated


def embedded_in(field: Field, outer: EmbeddedType) -> EmbeddedType:
    type = field.type
    if isinstance(type, Pointer):
        return EmbeddedType(type.elem, True, outer.is_repeated)
    return EmbeddedType(type, outer.indirect, outer.is_repeated)


def merge_repeated(level: list[EmbeddedType]) -> list[EmbeddedType]:
    """Return the types of one depth with each named type once; those that occur repeatedly are marked."""
    if len(level) < 2:
        return level
    unique: list[EmbeddedType] = []
    for entry in level:
        for other in unique:
            if other.type is entry.type and isinstance(entry.type, Named):
                other.is_repeated = True
                break
        else:
            unique.append(entry)
    return unique


def select(typer: Typer, type: Type, name: str, file: FileScope) -> Selection | None:
    """Return what `x.name` means in a file for an `x` of this type, None if there is no such member.

    In a file of the default build, methods that only other builds have are used if there is nothing else.
    """
    package = file.package
    base = type
    if isinstance(base, Pointer):
        base = base.elem
        if isinstance(base, Named) and isinstance(typer.underlying(base), (Pointer, Interface)):
            return None
    if isinstance(base, Named):
        # Only some packages see what tests declare, so packages with tests have cache entries of their own.
        cache_key = f"{package.id} {name}" if package.has_tests or package.package_under_test is not None else name
        if not file.in_default_build:
            cache_key = f"{file.path} {name}"
        found = base.selections.get(cache_key)
        if found is None:
            found = _search(typer, base, name, file, file.in_default_build)
            if found is None and file.in_default_build:
                found = _search(typer, base, name, file, False)
            if found is not None and (base.decl.file.package is package or is_exported(name)):
                base.selections[cache_key] = found
        return found
    return _search(typer, base, name, file, file.in_default_build)


def _search(typer: Typer, base: Type, name: str, file: FileScope, strict: bool) -> Selection | None:
    package = file.package
    level: list[EmbeddedType] = [EmbeddedType(base)]
    seen: list[Named] = []
    depth = 0
    unsure = False
    while level:
        if depth > MAX_EMBEDDING_DEPTH or len(seen) > MAX_EMBEDDED:
            return UNCERTAIN
        found: Selection | None = None
        count = 0
        deeper: list[EmbeddedType] = []
        unsure_at_level = False
        for entry in merge_repeated(level):
            type = entry.type
            if isinstance(type, Named) and type.decl.twins is not None:
                type = built_with(typer, type, file)
            under = type
            times = 2 if entry.is_repeated else 1
            if isinstance(type, Named):
                if any(named is type for named in seen):
                    continue
                seen.append(type)
                decls = methods_of(type, name, file, strict)
                if decls is not None:
                    count += times
                    found = Selection(method_type(typer, type, decls[0]), decls, None, depth)
                    continue
                under = typer.underlying(type)
                if isinstance(under, Pointer) and depth == 0:
                    under = typer.underlying(under.elem) if isinstance(under.elem, Named) else under.elem
            elif isinstance(type, TypeParam):
                under = _constraint_of(typer, type)
            if isinstance(under, Struct):
                for field in under.fields:
                    if field.name == name and (under.package is package or is_exported(name)):
                        count += times
                        found = Selection(field.type, [], None, depth, field)
                    elif field.embedded:
                        deeper.append(embedded_in(field, entry))
            elif isinstance(under, Interface):
                method = interface_methods(typer, under).get(name)
                if method is not None and (method.package is package or is_exported(name)):
                    count += times
                    found = Selection(method.type, [], method, depth)
                elif under.unknown_embed:
                    unsure_at_level = True
            elif isinstance(under, Unknown):
                unsure_at_level = True
        if count == 1:
            return UNCERTAIN if unsure else found
        if count > 1:
            return AMBIGUOUS
        unsure = unsure or unsure_at_level
        level = deeper
        depth += 1
    return UNCERTAIN if unsure else None


def _constraint_of(typer: Typer, param: TypeParam) -> Type:
    constraint = param.constraint
    under = typer.underlying(constraint) if isinstance(constraint, Named) else constraint
    if isinstance(under, Interface) and not under.methods and len(under.embeds) == 1:
        only = under.embeds[0]
        if isinstance(only, Pointer):
            return only
    return under


def method_type(typer: Typer, named: Named, decl: Declaration) -> Type:
    """Return the type of a declared method, with the type arguments of an instantiated receiver substituted."""
    type = typer.type_of(decl)
    origin = named.origin
    if origin is not None and isinstance(type, Func):
        return substitute(type, origin.params, named.args)
    return type
