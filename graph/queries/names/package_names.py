"""Compares a written name, `pkg.Type.Method`, with symbols, by all the names that their packages go by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.names.written_names import assumed_package_name


class _Package(NamedTuple):
    """`names` are what may stand before the dot, besides the import path and its ends."""

    path: str
    names: tuple[str, ...]


class PackageNames:
    """The packages of one open store. With `fold`, capitalization is ignored."""

    def __init__(self, store: Store, *, fold: bool) -> None:
        self._store = store
        self._fold = fold

    def ending(self, named: Iterable[Ref], plain: str) -> list[Ref]:
        """The symbols whose qualified name is `plain`; else those for which it begins with the package; else those
        whose qualified name ends in it."""
        plain = self._folded(plain)
        whole: list[Ref] = []
        from_package: list[Ref] = []
        from_type: list[Ref] = []
        named = list(named)
        packages = self._packages(named)
        for symbol in named:
            qualified_name = self._folded(symbol.qualified_name)
            if qualified_name == plain:
                whole.append(symbol)
            elif qualified_name.endswith(f"/{plain}") or self._is_under(packages[symbol.package], symbol, plain):
                from_package.append(symbol)
            elif qualified_name.endswith(f".{plain}"):
                from_type.append(symbol)
        return whole or from_package or from_type

    def imported(self, named: Iterable[Ref], plain: str) -> list[Ref]:
        """The symbols that `plain` means in a file that imports their package under the name before the first dot."""
        given, _, rest = plain.partition(".")
        named = list(named)
        if "/" in given or not named:
            return []
        paths = self._imported_as(given)
        packages = self._packages(named) if paths else {}
        return [
            symbol
            for symbol in named
            if packages and (path := packages[symbol.package].path) in paths
            if self._folded(symbol.qualified_name) == self._folded(f"{path}.{rest}")
        ]

    def _is_under(self, package: _Package, symbol: Ref, plain: str) -> bool:
        local = symbol.qualified_name.removeprefix(package.path)
        names = [self._folded(name + local) for name in package.names]
        return plain in names or any(name.endswith(f"/{plain}") for name in names)

    def _packages(self, named: Iterable[Ref]) -> dict[str, _Package]:
        found: dict[str, _Package] = {}
        inside: set[str] = set()
        for symbol in named:
            if symbol.external:
                found[symbol.package] = _Package(symbol.package, (assumed_package_name(symbol.package),))
            else:
                inside.add(symbol.package)
        statement = "UNWIND $ids AS i MATCH (p:Package {id: i}) RETURN p.id, p.path, p.name, p.dir"
        for id, path, name, directory in self._store.rows(statement, {"ids": sorted(inside)}) if inside else ():
            found[id] = _Package(path, (name, directory))
        return found

    def _imported_as(self, name: str) -> set[str]:
        """The import paths of the packages that some file imports under this name."""
        found: set[str] = set()
        for label, path in (("Package", "p.path"), ("External", "p.id")):
            statement = (
                f"MATCH (f:File)-[e:IMPORTS]->(p:{label}) WHERE lower(e.evidence) CONTAINS $name "
                f"RETURN DISTINCT e.evidence, {path}"
            )
            rows = self._store.rows(statement, {"name": name.lower()})
            found.update(path for names, path in rows if self._folded(name) in map(self._folded, names.split()))
        return found

    def _folded(self, text: str) -> str:
        return text.lower() if self._fold else text
