"""Types of dependencies that have the methods of an interface: a repository publishes only which of its own types do.

They are found by comparing signatures as they are written (see `method_shapes`). Methods that a type gets by embedding,
and interfaces that embed one that is not in the lake, are left out.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from golore.graph.lake.fleet import Fleet, Member
from golore.graph.lake.fleet_answers import FleetUse
from golore.graph.lake.method_shapes import method_shape
from golore.graph.lake.segments import IMPORTS

_HOW: Final = "may implement"


class SatisfyingTypes(NamedTuple):
    """`imported`: of packages that the interface's repository imports. The others satisfy it, if so, by accident."""

    imported: tuple[FleetUse, ...]
    accidental: tuple[FleetUse, ...]


def satisfying_types(fleet: Fleet, declaring: Member, interface: str) -> SatisfyingTypes:
    """The types of modules that the declaring repository requires."""
    wanted = _required(fleet, declaring, interface)
    found: list[tuple[Member, dict[str, Any]]] = []
    if wanted:
        for member in fleet.members:
            if member.name != declaring.name and set(member.head.modules) & declaring.head.requires.keys():
                found += [(member, symbol) for symbol in _having(fleet, member, wanted)]
    packages = {symbol["package"] for _, symbol in found}
    imported = {
        row.target
        for row in (fleet.uses(packages) if packages else ())
        if row.kind == IMPORTS and row.member.name == declaring.name
    }
    uses = [
        (FleetUse(member.name, _HOW, symbol["name"], symbol["file"], (symbol["line"],)), symbol["package"] in imported)
        for member, symbol in found
    ]
    return SatisfyingTypes(
        tuple(use for use, is_imported in uses if is_imported),
        tuple(use for use, is_imported in uses if not is_imported),
    )


def _required(fleet: Fleet, declaring: Member, interface: str) -> dict[str, str]:
    """The methods of an interface, with their shapes; empty if they are not all known."""
    found: dict[str, str] = {}
    known = {one["name"]: one for one in fleet.all_symbols(declaring)}
    waiting = [interface]
    while waiting:
        name = waiting.pop()
        if name not in known or known[name]["kind"] != "interface":
            return {}
        for symbol in known.values():
            if symbol["owner"] == name and symbol["kind"] == "imethod":
                method = symbol["name"].rpartition(".")[2]
                found[method] = method_shape(symbol["signature"], method, symbol["package"])
        waiting += fleet.own_uses_by(declaring, name, "EMBEDS")
    return found if all(found.values()) else {}


def _having(fleet: Fleet, member: Member, wanted: dict[str, str]) -> list[dict[str, Any]]:
    """The exported types of a repository that have these methods."""
    symbols = fleet.all_symbols(member)
    methods: dict[str, dict[str, str]] = {}
    for symbol in symbols:
        method = symbol["name"].rpartition(".")[2]
        if symbol["kind"] == "method" and method in wanted:
            methods.setdefault(symbol["owner"], {})[method] = method_shape(
                symbol["signature"], method, symbol["package"]
            )
    names = {name for name, found in methods.items() if found == wanted}
    return [one for one in symbols if one["name"] in names and one["exported"] and not one["file"].endswith("_test.go")]
