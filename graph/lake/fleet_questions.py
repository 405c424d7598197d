"""Questions to a fleet about one name: who calls, uses or implements it in any repository, and what a change may reach.

The name is a qualified name. Methods that a type gets by embedding are not followed to the interfaces that it
satisfies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Final

from golore.graph.lake.fleet import Fleet, FleetRow
from golore.graph.lake.fleet_answers import FleetAnswer, FleetUse, MemberState
from golore.graph.lake.satisfying_types import SatisfyingTypes, satisfying_types
from golore.graph.lake.segments import IMPORTS, POSSIBLE
from golore.graph.lake.version_gaps import version_gaps
from golore.graph.model.edge_kinds import USES

_CALLS: Final = ("CALLS",)
_IMPLEMENTS: Final = ("IMPLEMENTS",)
_MOST: Final = 20_000
"""Most uses that a search of several steps follows."""


def callers(fleet: Fleet, name: str, package: str = "") -> FleetAnswer:
    """Who calls it. Candidates call an interface method through which it may be called, or are unresolved uses of which
    it is a possible target."""
    return _users(fleet, "callers", name, package, _CALLS)


def users(fleet: Fleet, name: str, package: str = "", access: str = "") -> FleetAnswer:
    """Who calls, refers to or embeds it. For a field, `access` restricts the answer to one kind of use."""
    return _users(fleet, f"{access}s" if access else "users", name, package, USES, access)


def implementers(fleet: Fleet, name: str, package: str = "") -> FleetAnswer:
    """The types that satisfy an interface. Those whose package neither imports nor declares it are accidental. Types of
    dependencies that have its methods, as far as that can be seen, are candidates, or accidental as well."""
    package = package or _package(fleet, name)
    rows = fleet.uses({name, package} if package else {name})
    aware = {(row.member.name, _folder(row)) for row in rows if row.target == package and row.kind == IMPORTS}
    resolved: list[FleetRow] = []
    accidental: list[FleetRow] = []
    for row in rows:
        if row.target == name and row.kind in _IMPLEMENTS:
            is_aware = (row.member.name, _folder(row)) in aware or row.source.startswith(f"{package}.")
            (resolved if is_aware or not package else accidental).append(row)
    declaration = fleet.declaration(name)
    declaring = declaration.member if declaration is not None else None
    more = satisfying_types(fleet, declaring, name) if declaring is not None else SatisfyingTypes((), ())
    others = (*_shown(accidental), *more.accidental)
    return _answer(fleet, "implementers", name, package, _shown(resolved), more.imported, accidental=others)


def impact(fleet: Fleet, name: str, package: str = "", *, depth: int) -> FleetAnswer:
    """Everything that a change of it may reach within `depth` steps, over the borders of repositories."""
    resolved, candidates, complete = _reached(fleet, [name], depth)
    return _answer(fleet, "impact", name, package, resolved, candidates, complete=complete)


def _reached(
    fleet: Fleet, names: Collection[str], depth: int, own: Collection[str] = ()
) -> tuple[tuple[FleetUse, ...], tuple[FleetUse, ...], bool]:
    """The certain uses, the possible ones, and whether these are all. Uses in `own` repositories are left out, and not
    followed."""
    kinds = (*USES, "IMPLEMENTS")
    found: dict[tuple[str, str], FleetUse] = {}
    level = dict.fromkeys(names, True)
    complete = True
    for step in range(1, depth + 1):
        following: dict[str, bool] = {}
        for row in sorted(fleet.uses(level), key=_order):
            certain = level[row.target] and row.kind in kinds
            key = (row.member.name, row.source)
            if row.source in names or row.member.name in own or (row.kind != POSSIBLE and row.kind not in kinds):
                continue
            if key in found and (found[key].how != POSSIBLE.lower() or not certain):
                continue
            if len(found) >= _MOST:
                complete = False
                break
            use = _use(row, depth=step, through=row.target if step > 1 or len(names) > 1 else "")
            found[key] = use if certain else _as_candidate(use)
            following[row.source] = certain
        level = following
        if not level:
            break
    complete = complete and not level
    resolved = tuple(use for use in found.values() if use.how != POSSIBLE.lower())
    candidates = tuple(use for use in found.values() if use.how == POSSIBLE.lower())
    return resolved, candidates, complete


def _users(
    fleet: Fleet, question: str, name: str, package: str, kinds: Collection[str], access: str = ""
) -> FleetAnswer:
    interfaces = _interface_methods(fleet, name)
    rows = fleet.uses({name, *interfaces})
    resolved = [row for row in rows if row.target == name and row.kind in kinds]
    through = [row for row in rows if row.target in interfaces and row.kind in _CALLS]
    possible = [row for row in rows if row.target == name and row.kind == POSSIBLE]
    uses = _shown(resolved)
    if access:
        uses = tuple(use for use in uses if use.access == access)
    candidates = (*_shown(through, name), *_shown(possible))
    return _answer(fleet, question, name, package, uses, candidates)


def affected(fleet: Fleet, names: Collection[str], own: Collection[str], *, depth: int) -> FleetAnswer:
    """What a change of these names may reach in other repositories than `own`."""
    resolved, candidates, complete = _reached(fleet, names, depth, own) if names else ((), (), True)
    return elsewhere(fleet, "affected", names, own, resolved, candidates, complete=complete)


def elsewhere(
    fleet: Fleet,
    question: str,
    names: Collection[str],
    own: Collection[str],
    resolved: tuple[FleetUse, ...],
    candidates: tuple[FleetUse, ...],
    *,
    complete: bool = True,
) -> FleetAnswer:
    """An answer about several names of the repository here, of which `own` has the names in the lake."""
    users = {use.repository for use in (*resolved, *candidates)}
    declaring = next((one for one in fleet.members if one.name in own), None)
    missing = {path for one in fleet.members for path in one.head.missing}
    packages = {path for path in missing if any(name.startswith(f"{path}.") for name in names)}
    without = tuple(one.name for one in fleet.members if packages.intersection(one.head.missing))
    return FleetAnswer(
        question,
        "",
        declaring.name if declaring is not None else next(iter(own), ""),
        resolved,
        candidates,
        (),
        {},
        version_gaps(fleet, declaring, users) if declaring is not None else (),
        without,
        member_states(fleet),
        dict(sorted(fleet.unreadable.items())),
        fleet.index_failure,
        complete,
    )


def member_states(fleet: Fleet) -> tuple[MemberState, ...]:
    """The repositories that an answer covers."""
    return tuple(
        MemberState(one.name, one.key.commit, one.head.version, one.head.published)
        for one in fleet.members
        if one.name not in fleet.unreadable
    )


def _answer(
    fleet: Fleet,
    question: str,
    name: str,
    package: str,
    resolved: tuple[FleetUse, ...],
    candidates: tuple[FleetUse, ...],
    *,
    accidental: tuple[FleetUse, ...] = (),
    complete: bool = True,
) -> FleetAnswer:
    package = package or _package(fleet, name)
    users = {use.repository for use in (*resolved, *candidates)}
    without = tuple(member.name for member in fleet.members if package and package in member.head.missing)
    unresolved = {} if question == "implementers" else fleet.unresolved(name.rpartition(".")[2])
    declaration = fleet.declaration(name)
    declaring = declaration.member if declaration is not None else None
    gaps = version_gaps(fleet, declaring, users) if declaring is not None else ()
    return FleetAnswer(
        question,
        name,
        declaring.name if declaring is not None else "",
        resolved,
        candidates,
        accidental,
        unresolved,
        gaps,
        without,
        member_states(fleet),
        dict(sorted(fleet.unreadable.items())),
        fleet.index_failure,
        complete,
    )


def _package(fleet: Fleet, name: str) -> str:
    """The package that declares a name, or else the longest part of the name that is imported as a package."""
    declaration = fleet.declaration(name)
    if declaration is not None:
        return declaration.symbols[0]["package"]
    start = name.rfind("/") + 1
    parts = {name[:at] for at in range(start, len(name)) if name[at] == "."}
    imported = {row.target for row in fleet.uses(parts) if row.kind == IMPORTS}
    return max(imported, key=len, default="")


def _interface_methods(fleet: Fleet, name: str) -> set[str]:
    """The interface methods through which a method may be called, as far as the repository that declares it knows."""
    declaration = fleet.declaration(name)
    if declaration is None or all(one["kind"] != "method" for one in declaration.symbols):
        return set()
    owner, _, method = name.rpartition(".")
    return {f"{interface}.{method}" for interface in fleet.own_uses_by(declaration.member, owner, "IMPLEMENTS")}


def _shown(rows: Iterable[FleetRow], asked: str = "") -> tuple[FleetUse, ...]:
    """Uses by repository and place. A use of a field is one for each kind of access."""
    uses: list[FleetUse] = []
    for row in sorted(rows, key=_order):
        use = _use(row, target=row.target if asked and row.target != asked else "")
        accesses = row.access.split()
        for access in sorted(set(accesses)) or [""]:
            sites = (
                tuple(site for site, one in zip(use.sites, accesses, strict=True) if one == access)
                if access
                else use.sites
            )
            uses.append(FleetUse(use.repository, use.how, use.source, use.file, sites, access, use.target))
    return tuple(uses)


def named_use(row: FleetRow) -> FleetUse:
    """A use, with what it uses."""
    return _use(row, target=row.target)


def _use(row: FleetRow, *, target: str = "", depth: int = 1, through: str = "") -> FleetUse:
    sites = tuple(map(int, row.sites.split()))
    return FleetUse(row.member.name, row.kind.lower(), row.source, row.file, sites, "", target, depth, through)


def _as_candidate(use: FleetUse) -> FleetUse:
    return FleetUse(
        use.repository, POSSIBLE.lower(), use.source, use.file, use.sites, "", use.target, use.depth, use.through
    )


def _order(row: FleetRow) -> tuple[str, ...]:
    return (row.member.name, row.file, row.source, row.target, row.kind, row.sites)


def _folder(row: FleetRow) -> str:
    return str(PurePosixPath(row.file).parent)
