"""Compares the exported API of packages between two states: what was removed, what was added and what changed.

Only the default build (Linux, amd64, cgo) is compared by type. Of names that only other builds have, removals are
reported. Packages that others cannot import are left out: commands, internal packages and tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from golore.graph.changes.api_change import ApiChange
from golore.learner.compatibility.constant_values import ConstantValues
from golore.learner.compatibility.correspondence import Correspondence, Difference, Side
from golore.learner.compatibility.revisions import Revision
from golore.learner.extraction import facts as f
from golore.learner.go_rules.build_constraints import RELEASES, satisfied
from golore.learner.resolution.types import Declaration, FileScope, PackageScope, Type, is_exported

_KINDS: Final = {f.FUNC: "func", f.TYPE: "type", f.ALIAS: "type", f.CONST: "const", f.VAR: "var"}
_MEMBERS: Final = ("field", "imethod", "method")
_OTHER_BUILDS: Final = tuple(
    frozenset((*platform.split("/"), "gc", "cgo")) | RELEASES
    for platform in ("windows/amd64", "darwin/arm64", "linux/arm64", "linux/386", "freebsd/amd64", "js/wasm")
)
"""Platforms besides that of the default build. Code that needs other tags, such as `ignore`, is no API."""
_Declared = tuple[str, f.DeclaredSymbol]
"""A file and a symbol of it."""
_NOWHERE: Final[_Declared] = ("", f.DeclaredSymbol("", "", "", 0, 0, 0, 0, 0, ""))


class _State(NamedTuple):
    """A package in one of the two states, with the default build's declaration of each exported name."""

    revision: Revision
    package: PackageScope
    names: dict[str, Declaration]
    elsewhere: dict[str, Declaration]
    """Names that only other builds have."""
    members: dict[tuple[str, str], _Declared]
    """The members of types, by the name of the type and their own."""


def compare_api(before: Revision, after: Revision, directories: Iterable[str]) -> list[ApiChange]:
    """The differences of the packages in these directories, by package and name."""
    values = ConstantValues(before), ConstantValues(after)
    changes: list[ApiChange] = []
    for directory in sorted(directories):
        old, new = _public(before, directory), _public(after, directory)
        if old is not None and new is not None:
            changes += _PackageComparison(_state(before, old), _state(after, new), values).changes()
        elif old is not None:
            changes.append(_package_change(before, old, directory, "removed"))
        elif new is not None:
            changes.append(_package_change(after, new, directory, "added"))
    return sorted(changes, key=lambda change: (change.package, not change.is_breaking, change.name, change.what))


def _public(revision: Revision, directory: str) -> PackageScope | None:
    package = revision.package_in(directory)
    if package is None or package.name == "main" or "internal" in package.path.split("/"):
        return None
    return package if any(file.in_default_build or _is_built_elsewhere(file) for file in package.files) else None


def _is_built_elsewhere(file: FileScope) -> bool:
    return any(satisfied(file.constraint, tags) for tags in _OTHER_BUILDS)


def _package_change(revision: Revision, package: PackageScope, directory: str, what: str) -> ApiChange:
    module = _module(revision, directory)
    return ApiChange(module, package.path, "", "package", what, what == "removed", True, "", "", directory, 0)


def _module(revision: Revision, directory: str) -> str:
    module = revision.project.module_of(directory)
    return module.path if module is not None else ""


def _state(revision: Revision, package: PackageScope) -> _State:
    names: dict[str, Declaration] = {}
    elsewhere: dict[str, Declaration] = {}
    has_default = any(file.in_default_build for file in package.files)
    for name, decls in package.members.items():
        if is_exported(name):
            built = [decl for decl in decls if decl.file.in_default_build or not has_default]
            if built:
                names[name] = built[0]
            elif _is_built_elsewhere(decls[0].file):
                elsewhere[name] = decls[0]
    members: dict[tuple[str, str], _Declared] = {}
    for file in package.files:
        for symbol in revision.text_of(file.path).facts.outline.symbols:
            if symbol.kind in _MEMBERS:
                members.setdefault((symbol.owner, symbol.name), (file.path, symbol))
    return _State(revision, package, names, elsewhere, members)


class _PackageComparison:
    def __init__(self, old: _State, new: _State, values: tuple[ConstantValues, ConstantValues]) -> None:
        self._old = old
        self._new = new
        self._values = values
        self._types = Correspondence(Side(old.package, old.revision.world), Side(new.package, new.revision.world))

    def changes(self) -> Iterator[ApiChange]:
        old, new = self._old.names, self._new.names
        # Types of the same name first: otherwise an alias might be found to be the same as another type.
        for name in sorted(old.keys() & new.keys()):
            if old[name].kind == new[name].kind == f.TYPE:
                self._types.corresponds(self._type(self._old, name), self._type(self._new, name))
        for name in sorted(old):
            if name not in new:
                yield self._change(name, "removed")
            else:
                yield from self._compare(name, old[name], new[name])
        for name in sorted(new.keys() - old.keys() - self._old.elsewhere.keys()):
            yield self._change(name, "added", is_breaking=False)
        for name in sorted(self._old.elsewhere.keys() - new.keys() - self._new.elsewhere.keys()):
            yield self._change(name, "removed")
        self._types.compare_implementations()
        yield from map(self._reported, self._types.differences)

    def _compare(self, name: str, old: Declaration, new: Declaration) -> Iterator[ApiChange]:
        kinds = _KINDS[old.kind], _KINDS[new.kind]
        if kinds[0] != kinds[1] and kinds != ("func", "var"):
            yield self._change(name, f"it changed from a {kinds[0]} to a {kinds[1]}")
            return
        if kinds == ("func", "var"):
            yield self._change(name, "it changed from a func to a var", is_breaking=False)
        self._types.is_uncertain = False
        part = "signature" if kinds[0] == "func" else "type"
        if not self._types.corresponds(self._type(self._old, name), self._type(self._new, name)):
            yield self._change(name, f"its {part} changed")
        elif self._types.is_uncertain:
            yield self._change(name, f"its {part} may have changed", is_certain=False)
        elif kinds[0] == "const":
            yield from self._compare_values(name, old, new)

    def _compare_values(self, name: str, old: Declaration, new: Declaration) -> Iterator[ApiChange]:
        values = [known.value_of(decl) for known, decl in zip(self._values, (old, new), strict=True)]
        if values[0] is not None and values[1] is not None:
            if values[0].value != values[1].value:
                yield self._change(name, "its value changed")
        elif self._values[0].text_of(old) != self._values[1].text_of(new):
            yield self._change(name, "its value may have changed", is_certain=False)

    def _type(self, state: _State, name: str) -> Type:
        return state.revision.world.type_of(state.names[name])

    def _change(self, name: str, what: str, *, is_breaking: bool = True, is_certain: bool = True) -> ApiChange:
        return self._reported(Difference(name, "", what, is_breaking, is_certain))

    def _reported(self, difference: Difference) -> ApiChange:
        """A difference with the declarations before and after; the location is that of the newest."""
        type, member, what, is_breaking, is_certain = difference
        before, after = (_declared(state, type, member) for state in (self._old, self._new))
        file, symbol = after or before or _declared(self._new, type, "") or _declared(self._old, type, "") or _NOWHERE
        return ApiChange(
            _module(self._new.revision, self._new.package.dir),
            self._new.package.path,
            f"{type}.{member}" if member else type,
            symbol.kind if before or after else "member",
            what,
            is_breaking,
            is_certain,
            before[1].signature if before else "",
            after[1].signature if after else "",
            file,
            symbol.line,
        )


def _declared(state: _State, name: str, member: str) -> _Declared | None:
    """The declaration of a name or of a type's own member; None if there is none, as for promoted members."""
    if member:
        return state.members.get((name, member))
    decls = state.package.members.get(name)
    decl = state.names.get(name) or (decls[0] if decls else None)
    return None if decl is None else (decl.file.path, state.revision.symbol_of(decl))
