"""Go's types and the declarations that name them, as resolution sees them.

Types are plain objects; named types are unique per declaration (and per instantiation), so identity is `is` for them
and `key()` for the rest. What a declaration's type *is* gets computed on demand by the `Typer` (see `infer`), which is
only named here, so that types, lookup and inference can stand apart.
"""

from __future__ import annotations

from typing import Final

from golore.learner.extraction.facts import Decl as DeclFacts
from golore.learner.extraction.facts import unpack


class Type:
    """Any type; also what stands in for one where there is none (`Unknown`, `Tuple`)."""

    def key(self) -> str:
        """A text that two types share exactly when Go calls them identical."""
        raise NotImplementedError


class Unknown(Type):
    """A type that could not be told, and why. One that a missing package declares has its name, and equals itself."""

    def __init__(self, why: str, package: str = "", name: str = "") -> None:
        self.why = why
        self.package = package
        self.name = name

    def key(self) -> str:
        return f"{self.package}.{self.name}" if self.name else "?"


class Basic(Type):
    """A predeclared type. `untyped` constants turn into `default` when they are stored."""

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
    """`given` are arguments for the first of its type parameters, where a use leaves the rest to inference."""

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
    def __init__(self, name: str, type: Type, embedded: bool) -> None:
        self.name = name
        self.type = type
        self.embedded = embedded


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
    """A method of an interface. `owner` is the declaration whose braces it stands in, None for a nameless interface."""

    def __init__(self, name: str, package: PackageScope, owner: Declaration | None, type: Func) -> None:
        self.name = name
        self.package = package
        self.owner = owner
        self.type = type

    def full_name(self) -> str:
        """The name as method sets know it: an unexported one belongs to its package."""
        return self.name if is_exported(self.name) else f"{self.package.path}.{self.name}"


class Interface(Type):
    """`embeds` are other interfaces or, in constraints, any types; `terms` are the alternatives of a union."""

    def __init__(self, methods: list[Method], embeds: list[Type]) -> None:
        self.methods = methods
        self.embeds = embeds
        self.all_methods: dict[str, Method] | None = None
        self.unknown_embed = False
        self.busy = False

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
    """A type parameter. Its constraint is filled in after all parameters of the list are known."""

    def __init__(self, name: str, index: int, owner: str) -> None:
        self.name = name
        self.index = index
        self.owner = owner
        self.constraint: Type = UNKNOWN

    def key(self) -> str:
        return f"${self.owner}.{self.index}"


class Named(Type):
    """A defined type, or one instantiation of a generic one (`args`). `origin` is the generic type itself."""

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
    """Stands in a scope for a name that denotes a type, so that it is not taken for a value of it."""

    def __init__(self, type: Type) -> None:
        self.type = type

    def key(self) -> str:
        return self.type.key()


class PackageName(Type):
    """What an import's name denotes. `package` is None when its source is not at hand."""

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
        self.instances: dict[str, Named] = {}


class FileScope:
    """One file as resolution sees it: its imports, its shape, and the names it has looked up so far.

    `ordinary` tells whether it is in the ordinary build.
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
        return self.code


class PackageScope:
    """A package's declarations, from all its files."""

    def __init__(self, path: str, id: str, name: str, dir: str, external: bool) -> None:
        self.path = path
        self.id = id
        self.name = name
        self.dir = dir
        self.external = external
        self.files: list[FileScope] = []
        self.members: dict[str, list[Declaration]] = {}
        self.methods: dict[str, dict[str, list[Declaration]]] = {}
        self.tests = False
        self.tested: PackageScope | None = None

    def sees_tests_of(self, other: PackageScope) -> bool:
        """In-package test files are seen by the package's own files and by its external tests only."""
        return self is other or self.tested is other


class Selection:
    """What `x.name` is: a field (`decls` and `method` empty), declared methods, or an interface's method."""

    def __init__(self, type: Type, decls: list[Declaration], method: Method | None, depth: int) -> None:
        self.type = type
        self.decls = decls
        self.method = method
        self.depth = depth


class Typer:
    """Tells what names denote and which types declarations have, on demand."""

    def lookup(self, file: FileScope, name: str) -> Type | None:
        """What a name that no function declares denotes in a file; None if nothing does."""
        raise NotImplementedError

    def type_of(self, decl: Declaration) -> Type:
        raise NotImplementedError

    def underlying(self, named: Named) -> Type:
        raise NotImplementedError

    def integer(self, file: FileScope, name: str) -> int:
        """The value of an integer constant that is written as a plain number, -1 if it is not."""
        raise NotImplementedError

    def methods_of(self, interface: Interface) -> dict[str, Method]:
        """All methods of an interface, by name."""
        raise NotImplementedError

    def method_type(self, named: Named, name: str) -> Func | None:
        raise NotImplementedError


def is_exported(name: str) -> bool:
    return name[:1].isupper()


UNKNOWN: Final = Unknown("its type is not known")
NOTHING: Final = Tuple([])


class DeclName(Type):
    """What a package-level name denotes in one file: its declaration, or the build-tag twins that file can see."""

    def __init__(self, decls: list[Declaration]) -> None:
        self.decls = decls

    def key(self) -> str:
        return self.decls[0].id


class GenericAlias(Type):
    """An alias with type parameters, before it is given arguments."""

    def __init__(self, type: Type, params: list[TypeParam]) -> None:
        self.type = type
        self.params = params

    def key(self) -> str:
        return self.type.key()
