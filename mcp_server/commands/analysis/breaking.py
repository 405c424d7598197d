"""`golore breaking`: prints the changes of exported API between two states, with what they break in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from golore.graph.changes.broken_users import BreakingReport
from golore.learner.changes.compared_files import Request
from golore.learner.compatibility.breaking_report import breaking_report
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.breaking_text import breaking_reply, change_document
from golore.mcp_server.text.output import print_json, print_lines, to_json_value
from golore.mcp_server.text.replies import full_name, people_lines

_SHOWN: Final = 200


def run_breaking(request: Request, start: Path, *, as_json: bool, limit: int | None) -> int:
    with open_repository(start) as opened:
        stale = warn_if_stale(opened.repository.root, opened.store)
        report = breaking_report(opened.repository.root, opened.store, request)
    if as_json:
        print_json({**report_document(report), "stale": stale})
    else:
        print_lines(people_lines(breaking_reply(report, full_name), limit or _SHOWN))
    return 0


def report_document(report: BreakingReport) -> dict[str, Any]:
    return {
        **to_json_value(report),
        "breaking": [change_document(one) for one in report.breaking],
        "uncertain": [change_document(one) for one in report.uncertain],
    }
