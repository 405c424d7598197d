"""`golore learn`: bring the store up to date and say what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Census
from golore.graph.queries.questions import census
from golore.learner.derived.finish import finish
from golore.learner.pipeline.graph_writer import Progress
from golore.learner.pipeline.incremental import WarmLearner
from golore.learner.pipeline.learn import Report, learn
from golore.mcp_server.services.repository import Place, store_of
from golore.mcp_server.services.search_sources import MODEL_NAME
from golore.mcp_server.text.output import counted, plain, print_json, print_lines, styled
from golore.mcp_server.text.progress import shown_progress

_EXAMPLES: Final = 5


def run_learn(root: Path, *, full: bool, workers: int | None, as_json: bool) -> int:
    place = Place(root, store_of(root))
    report = learn_with_progress(place, full=full, workers=workers)
    with Store.open(place.store, write=False) as store:
        counts = census(store)
    if as_json:
        print_json(_document(place, report, counts))
    else:
        print_lines(summary_lines(report, counts))
    return 0


def learn_with_progress(place: Place, *, full: bool = False, workers: int | None = None) -> Report:
    with shown_progress() as progress:
        report = learn_and_finish(place.root, place.store, full=full, workers=workers, progress=progress)
        if (place.store / MODEL_NAME).exists():
            from golore.mcp_server.services.vectors import follow_vectors

            follow_vectors(place, progress)
        return report


def learn_and_finish(
    root: Path, directory: Path, *, full: bool = False, workers: int | None = None, progress: Progress | None = None
) -> Report:
    """From where the last learn left off, if it can be."""
    if full:
        report = learn(root, store_directory=directory, full=True, workers=workers, progress=progress)
        finish(root, directory, whole=True, progress=progress)
        return report
    update = WarmLearner(root, directory, workers).resume(progress)
    finish(root, directory, changed=update.changed, progress=progress)
    return update.report


def _document(place: Place, report: Report, counts: Census) -> dict[str, object]:
    held = {
        "root": str(place.root.resolve()),
        "store": str(place.store),
        "symbols": sum(counts.symbols.values()),
        "calls": counts.edges["CALLS"],
        "edges": counts.edges,
        "externals": counts.externals,
        "unresolved": counts.unresolved,
        "unresolved_sites": counts.unresolved_sites,
    }
    return {**plain(report), **held}


def summary_lines(report: Report, counts: Census) -> list[str]:
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
            f"{_few(report.missing_imports)}. What goes through their types stays unresolved."
        )
    if report.problems:
        lines.append(f"{counted(len(report.problems), 'problem')}:")
        for problem in report.problems[:_EXAMPLES]:
            line = f":{problem.line}" if problem.line else ""
            lines.append(f"  {problem.file}{line}: {problem.message}")
        if len(report.problems) > _EXAMPLES:
            lines.append(f"  and {len(report.problems) - _EXAMPLES:,} more")
    return [*lines, *report.messages]


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_EXAMPLES])
    return shown if len(names) <= _EXAMPLES else f"{shown} and {len(names) - _EXAMPLES:,} more"
