"""Generics: substitution, instantiation, and inference of type arguments from call arguments.

Inference follows Go's unification as far as needed to type results: structural matching, inexact for defined types
against type literals, then core types of constraints. Arguments that cannot be inferred stay unknown; none is guessed.
"""

from __future__ import annotations

from golore.learner.resolution.types import (
    UNKNOWN,
    Array,
    Basic,
    Chan,
    Func,
    Interface,
    Map,
    Method,
    Named,
    Pointer,
    Slice,
    Struct,
    Tuple,
    Type,
    TypeParam,
    Typer,
    Union,
    Unknown,
)
from golore.learner.resolution.universe import default_type

_MAX_KEY = 1 << 16


def instantiate(origin: Named, args: list[Type]) -> Named:
    """Return the generic type with these arguments: the same object for identical arguments. Arguments that are very
    large types stay unknown: `type T2 = P[T1, T1]`, `type T3 = P[T2, T2]` and so on double the size at each step."""
    if origin.origin is not None:
        origin = origin.origin
    key = ",".join([arg.key() for arg in args])
    if len(key) > _MAX_KEY:
        args = [UNKNOWN] * len(args)
        key = ",".join([arg.key() for arg in args])
    instances = origin.decl.instances
    if instances is None:
        instances = origin.decl.instances = {}
    found = instances.get(key)
    if found is None:
        found = Named(origin.decl, args, origin)
        found.local = origin.local
        instances[key] = found
    return found


def substitute(type: Type, params: list[TypeParam], args: list[Type]) -> Type:
    """Return `type` with each parameter replaced by its argument; `type` itself if nothing changes."""
    if isinstance(type, TypeParam):
        for i in range(len(params)):
            if params[i] is type:
                return args[i] if i < len(args) else UNKNOWN
        return type
    if isinstance(type, Basic):
        return type
    if isinstance(type, Named):
        if not type.args:
            return type
        changed = substitute_all(type.args, params, args)
        return type if changed is type.args else instantiate(type, changed)
    if isinstance(type, Pointer):
        elem = substitute(type.elem, params, args)
        return type if elem is type.elem else Pointer(elem)
    if isinstance(type, Slice):
        elem = substitute(type.elem, params, args)
        return type if elem is type.elem else Slice(elem)
    if isinstance(type, Map):
        index = substitute(type.index, params, args)
        elem = substitute(type.elem, params, args)
        return type if index is type.index and elem is type.elem else Map(index, elem)
    if isinstance(type, Func):
        return substitute_func(type, params, args)
    return _substitute_rarer(type, params, args)


def substitute_func(type: Func, params: list[TypeParam], args: list[Type]) -> Func:
    ins = substitute_all(type.params, params, args)
    outs = substitute_all(type.results, params, args)
    if ins is type.params and outs is type.results:
        return type
    changed = Func(ins, outs, type.variadic)
    changed.type_params = [p for p in type.type_params if not _contains(params, p)]
    changed.given = type.given
    return changed


def _contains(params: list[TypeParam], param: TypeParam) -> bool:
    return any(p is param for p in params)


def _substitute_rarer(type: Type, params: list[TypeParam], args: list[Type]) -> Type:
    if isinstance(type, Array):
        elem = substitute(type.elem, params, args)
        return type if elem is type.elem else Array(elem, type.length)
    if isinstance(type, Chan):
        elem = substitute(type.elem, params, args)
        return type if elem is type.elem else Chan(type.direction, elem)
    if isinstance(type, Tuple):
        types = substitute_all(type.types, params, args)
        return type if types is type.types else Tuple(types)
    if isinstance(type, Union):
        terms = substitute_all(type.terms, params, args)
        return type if terms is type.terms else Union(terms)
    if isinstance(type, Struct):
        field_types = [field.type for field in type.fields]
        changed = substitute_all(field_types, params, args)
        if changed is field_types:
            return type
        fields = [field.with_type(t) for field, t in zip(type.fields, changed, strict=True)]
        return Struct(type.package, fields)
    if isinstance(type, Interface):
        embeds = substitute_all(type.embeds, params, args)
        methods: list[Method] = []
        same = embeds is type.embeds
        for m in type.methods:
            signature = substitute_func(m.type, params, args)
            same = same and signature is m.type
            methods.append(Method(m.name, m.package, m.owner, signature))
        return type if same else Interface(methods, embeds)
    if isinstance(type, Unknown) and type.args:
        changed_args = substitute_all(type.args, params, args)
        return type if changed_args is type.args else Unknown(type.why, type.package, type.name, changed_args)
    return type


def substitute_all(types: list[Type], params: list[TypeParam], args: list[Type]) -> list[Type]:
    changed: list[Type] | None = None
    for i, type in enumerate(types):
        new = substitute(type, params, args)
        if new is not type and changed is None:
            changed = list(types)
        if changed is not None:
            changed[i] = new
    return types if changed is None else changed


def infer(typer: Typer, signature: Func, arguments: list[Type], spread: bool) -> list[Type]:
    """Return the type arguments of a call of a generic function; `UNKNOWN` for those that cannot be inferred."""
    params = signature.type_params
    bound: list[Type | None] = [None] * len(params)
    for i, type in enumerate(signature.given):
        bound[i] = type
    count = len(signature.params)
    untyped: list[tuple[Type, Type]] = []
    for i, argument in enumerate(arguments):
        if signature.variadic and i >= count - 1:
            if not count:
                break
            parameter = signature.params[count - 1]
            if not spread and isinstance(parameter, Slice):
                parameter = parameter.elem
        elif i < count:
            parameter = signature.params[i]
        else:
            break
        if isinstance(argument, Basic) and argument.untyped:
            untyped.append((parameter, argument))
        else:
            unify(typer, parameter, argument, params, bound, 0)
    _from_constraints(typer, params, bound)
    for parameter, argument in untyped:
        unify(typer, parameter, default_type(argument), params, bound, 0)
    _from_constraints(typer, params, bound)
    return [UNKNOWN if type is None else type for type in bound]


def _from_constraints(typer: Typer, params: list[TypeParam], bound: list[Type | None]) -> None:
    for _ in range(2):
        for i, param in enumerate(params):
            type = bound[i]
            constraint = param.constraint
            under = typer.underlying(constraint) if isinstance(constraint, Named) else constraint
            if type is not None and isinstance(under, Interface):
                _unify_methods(typer, under, type, params, bound, 0)
            core = core_type(typer, param)
            if core is None:
                continue
            if type is not None:
                unify(typer, core, type, params, bound, 0)
            elif all(b is not None or j == i for j, b in enumerate(bound)):
                bound[i] = substitute(core, params, [UNKNOWN if b is None else b for b in bound])


def core_type(typer: Typer, param: TypeParam) -> Type | None:
    """Return the core type of a constraint, None if it has none. Of a union, only the first term is considered."""
    return _core_of(typer, param.constraint, 0)


def _core_of(typer: Typer, constraint: Type, depth: int) -> Type | None:
    if depth > 20:
        return None
    if isinstance(constraint, Named):
        under = typer.underlying(constraint)
        if isinstance(under, Interface):
            return _core_of(typer, under, depth + 1)
        return under
    if isinstance(constraint, Interface):
        for embed in constraint.embeds:
            core = _core_of(typer, embed, depth + 1)
            if core is not None:
                return core
        return None
    if isinstance(constraint, Union):
        return _core_of(typer, constraint.terms[0], depth + 1) if constraint.terms else None
    if isinstance(constraint, TypeParam):
        return _core_of(typer, constraint.constraint, depth + 1)
    return constraint


def unify(typer: Typer, param: Type, arg: Type, params: list[TypeParam], bound: list[Type | None], depth: int) -> None:
    """Match the type of a parameter with that of an argument; set the type arguments that follow in `bound`."""
    if depth > 30:
        return
    if isinstance(param, TypeParam):
        for i in range(len(params)):
            if params[i] is param:
                if bound[i] is None:
                    bound[i] = arg
                return
        return
    if isinstance(param, Basic):
        return
    if isinstance(param, Named):
        _unify_named(typer, param, arg, params, bound, depth)
        return
    if isinstance(arg, Named):
        arg = typer.underlying(arg)
    deeper = depth + 1
    if isinstance(param, Pointer):
        if isinstance(arg, Pointer):
            unify(typer, param.elem, arg.elem, params, bound, deeper)
    elif isinstance(param, Slice):
        if isinstance(arg, Slice):
            unify(typer, param.elem, arg.elem, params, bound, deeper)
    elif isinstance(param, Array):
        if isinstance(arg, Array):
            unify(typer, param.elem, arg.elem, params, bound, deeper)
    elif isinstance(param, Map):
        if isinstance(arg, Map):
            unify(typer, param.index, arg.index, params, bound, deeper)
            unify(typer, param.elem, arg.elem, params, bound, deeper)
    elif isinstance(param, Chan):
        if isinstance(arg, Chan):
            unify(typer, param.elem, arg.elem, params, bound, deeper)
    elif isinstance(param, Func) and isinstance(arg, Func):
        for p, a in zip(param.params, arg.params, strict=False):
            unify(typer, p, a, params, bound, deeper)
        for p, a in zip(param.results, arg.results, strict=False):
            unify(typer, p, a, params, bound, deeper)


def _unify_named(
    typer: Typer, param: Named, arg: Type, params: list[TypeParam], bound: list[Type | None], depth: int
) -> None:
    if not param.args:
        return
    if isinstance(arg, Named) and arg.decl is param.decl:
        for p, a in zip(param.args, arg.args, strict=False):
            unify(typer, p, a, params, bound, depth + 1)
        return
    under = typer.underlying(param)
    if isinstance(under, Interface):
        _unify_methods(typer, under, arg, params, bound, depth)
    else:
        unify(typer, under, arg, params, bound, depth + 1)


def _unify_methods(
    typer: Typer, interface: Interface, arg: Type, params: list[TypeParam], bound: list[Type | None], depth: int
) -> None:
    """Infer the type arguments of a generic interface from the methods of the argument that is passed for it."""
    base = arg.elem if isinstance(arg, Pointer) else arg
    if not isinstance(base, Named):
        return
    for name, method in typer.methods_of(interface).items():
        own = typer.method_type(base, name)
        if own is not None:
            unify(typer, method.type, own, params, bound, depth + 1)
