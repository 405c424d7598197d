"""`golore dead`: prints declarations that nothing reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.analysis.dead_code import find_dead_code
from golore.mcp_server.services.fleet.fleet_here import used_by_others
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import directory_below
from golore.mcp_server.text.dead_text import dead_reply
from golore.mcp_server.text.fleet_text import used_lines
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.replies import people_lines

_SHOWN: Final = 50


def run_dead(
    target: str,
    start: Path,
    *,
    as_json: bool,
    tests: bool,
    exported: bool,
    limit: int | None,
    fleet: str | None = None,
) -> int:
    """`fleet`: the address of a lake: what its other repositories use is in use; empty: the one of the settings."""
    with open_repository(start) as opened:
        root = opened.repository.root
        stale = warn_if_stale(root, opened.store)
        below = directory_below(opened, target)
        outside, used = used_by_others(root, opened.store, fleet) if fleet is not None else (None, None)
        dead = find_dead_code(opened.store, root, below, tests=tests, exported=exported, outside=outside)
    if as_json:
        more = {"fleet": to_json_value(used.answer)} if used is not None else {}
        print_json({**to_json_value(dead), "stale": stale, **more})
    else:
        coverage = used_lines(used) if used is not None else ()
        print_lines(people_lines(dead_reply(dead).with_tail(*coverage), limit or _SHOWN))
    return 0
