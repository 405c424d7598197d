"""Qualified names as Go code writes them: `chi.Mux.Get`, with the name of the package clause and not the end of the
import path, which may be a version.

The repository's packages are looked up in the graph. The name of an external package is the one that Go's conventions
for import paths suggest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.names.written_names import assumed_package_name
from golore.graph.queries.unnamed_interfaces import is_unnamed

Naming = Callable[[str], str]
"""How a text shows a qualified name."""
_VERSION: Final = re.compile(r"v\d+\.")
_PATHS: Final = re.compile(r"(?:[\w.~-]+/)+")
"""In the text of an unnamed interface: what precedes the last part of an import path."""


def assumed_short_name(qualified_name: str) -> str:
    """The short name by Go's conventions alone, where no graph is open."""
    if is_unnamed(qualified_name):
        return _PATHS.sub("", qualified_name)
    package, local = _split(qualified_name)
    return f"{assumed_package_name(package)}.{local}" if local else qualified_name


class ShortNames:
    """The short names of one open store: call it with a qualified name. Names without a package stay as they are."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def __call__(self, qualified_name: str) -> str:
        if is_unnamed(qualified_name):
            return _PATHS.sub("", qualified_name)
        package, local = _split(qualified_name)
        return f"{self._name_of(package)}.{local}" if local else qualified_name

    def _name_of(self, package: str) -> str:
        if package not in self._names:
            rows = self._store.rows("MATCH (p:Package {id: $id}) RETURN p.name", {"id": package})
            self._names[package] = next((name for (name,) in rows), "") or assumed_package_name(package)
        return self._names[package]


def _split(qualified_name: str) -> tuple[str, str]:
    """The import path and the name in the package, which is empty if this is no qualified name."""
    if qualified_name.endswith(".go"):
        return qualified_name, ""
    start = qualified_name.rfind("/") + 1
    end = qualified_name.find(".", start)
    if end >= 0 and (version := _VERSION.match(qualified_name, end + 1)):  # gopkg.in/yaml.v3.Node
        end = version.end() - 1
    return (qualified_name[:end], qualified_name[end + 1 :]) if end >= 0 else (qualified_name, "")
