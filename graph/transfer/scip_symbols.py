"""Names of symbols in SCIP: `golore gomod MODULE . PACKAGE/Type#Method().`, one for each symbol of the graph.

Declarations that share a name, such as twins and blank variables, stay apart as in the graph: what distinguishes their
ids becomes part of the descriptor. The version is left open, because the graph is that of a working tree.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from golore.graph.database.store import Store

KINDS: Final = {
    "func": 17,
    "method": 26,
    "struct": 49,
    "interface": 21,
    "type": 54,
    "alias": 55,
    "const": 8,
    "var": 61,
    "field": 15,
    "imethod": 67,
    "package": 35,
}
"""Kind of a symbol → `SymbolInformation.Kind`."""
_SUFFIXES: Final = {
    **dict.fromkeys(("func", "method", "imethod"), "()."),
    **dict.fromkeys(("struct", "interface", "type", "alias"), "#"),
}
_TERM: Final = "."
_SIMPLE: Final = re.compile(r"[A-Za-z0-9_+$-]+")
_STANDARD_LIBRARY: Final = "github.com/golang/go/src"


class _Named(NamedTuple):
    kind: str
    name: str
    owner: str
    package: str


class SymbolNames:
    """The SCIP names of one graph."""

    def __init__(self, store: Store) -> None:
        self._modules: dict[str, str] = dict(store.rows("MATCH (p:Package) RETURN p.id, p.module"))
        rows = store.rows("MATCH (s:Symbol) RETURN s.id, s.kind, s.name, s.owner, s.package")
        self._symbols = {id: _Named(*rest) for id, *rest in rows}
        rows = store.rows("MATCH (e:External) RETURN e.id, e.kind, e.package, e.source")
        self._externals: dict[str, list[str]] = {id: rest for id, *rest in rows}
        self._known: dict[str, str] = {}

    def package(self, id: str) -> str:
        return f"golore gomod {_spaced(self._modules[id])} . {_escaped(id)}/"

    def symbol(self, id: str) -> str:
        known = self._known.get(id)
        if known is None:
            kind, name, owner, package = self._symbols[id]
            around = self.symbol(owner) if owner in self._symbols else self.package(package)
            _, at, distinction = id[len(package) :].partition("@")
            known = self._known[id] = f"{around}{_escaped(f'{name}{at}{distinction}')}{_suffix(kind)}"
        return known

    def external(self, id: str) -> str:
        """A symbol or package outside the repository. The module of one that is not available is not known: the path
        of its package is in its place."""
        known = self._known.get(id)
        if known is None:
            kind, package, source = self._externals[id]
            package = package or id
            module = _STANDARD_LIBRARY if source in ("std", "builtin") else package
            known = f"golore gomod {_spaced(module)} . {_escaped(package)}/"
            if kind != "package":
                *owners, name = id.removeprefix(f"{package}.").split(".")
                known += "".join(f"{_escaped(owner)}#" for owner in owners) + _escaped(name) + _suffix(kind)
            self._known[id] = known
        return known


def _suffix(kind: str) -> str:
    return _SUFFIXES.get(kind, _TERM)


def _spaced(text: str) -> str:
    """A part of a name between spaces: a space is doubled, and nothing is a dot."""
    return text.replace(" ", "  ") or "."


def _escaped(name: str) -> str:
    return name if _SIMPLE.fullmatch(name) else f"`{name.replace('`', '``')}`"
