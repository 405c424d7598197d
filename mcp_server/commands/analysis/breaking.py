"""`golore breaking`: prints the changes of exported API between two states, with what they break in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from golore.graph.changes.broken_users import BreakingReport
from golore.learner.changes.compared_files import Request
from golore.learner.compatibility.breaking_report import breaking_report
from golore.mcp_server.services.fleet.fleet_here import breaking_elsewhere
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.breaking_text import breaking_reply, change_document
from golore.mcp_server.text.fleet_text import with_fleet
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.replies import full_name, people_lines

_SHOWN: Final = 200


def run_breaking(request: Request, start: Path, *, as_json: bool, limit: int | None, fleet: str | None = None) -> int:
    """`fleet`: the address of a lake whose repositories are asked, too; empty: the one of the settings."""
    with open_repository(start) as opened:
        root, store = opened.repository.root, opened.store
        stale = warn_if_stale(root, store)
        report = breaking_report(root, store, request)
        answer = (
            breaking_elsewhere(root, store, fleet, report.breaking, report.uncertain) if fleet is not None else None
        )
    if as_json:
        more = {"fleet": to_json_value(answer)} if answer is not None else {}
        print_json({**report_document(report), "stale": stale, **more})
    else:
        reply = breaking_reply(report, full_name)
        print_lines(people_lines(reply if answer is None else with_fleet(reply, answer), limit or _SHOWN))
    return 0


def report_document(report: BreakingReport) -> dict[str, Any]:
    return {
        **to_json_value(report),
        "breaking": [change_document(one) for one in report.breaking],
        "uncertain": [change_document(one) for one in report.uncertain],
    }
