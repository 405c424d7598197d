"""`golore cycles`: prints import cycles, and cycles of directories with the fewest imports to remove."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.analysis.cycles import find_cycles
from golore.graph.queries.names.short_names import ShortNames
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.services.targets import directory_below
from golore.mcp_server.text.cycle_text import cycles_reply
from golore.mcp_server.text.diagrams import cycles_diagram, print_diagram
from golore.mcp_server.text.output import print_json, print_lines, require_one_form, to_json_value
from golore.mcp_server.text.replies import people_lines

_SHOWN: Final = 50


def run_cycles(
    target: str, start: Path, *, as_json: bool, tests: bool, limit: int | None, diagram: str | None = None
) -> int:
    require_one_form(as_json=as_json, diagram=diagram)
    with open_repository(start) as opened:
        stale = warn_if_stale(opened.repository.root, opened.store)
        below = directory_below(opened, target)
        cycles = find_cycles(opened.store, below, tests=tests)
        reply = cycles_reply(cycles, ShortNames(opened.store))
    if diagram:
        print_diagram(cycles_diagram(cycles), diagram)
    elif as_json:
        print_json({**to_json_value(cycles), "stale": stale})
    else:
        print_lines(people_lines(reply, limit or _SHOWN))
    return 0
