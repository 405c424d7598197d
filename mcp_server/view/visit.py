"""A visit: the open repository and the addresses of pages, as page functions get them, and names as pages show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.view.links import Links


class PackageName(NamedTuple):
    """The import path, the name and the directory of a package."""

    path: str
    name: str
    dir: str


_UNKNOWN: Final = PackageName("", "", "")


@dataclass(frozen=True, slots=True)
class Visit:
    """`packages` are found by their ids. `name`: the repository's, if it is not that of its directory."""

    opened: OpenServedRepository
    links: Links
    packages: Mapping[str, PackageName]
    name: str = ""

    @property
    def store(self) -> Store:
        return self.opened.store

    @property
    def repository_name(self) -> str:
        return self.name or self.opened.repository.root.name or "root"

    @property
    def has_source(self) -> bool:
        """Whether there are files to show. Of a publication, there are none."""
        return not self.opened.published

    def short_name(self, symbol: Ref) -> str:
        """A symbol's name as code in other packages would write it: `chi.Mux.ServeHTTP`."""
        path, name, _ = self.packages.get(symbol.package, _UNKNOWN)
        if path and symbol.qualified_name.startswith(f"{path}."):
            return f"{name}.{symbol.qualified_name[len(path) + 1 :]}"
        return self.short_text(symbol.qualified_name)

    def short_text(self, qualified_name: str) -> str:
        """Like `short_name`, if only the qualified name is known."""
        head, slash, last = qualified_name.rpartition("/")
        package, dot, rest = last.partition(".")
        known = self.packages.get(f"{head}{slash}{package}")
        return f"{known.name if known is not None else package}{dot}{rest}"

    def package_address(self, id: str) -> str:
        """The address of the map of a package's directory; empty if it is not in the repository."""
        known = self.packages.get(id)
        return self.links.map(known.dir) if known is not None else ""


def package_names(store: Store) -> dict[str, PackageName]:
    rows = store.rows("MATCH (p:Package) RETURN p.id, p.path, p.name, p.dir")
    return {id: PackageName(*rest) for id, *rest in rows}


def parent_directories(path: str) -> list[tuple[str, str]]:
    """The directories above a path, outermost first: name and path."""
    parents = [parent.as_posix() for parent in PurePosixPath(path).parents if parent.as_posix() != "."]
    return [(parent.rpartition("/")[2], parent) for parent in reversed(parents)]
