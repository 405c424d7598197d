"""`golore learn`: bring the store up to date and say what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.phrases import counted, listed
from golore.graph.progress import Progress
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.questions import count_store
from golore.learner.derived.finish import finish
from golore.learner.pipeline.incremental import IncrementalLearner
from golore.learner.pipeline.learn import Report, learn
from golore.mcp_server.services.repository import LearnedRepository, store_of
from golore.mcp_server.services.search_sources import MODEL_NAME
from golore.mcp_server.text.output import plain, print_json, print_lines, styled
from golore.mcp_server.text.progress import show_progress

_EXAMPLES: Final = 5


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


def learn_with_progress(repository: LearnedRepository, *, full: bool = False, workers: int | None = None) -> Report:
    with show_progress() as progress:
        report = learn_and_finish(repository.root, repository.store, full=full, workers=workers, progress=progress)
        if (repository.store / MODEL_NAME).exists():
            from golore.mcp_server.services.vectors import update_vectors

            update_vectors(repository, progress)
        return report


def learn_and_finish(
    root: Path, directory: Path, *, full: bool = False, workers: int | None = None, progress: Progress | None = None
) -> Report:
    """From where the last learn left off, if it can be."""
    if full:
        report = learn(root, store_directory=directory, full=True, workers=workers, progress=progress)
        finish(root, directory, whole=True, progress=progress)
        return report
    update = IncrementalLearner(root, directory, workers).resume(progress)
    finish(root, directory, changed=update.changed, progress=progress)
    return update.report


def _document(repository: LearnedRepository, report: Report, counts: StoreCounts) -> dict[str, object]:
    held = {
        "root": str(repository.root.resolve()),
        "store": str(repository.store),
        "symbols": sum(counts.symbols.values()),
        "calls": counts.edges["CALLS"],
        "edges": counts.edges,
        "externals": counts.externals,
        "unresolved": counts.unresolved,
        "unresolved_sites": counts.unresolved_sites,
    }
    return {**plain(report), **held}


def summary_lines(report: Report, counts: StoreCounts) -> list[str]:
    held = ", ".join(
        (
            counted(report.packages, "package"),
            counted(report.files, "file"),
            counted(sum(counts.symbols.values()), "symbol"),
            counted(counts.edges["CALLS"], "call"),
        )
    )
    done = f"{counted(report.files_parsed, 'file')} parsed, {counted(report.rows_written, 'row')} written"
    if not report.rows_written:
        done = "nothing has changed since the last time"
    lines = [styled(f"Learned {held} in {report.seconds:.1f} s", "bold") + f" ({done})."]
    if counts.unresolved:
        lines.append(f"{counted(counts.unresolved_sites, 'use')} could not be resolved.")
    if report.missing_imports:
        lines.append(
            f"The source of {counted(len(report.missing_imports), 'imported package')} is not at hand: "
            f"{listed(report.missing_imports, _EXAMPLES)}. What goes through their types stays unresolved."
        )
    if report.problems:
        lines.append(f"{counted(len(report.problems), 'problem')}:")
        for problem in report.problems[:_EXAMPLES]:
            line = f":{problem.line}" if problem.line else ""
            lines.append(f"  {problem.file}{line}: {problem.message}")
        if len(report.problems) > _EXAMPLES:
            lines.append(f"  and {len(report.problems) - _EXAMPLES:,} more")
    return [*lines, *report.messages]
