"""`golore show --history`: prints all summaries of a symbol, file, package or the repository, newest first."""

from __future__ import annotations

from pathlib import Path

from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import SummaryRecord, history
from golore.mcp_server.services.knowledge.current_summary import STRUCTURAL
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.targets import Target, find_target
from golore.mcp_server.text.output import print_json, print_lines, styled, to_json_value


def run_history(text: str, start: Path, *, as_json: bool) -> int:
    with open_repository(start) as opened:
        target = find_target(opened, text)
        if target.level == "symbol" and not target.symbols:
            raise UsageError(f"{text} is declared outside the repository and has no summary here.")
        composed = structural_summary(opened.store, target.level, target.id)
        records = _history(opened.repository.store, target)
    if as_json:
        document = [{**to_json_value(record), "standing": record.standing} for record in records]
        print_json({"level": target.level, "subject": target.id, "structural": composed, "history": document})
    else:
        print_lines(_lines(target, composed, records))
    return 0


def _history(directory: Path, target: Target) -> list[SummaryRecord]:
    if not Knowledge.exists(directory):
        return []
    with Knowledge.open(directory) as knowledge:
        return history(knowledge, target.level, target.id)


def _lines(target: Target, composed: str, records: list[SummaryRecord]) -> list[str]:
    lines = [styled(f"{target.level} {target.id}", "bold")]
    for record in records:
        by = record.model or record.source
        superseded = "" if record.current else ", superseded"
        lines += [f"{record.created}  {record.standing}{superseded}, by {by}", f"  {record.text}"]
    return [*lines, f"{STRUCTURAL}, from the graph", f"  {composed}"]
