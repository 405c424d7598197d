"""`golore learn`: brings the store up to date and prints what was learned."""

from __future__ import annotations

from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.questions import count_store
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.services.shown_learn import learn_with_progress
from golore.mcp_server.text.learn_text import summary_lines
from golore.mcp_server.text.output import print_json, print_lines, to_json_value


def run_learn(root: Path, *, full: bool, workers: int | None, as_json: bool) -> int:
    repository = LearnedRepository(root, store_of(root))
    report = learn_with_progress(repository, full=full, workers=workers)
    with Store.open(repository.store, write=False) as store:
        counts = count_store(store)
    if as_json:
        print_json(_document(repository, report, counts))
    else:
        print_lines(summary_lines(report, counts))
    return 0


def _document(repository: LearnedRepository, report: Report, counts: StoreCounts) -> dict[str, object]:
    totals = {
        "root": str(repository.root.resolve()),
        "store": str(repository.store),
        "symbols": sum(counts.symbols.values()),
        "calls": counts.edges["CALLS"],
        "edges": counts.edges,
        "externals": counts.externals,
        "unresolved": counts.unresolved,
        "unresolved_sites": counts.unresolved_sites,
    }
    return {**to_json_value(report), **totals}
