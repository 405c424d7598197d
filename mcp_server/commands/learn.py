"""`golore learn`: brings the store up to date and prints what was learned."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from golore.graph.changes.program_builder import build_ahead
from golore.graph.database.store import Store
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.store_counts import count_store
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.install.program_link import link_program
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.services.shown_learn import learn_with_progress
from golore.mcp_server.text.learn_text import summary_lines
from golore.mcp_server.text.output import print_json, print_lines, to_json_value


def run_learn(
    root: Path,
    *,
    full: bool,
    workers: int | None,
    as_json: bool,
    started: float,
    print_next_steps: Callable[[Path, Report], None] | None = None,
) -> int:
    """`started`: the monotonic time at which the command began. `print_next_steps` is called after the first learn of a
    repository."""
    repository = LearnedRepository(root, store_of(root))
    is_first = not (repository.store / MANIFEST_NAME).exists()
    report = learn_with_progress(repository, full=full, workers=workers)
    link_program()
    with Store.open(repository.store, write=False) as store:
        counts = count_store(store)
        build_ahead(store, sum(counts.symbols.values()), report.rows_written)
    report = report._replace(seconds=time.monotonic() - started)
    if as_json:
        print_json(_document(repository, report, counts))
    else:
        print_lines(summary_lines(report, counts))
        if is_first and print_next_steps is not None:
            print_next_steps(root, report)
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
