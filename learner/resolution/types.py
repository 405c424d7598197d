"""Go's types and the declarations that name them, as resolution sees them.

Types are plain objects. A named type is one object per declaration (and per instantiation), so named types are compared
with `is` and other types by `key()`. The type of a declaration is computed on demand by a `Typer`, which is only an
interface here, so that types, lookup and inference can be separate modules; `World` implements it.
"""

from __future__ import annotations

from typing import Final

from golore.learner.extraction.facts import Decl as DeclFacts
from golore.learner.extraction.facts import unpack


class Type:
    """Any type, and what is used in place of one (`Unknown`, `Tuple`, `PackageName`)."""

    def key(self) -> str:
        """Return a text that is equal for two types exactly if they are identical in Go."""
        raise NotImplementedError


class Unknown(Type):
    """A type that could not be determined, and why.

    If a missing package declares it, it has a name and is identical to other uses of the name with the same type
    arguments.
    """

    def __init__(self, why: str, package: str = "", name: str = "", args: list[Type] | None = None) -> None:
        self.why = why
        self.package = package
        self.name = name
        self.args: list[Type] = [] if args is None else args

    def key(self) -> str:
        if not self.name:
            return "?"
        text = f"{self.package}.{self.name}"
        return text + "[" + ",".join([t.key() for t in self.args]) + "]" if self.args else text


class Basic(Type):
    """A predeclared type. `untyped`: the type of an untyped constant or nil (see `universe.default_type`)."""

    def __init__(self, name: str, untyped: bool = False) -> None:
        self.name = name
        self.untyped = untyped

    def key(self) -> str:
        return self.name


class Pointer(Type):
    def __init__(self, elem: Type) -> None:
        self.elem = elem

    def key(self) -> str:
        return "*" + self.elem.key()


class Slice(Type):
    def __init__(self, elem: Type) -> None:
        self.elem = elem

    def key(self) -> str:
        return "[]" + self.elem.key()


class Array(Type):
    def __init__(self, elem: Type, length: str) -> None:
        self.elem = elem
        self.length = length

    def key(self) -> str:
        return f"[{self.length}]" + self.elem.key()


class Map(Type):
    def __init__(self, index: Type, elem: Type) -> None:
        self.index = index
        self.elem = elem

    def key(self) -> str:
        return f"map[{self.index.key()}]{self.elem.key()}"


class Chan(Type):
    def __init__(self, direction: int, elem: Type) -> None:
        self.direction = direction
        self.elem = elem

    def key(self) -> str:
        return f"chan{self.direction}({self.elem.key()})"


class Tuple(Type):
    """Several results of one call, or none."""

    def __init__(self, types: list[Type]) -> None:
        self.types = types

    def key(self) -> str:
        return "(" + ",".join([t.key() for t in self.types]) + ")"


class Func(Type):
    """A function type. `given` are explicit arguments of its first type parameters; the rest is inferred."""

    def __init__(self, params: list[Type], results: list[Type], variadic: bool) -> None:
        self.params = params
        self.results = results
        self.variadic = variadic
        self.type_params: list[TypeParam] = []
        self.given: list[Type] = []

    def key(self) -> str:
        params = ",".join([t.key() for t in self.params])
        generic = f"[{len(self.type_params)}]" if self.type_params else ""
        results = ",".join([t.key() for t in self.results])
        return f"func{generic}({params}{'...' if self.variadic else ''})({results})"

    def result(self) -> Type:
        return self.results[0] if len(self.results) == 1 else Tuple(self.results)


class Field:
    """A field of a struct.

    `owner` is the declaration whose type the struct is part of, None if the field is no symbol. `path` leads from the
    owner to the field: `b`, or `a.b` for a field of the unnamed struct that is the type of `a`.
    """

    def __init__(self, name: str, type: Type, embedded: bool, owner: Declaration | None, path: str) -> None:
        self.name = name
        self.type = type
        self.embedded = embedded
        self.owner = owner
        self.path = path

    def with_type(self, type: Type) -> Field:
        return Field(self.name, type, self.embedded, self.owner, self.path)


class Struct(Type):
    def __init__(self, package: PackageScope, fields: list[Field]) -> None:
        self.package = package
        self.fields = fields

    def key(self) -> str:
        parts: list[str] = []
        for field in self.fields:
            name = field.name if is_exported(field.name) else self.package.path + "." + field.name
            parts.append(f"{'!' if field.embedded else ''}{name} {field.type.key()}")
        return "struct{" + ";".join(parts) + "}"


class Method:
    """A method of an interface. `owner` is the declaration of the interface, None for an unnamed one.

    `interface` is set if the method is no symbol: the interface is unnamed or declared in a function.
    """

    def __init__(self, name: str, package: PackageScope, owner: Declaration | None, type: Func) -> None:
        self.name = name
        self.package = package
        self.owner = owner
        self.type = type
        self.interface: Interface | None = None

    def full_name(self) -> str:
        """Return the name as used in method sets: an unexported name is qualified with its package."""
        return self.name if is_exported(self.name) else f"{self.package.path}.{self.name}"


class Interface(Type):
    """`embeds` are other interfaces or, in constraints, any types.

    `all_methods` and `unknown_embed` are set by `members.interface_methods`; `busy` stops the recursion of `key`.
    """

    def __init__(self, methods: list[Method], embeds: list[Type]) -> None:
        self.methods = methods
        self.embeds = embeds
        self.all_methods: dict[str, Method] | None = None
        self.unknown_embed = False
        self.busy = False
        for method in methods:
            if method.owner is None or not method.owner.id:
                method.interface = self

    def key(self) -> str:
        if self.busy:
            return "interface{..}"  # type I interface{ m() interface{ I } }
        self.busy = True
        found = self.all_methods
        if found is None:
            found = {method.name: method for method in self.methods}
        methods = sorted([f"{m.full_name()}{m.type.key()}" for m in found.values()])
        terms = [t.key() for t in self.embeds if isinstance(t, (Union, Basic))]
        self.busy = False
        return "interface{" + ";".join(methods + terms) + "}"


class Union(Type):
    def __init__(self, terms: list[Type]) -> None:
        self.terms = terms

    def key(self) -> str:
        return "|".join([t.key() for t in self.terms])


class TypeParam(Type):
    """A type parameter. Its constraint is set after all parameters of the list are read.

    `place` is what it is in conversions (see `conversions`): the id of the generic declaration, if it is a symbol.
    """

    def __init__(self, name: str, index: int, owner: str, place: str) -> None:
        self.name = name
        self.index = index
        self.owner = owner
        self.place = place
        self.constraint: Type = UNKNOWN

    def key(self) -> str:
        return f"${self.owner}.{self.index}"


class Named(Type):
    """A defined type, or the instantiation of the generic type `origin` with `args`."""

    def __init__(self, decl: Declaration, args: list[Type], origin: Named | None) -> None:
        self.decl = decl
        self.args = args
        self.origin = origin
        self.under: Type | None = None
        self.params: list[TypeParam] = []
        self.selections: dict[str, Selection] = {}
        self.text = ""
        self.local = False

    def key(self) -> str:
        if not self.text:
            text = self.decl.id
            if self.args:
                text += "[" + ",".join([t.key() for t in self.args]) + "]"
            self.text = text
        return self.text


class TypeName(Type):
    """The entry of a scope for a name that denotes a type, to distinguish it from a value of that type."""

    def __init__(self, type: Type) -> None:
        self.type = type

    def key(self) -> str:
        return self.type.key()


class PackageName(Type):
    """The entry of a scope for the name of an import. `package` is None if its source is missing."""

    def __init__(self, path: str, package: PackageScope | None) -> None:
        self.path = path
        self.package = package

    def key(self) -> str:
        return "package " + self.path


class Builtin(Type):
    def __init__(self, name: str) -> None:
        self.name = name

    def key(self) -> str:
        return "builtin " + self.name


class Declaration:
    """A package-level declaration: a function, method, type, constant or variable of one file."""

    def __init__(self, file: FileScope, facts: DeclFacts, ordinal: int) -> None:
        self.file = file
        self.facts = facts
        self.name: str = facts.name
        self.owner: str = facts.owner
        self.kind: int = facts.kind
        self.pointer: bool = facts.pointer
        self.ordinal = ordinal
        self.id = ""
        self.suffix = ""
        self.type: Type | None = None
        self.busy = False
        self.twins: list[Declaration] | None = None
        self.instances: dict[str, Named] | None = None


class FileScope:
    """One file as resolution sees it: its imports, its shape, and the names looked up so far (`scope`).

    `in_default_build`: its constraint holds for `build_constraints.DEFAULT`.
    """

    def __init__(self, package: PackageScope, path: str, constraint: str, test: bool) -> None:
        self.package = package
        self.path = path
        self.constraint = constraint
        self.in_default_build = True
        self.test = test
        self.names: list[str] = []
        self.code: list[int] = []
        self.raw_code = b""
        self.imports: list[tuple[str, str]] = []
        self.decls: list[Declaration] = []
        self.scope: dict[str, Type] | None = None

    def shape_code(self) -> list[int]:
        if not self.code:
            self.code = unpack(self.raw_code)
            self.raw_code = b""
        return self.code


class PackageScope:
    """The declarations of a package, from all its files.

    `members` are by name, `methods` by the name of the type and their own. `tests`: it has test files. `tested` is the
    package that an external test belongs to.
    """

    def __init__(self, path: str, id: str, name: str, dir: str, external: bool) -> None:
        self.path = path
        self.id = id
        self.name = name
        self.dir = dir
        self.external = external
        self.files: list[FileScope] = []
        self.members: dict[str, list[Declaration]] = {}
        self.methods: dict[str, dict[str, list[Declaration]]] = {}
        self.has_tests = False
        self.package_under_test: PackageScope | None = None

    def sees_tests_of(self, other: PackageScope) -> bool:
        """Whether it sees the in-package test files of `other`: only that package and its external test do."""
        return self is other or self.package_under_test is other


class Selection:
    """What `x.name` denotes: declared methods (`decls`), an interface method, or a field."""

    def __init__(
        self, type: Type, decls: list[Declaration], method: Method | None, depth: int, field: Field | None = None
    ) -> None:
        self.type = type
        self.decls = decls
        self.method = method
        self.depth = depth
        self.field = field


class Typer:
    """Computes on demand what names denote and which types declarations have."""

    def lookup(self, file: FileScope, name: str) -> Type | None:
        """Return what a name denotes in a file outside of functions, None if it is not declared."""
        raise NotImplementedError

    def type_of(self, decl: Declaration) -> Type:
        raise NotImplementedError

    def underlying(self, named: Named) -> Type:
        raise NotImplementedError

    def integer(self, file: FileScope, name: str) -> int:
        """Return the value of a constant that is declared with an integer literal, -1 for any other name."""
        raise NotImplementedError

    def methods_of(self, interface: Interface) -> dict[str, Method]:
        """Return all methods of an interface by name."""
        raise NotImplementedError

    def method_type(self, named: Named, name: str) -> Func | None:
        raise NotImplementedError


def is_exported(name: str) -> bool:
    return name[:1].isupper()


UNKNOWN: Final = Unknown("its type is not known")
NOTHING: Final = Tuple([])


class DeclName(Type):
    """The entry of a scope for a package-level name: its declaration, or the build-tag twins that the file can see."""

    def __init__(self, decls: list[Declaration]) -> None:
        self.decls = decls

    def key(self) -> str:
        return self.decls[0].id


class GenericAlias(Type):
    """An alias with type parameters, without arguments."""

    def __init__(self, type: Type, params: list[TypeParam]) -> None:
        self.type = type
        self.params = params

    def key(self) -> str:
        return self.type.key()
