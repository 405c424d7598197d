"""All packages that resolution can see, and the types of their declarations, computed on demand.

`build_package` makes a package from the shapes of its files. A `World` returns what a name denotes in a file and which
type a declaration has. It gets packages from a `Loader` (see `package_loader`), so this module reads neither files nor
the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.go_rules.build_constraints import satisfied
from golore.learner.resolution.generics import substitute
from golore.learner.resolution.members import interface_methods, select, visible
from golore.learner.resolution.statements import Evaluator
from golore.learner.resolution.types import (
    UNKNOWN,
    Declaration,
    DeclName,
    FileScope,
    Func,
    GenericAlias,
    Interface,
    Method,
    Named,
    PackageName,
    PackageScope,
    Tuple,
    Type,
    TypeName,
    TypeParam,
    Typer,
    Unknown,
    is_exported,
)
from golore.learner.resolution.universe import UNIVERSE, default_type


class ShapedFile(NamedTuple):
    """A file of a package: its path (unique in the package), its constraint including that of the file name, whether it
    is a test, and its shape."""

    path: str
    constraint: str
    test: bool
    shape: f.Shape


class Loader:
    """Finds the packages that files import."""

    def find(self, importer: PackageScope, path: str) -> PackageScope | None:
        raise NotImplementedError


def build_package(path: str, id: str, name: str, dir: str, files: Sequence[ShapedFile], external: bool) -> PackageScope:
    """Build a package from the shapes of its files. Among twins, declarations of the default build come first."""
    package = PackageScope(path, id, name, dir, external)
    ordered = sorted(files, key=lambda file: (not satisfied(file.constraint), file.path))
    for shaped in ordered:
        shape = shaped.shape
        file = FileScope(package, shaped.path, shaped.constraint, shaped.test)
        file.in_default_build = satisfied(shaped.constraint)
        file.names = list(shape.names)
        file.raw_code = shape.code
        file.imports = [(imported.alias, imported.path) for imported in shape.imports]
        file.decls = [Declaration(file, decl, ordinal) for ordinal, decl in enumerate(shape.decls)]
        package.files.append(file)
        if shaped.test:
            package.has_tests = True
        for decl in file.decls:
            if decl.kind != f.METHOD:
                _add_member(package, decl)
    for file in package.files:
        for decl in file.decls:
            if decl.kind == f.METHOD:
                _resolve_owner(package, decl)
                _add_member(package, decl)
    _assign_ids(package)
    return package


def _resolve_owner(package: PackageScope, method: Declaration) -> None:
    """Set the owner of a method whose receiver names an alias to the aliased type; the alias may be of a pointer."""
    for _ in range(8):
        decls = package.members.get(method.owner)
        if not decls or decls[0].kind != f.ALIAS:
            break
        file = decls[0].file
        code = file.shape_code()
        at = decls[0].facts.at
        if code[at] != 0:
            break
        if code[at + 1] == c.STAR and not method.pointer:
            method.pointer = True
            at += 1
        if code[at + 1] != c.NAME:
            break
        method.owner = file.names[code[at + 2]]


def _add_member(package: PackageScope, decl: Declaration) -> None:
    if decl.kind == f.METHOD:
        table = package.methods.setdefault(decl.owner, {})
        table.setdefault(decl.name, []).append(decl)
    elif decl.name != "_" and not (decl.name == "init" and decl.kind == f.FUNC):
        package.members.setdefault(decl.name, []).append(decl)


def _assign_ids(package: PackageScope) -> None:
    """Set the id of each declaration: the qualified name, with a suffix for twins inside the repository."""
    groups: dict[str, list[Declaration]] = {}
    for file in package.files:
        for decl in file.decls:
            name = f"{decl.owner}.{decl.name}" if decl.owner else decl.name
            groups.setdefault(name, []).append(decl)
    prefix = package.id + "." if package.id else ""
    for name, decls in groups.items():
        if len(decls) == 1 or package.external:
            for decl in decls:
                decl.id = prefix + name
        else:
            suffixes = twin_suffixes([decl.file.path for decl in decls])
            for decl, suffix in zip(decls, suffixes, strict=True):
                decl.suffix = suffix
                decl.id = prefix + name + suffix
        if len(decls) > 1:
            for decl in decls:
                decl.twins = decls


def twin_suffixes(paths: list[str]) -> list[str]:
    """Return the suffixes that distinguish declarations of one name: the file name, then the order within the file."""
    seen: dict[str, int] = {}
    suffixes: list[str] = []
    for path in paths:
        name = path.rpartition("/")[2]
        count = seen.get(name, 0) + 1
        seen[name] = count
        suffixes.append(f"@{name}" if count == 1 else f"@{name}#{count}")
    return suffixes


@final
class World(Typer):
    """Computes what names denote and which types declarations have."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    # -- names

    def lookup(self, file: FileScope, name: str) -> Type | None:
        scope = file.scope
        if scope is None:
            scope = self._import_names(file)
            file.scope = scope
        found = scope.get(name)
        if found is None:
            found = self._package_level(file, name)
            if found is not None:
                scope[name] = found
        return found

    def _package_level(self, file: FileScope, name: str) -> Type | None:
        decls = file.package.members.get(name)
        if decls is not None:
            return DeclName(visible(decls, file))
        found = UNIVERSE.get(name)
        if found is not None:
            return found
        for alias, path in file.imports:
            if alias == "." and is_exported(name):
                package = self.loader.find(file.package, path)
                if package is not None:
                    sees_tests = file.package.sees_tests_of(package)
                    decls = [d for d in package.members.get(name, ()) if not d.file.test or sees_tests]
                    if decls:
                        return DeclName(visible(decls, file))
        for alias, path in file.imports:
            if not alias and self.loader.find(file.package, path) is None and _may_be_named(path, name):
                return PackageName(path, None)
        return None

    def _import_names(self, file: FileScope) -> dict[str, Type]:
        scope: dict[str, Type] = {}
        for alias, path in file.imports:
            if alias == "_" or alias == ".":
                continue
            package = None if path == "C" or path == "unsafe" else self.loader.find(file.package, path)
            name = alias or (package.name if package is not None else likely_name(path))
            scope[name] = PackageName(path, package)
        return scope

    def integer(self, file: FileScope, name: str) -> int:
        found = self.lookup(file, name)
        if isinstance(found, DeclName):
            decl = found.decls[0]
            if decl.kind == f.CONST and decl.facts.init >= 0:
                code = decl.file.shape_code()
                if code[decl.facts.init] == c.INT:
                    return code[decl.facts.init + 1]
        return -1

    # -- types of declarations

    def type_of(self, decl: Declaration) -> Type:
        type = decl.type
        if type is not None:
            return type
        if decl.busy:
            return UNKNOWN
        decl.busy = True
        kind = decl.kind
        if kind == f.TYPE:
            type = self._defined(decl)
        else:
            evaluator = Evaluator(self, decl.file, None)
            if kind == f.FUNC:
                type = self._function(decl, evaluator)
            elif kind == f.METHOD:
                type = self._method(decl, evaluator)
            elif kind == f.ALIAS:
                type = self._alias(decl, evaluator)
            else:
                type = self._value(decl, evaluator)
        decl.type = type
        decl.busy = False
        return type

    def _defined(self, decl: Declaration) -> Type:
        named = Named(decl, [], None)
        decl.type = named
        evaluator = Evaluator(self, decl.file, None)
        evaluator.at = decl.facts.at
        named.params = evaluator.type_parameters(decl.id)
        return named

    def _function(self, decl: Declaration, evaluator: Evaluator) -> Type:
        evaluator.at = decl.facts.at
        params = evaluator.type_parameters(decl.id)
        signature = evaluator.signature(False)
        signature.type_params = params
        return signature

    def _method(self, decl: Declaration, evaluator: Evaluator) -> Type:
        self.bind_receiver(decl, evaluator)
        return self._function(decl, evaluator)

    def bind_receiver(self, decl: Declaration, evaluator: Evaluator) -> Type:
        """Bind the receiver's type parameters to the names that the method gives them. Returns the base type."""
        owners = decl.file.package.members.get(decl.owner)
        if owners is None:
            return UNKNOWN
        base = self.type_of(visible(owners, decl.file)[0])
        if isinstance(base, Named):
            for name, param in zip(decl.facts.type_parameters, base.params, strict=False):
                evaluator.bind(name, TypeName(param))
        return base

    def _alias(self, decl: Declaration, evaluator: Evaluator) -> Type:
        evaluator.at = decl.facts.at
        params = evaluator.type_parameters(decl.id)
        evaluator.set_owner(decl)
        type = evaluator.type()
        return GenericAlias(type, params) if params else type

    def _value(self, decl: Declaration, evaluator: Evaluator) -> Type:
        facts = decl.facts
        if facts.at >= 0:
            evaluator.at = facts.at
            evaluator.own_struct(decl)
            return evaluator.type()
        if facts.init < 0:
            return UNKNOWN
        evaluator.at = facts.init
        op = evaluator.code[facts.init]
        if op == c.COMPOSITE:
            evaluator.own_struct(decl, 3)
        type = evaluator.expression()
        if facts.width > 1:
            if isinstance(type, Tuple):
                type = type.types[facts.index] if facts.index < len(type.types) else UNKNOWN
            elif facts.index > 0 and not isinstance(type, Unknown) and op != c.CALL:
                type = UNIVERSE["true"]  # the second value of a comma-ok form
        return type if decl.kind == f.CONST else default_type(type)

    def underlying(self, named: Named) -> Type:
        under = named.under
        if under is not None:
            return under
        origin = named.origin
        if origin is not None:
            under = substitute(self.underlying(origin), origin.params, named.args)
        else:
            named.under = UNKNOWN  # in case it is needed while it is being read
            under = self._read_underlying(named)
        named.under = under
        return under

    def _read_underlying(self, named: Named) -> Type:
        decl = named.decl
        evaluator = Evaluator(self, decl.file, None)
        evaluator.at = decl.facts.at
        if evaluator.code[evaluator.at] == 0:
            evaluator.at += 1
        else:
            self._skip_parameters(evaluator)
            for param in named.params:
                evaluator.bind(param.name, TypeName(param))
        evaluator.set_owner(decl)
        type = evaluator.type()
        if isinstance(type, Named):
            return self.underlying(type)
        if isinstance(type, TypeParam):
            return UNKNOWN
        return type

    def _skip_parameters(self, evaluator: Evaluator) -> None:
        count = evaluator.code[evaluator.at]
        evaluator.at += 1
        for _ in range(count):
            evaluator.at += 1
            evaluator.skip()

    def method_type(self, named: Named, name: str) -> Func | None:
        found = select(self, named, name, named.decl.file)
        if found is None or not (found.decls or found.method is not None):
            return None
        return found.type if isinstance(found.type, Func) else None

    def methods_of(self, interface: Interface) -> dict[str, Method]:
        return interface_methods(self, interface)


def likely_name(path: str) -> str:
    """Return the most likely name of a package by its path; used only to recognize uses of missing packages."""
    parts = path.split("/")
    last = parts[-1]
    if len(parts) > 1 and last[:1] == "v" and last[1:].isdigit():
        last = parts[-2]
    if "." in last and last.rpartition(".")[2][:1] == "v":
        last = last.rpartition(".")[0]
    return last


def _may_be_named(path: str, name: str) -> bool:
    """Whether a missing package could have this name: `isatty` for `github.com/mattn/go-isatty`."""
    last = likely_name(path).lower()
    wanted = name.lower()
    return wanted in last.replace("-", "_").split("_") or wanted == last.replace("-", "").replace(".", "")
