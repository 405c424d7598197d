"""`golore drafts`: prints the summaries that are most worth improving."""

from __future__ import annotations

from pathlib import Path

from golore.mcp_server.services.knowledge.draft_list import drafts
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.text.output import print_json, print_lines, styled


def run_drafts(start: Path, *, limit: int, level: str, as_json: bool) -> int:
    with open_repository(start) as opened:
        found = drafts(opened.repository, opened.store, limit, level, with_material=as_json)
    if as_json:
        print_json({"drafts": found})
        return 0
    if not found:
        print_lines(["There is nothing to improve: no summary is a draft or stale."])
        return 0
    for one in found:
        print_lines([styled(f"{one.level} {one.subject}", "bold") + f" ({one.standing})", f"  {one.text}"])
    return 0
