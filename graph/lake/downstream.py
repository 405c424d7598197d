"""What other repositories use of this one: the code that an API change breaks there, and what is in use at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from golore.graph.lake.fleet import Fleet, FleetRow
from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.lake.fleet_questions import elsewhere, named_use
from golore.graph.lake.segments import IMPORTS, POSSIBLE
from golore.graph.model.edge_kinds import USES

_IMPLEMENTS: Final = "IMPLEMENTS"


class ApiBreak(NamedTuple):
    """A changed name of the API: a package, a declaration or a member of one. `is_removed`: so is all below it.
    `owner`: of a member, the type; whoever satisfies it as an interface must follow. `is_certain`: it does break."""

    name: str
    owner: str
    is_package: bool
    is_removed: bool
    is_certain: bool


class UsedElsewhere(NamedTuple):
    """`names`: what other repositories use, or may use, of a module. `open_packages`: packages whose source some of
    them lacked, so that it is not known which methods they use."""

    names: frozenset[str]
    open_packages: frozenset[str]
    answer: FleetAnswer


def broken_elsewhere(fleet: Fleet, breaks: Iterable[ApiBreak], own: Collection[str]) -> FleetAnswer:
    """The code in other repositories than `own` that API changes break, or may break."""
    breaks = tuple(breaks)
    wanted = {one.name: one for one in breaks}
    owners = {one.owner: one for one in breaks if one.owner}
    removed = tuple(f"{one.name}." for one in breaks if one.is_removed and not one.is_package)
    found = [*(fleet.uses({*wanted, *owners}) if wanted else ()), *(fleet.uses_below(removed) if removed else ())]
    rows = {(row.member.name, row.file, row.source, *row[1:]): row for row in found}
    resolved: list[FleetRow] = []
    candidates: list[FleetRow] = []
    for _, row in sorted(rows.items(), key=lambda item: item[0]):
        cause = _cause(row, wanted, owners, removed)
        if row.member.name not in own and cause is not None:
            is_certain = cause.is_certain and row.kind != POSSIBLE
            (resolved if is_certain else candidates).append(row)
    names = [one.name for one in breaks]
    shown = (tuple(map(named_use, part)) for part in (resolved, candidates))
    return elsewhere(fleet, "breaking", names, own, *shown)


def used_elsewhere(fleet: Fleet, modules: Collection[str], own: Collection[str]) -> UsedElsewhere:
    """What other repositories than `own` use of these modules."""
    prefixes = tuple(f"{module}{end}" for module in modules for end in ("/", "."))
    rows = [row for row in fleet.uses_below((*prefixes, *modules)) if row.member.name not in own]
    found = [row for row in rows if row.kind != IMPORTS]
    imported = {row.target for row in rows if row.kind == IMPORTS}
    missing = {path for one in fleet.members if one.name not in own for path in one.head.missing}
    names = frozenset(row.target for row in found)
    uses = tuple(named_use(row) for row in found)
    return UsedElsewhere(names, frozenset(imported & missing), elsewhere(fleet, "dead", sorted(names), own, uses, ()))


def _cause(
    row: FleetRow, wanted: dict[str, ApiBreak], owners: dict[str, ApiBreak], removed: tuple[str, ...]
) -> ApiBreak | None:
    """The change that a use depends on."""
    one = wanted.get(row.target)
    if one is not None and (row.kind in (*USES, _IMPLEMENTS, POSSIBLE) or (one.is_package and row.kind == IMPORTS)):
        return one
    if row.kind == _IMPLEMENTS and row.target in owners:
        return owners[row.target]
    below = next((start for start in removed if row.target.startswith(start)), "")
    return wanted[below[:-1]] if below and row.kind in (*USES, POSSIBLE) else None
