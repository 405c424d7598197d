"""Questions to a fleet about the repository here: what its changes break or reach elsewhere, and what others use."""

from __future__ import annotations

from pathlib import Path

from golore.graph.analysis.dead_code import OutsideUses
from golore.graph.changes.affected import Affected
from golore.graph.changes.broken_users import BreakingChange
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.downstream import ApiBreak, UsedElsewhere, broken_elsewhere, used_elsewhere
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.fleet_answers import FleetAnswer
from golore.graph.lake.fleet_questions import affected
from golore.graph.model.entities import REPOSITORY_ID
from golore.mcp_server.services.published_names import published_names
from golore.mcp_server.services.settings import lake_address


def breaking_elsewhere(
    root: Path, store: Store, address: str, breaking: tuple[BreakingChange, ...], uncertain: tuple[BreakingChange, ...]
) -> FleetAnswer:
    """The code in other repositories that these changes of the API break."""
    breaks = [_break(one, is_certain=True) for one in breaking] + [_break(one, is_certain=False) for one in uncertain]
    with Fleet(open_lake(lake_address(address))) as fleet:
        return broken_elsewhere(fleet, breaks, _own(root, store))


def affected_elsewhere(root: Path, store: Store, fleet: Fleet, found: Affected, depth: int) -> FleetAnswer:
    """What a change may reach in other repositories."""
    names = {symbol.qualified_name for one in found.changed for symbol in one.symbols if not symbol.test}
    names |= {one.change.qualified_name for one in found.breaking if one.change.name}
    return affected(fleet, sorted(names), _own(root, store), depth=depth)


def used_by_others(root: Path, store: Store, address: str) -> tuple[OutsideUses, UsedElsewhere]:
    """What other repositories use of this one."""
    with Fleet(open_lake(lake_address(address))) as fleet:
        found = used_elsewhere(fleet, _node(store)[1], _own(root, store))
    return OutsideUses(found.names, found.open_packages), found


def _break(one: BreakingChange, *, is_certain: bool) -> ApiBreak:
    change = one.change
    owner = change.name.rpartition(".")[0]
    return ApiBreak(
        change.qualified_name,
        f"{change.package}.{owner}" if owner else "",
        not change.name,
        not change.after,
        is_certain,
    )


def _own(root: Path, store: Store) -> tuple[str, ...]:
    try:
        return published_names(root, "", (_node(store)[0],))
    except UsageError:
        return ()


def _node(store: Store) -> tuple[str, tuple[str, ...]]:
    statement = "MATCH (r:Repository {id: $id}) RETURN r.name, r.modules"
    name, modules = next(iter(store.rows(statement, {"id": REPOSITORY_ID})))
    return name, tuple(modules)
