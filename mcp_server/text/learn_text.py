"""The text that is printed after a learn."""

from __future__ import annotations

from typing import Final

from golore.graph.phrases import counted, listed
from golore.graph.queries.answers import StoreCounts
from golore.learner import compiled
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.text.output import styled

_EXAMPLES: Final = 5
_LONG: Final = 2.0
"""Seconds from which a learn says what took them."""
_SLOW: Final = 10.0
"""Seconds from which a learn says how it could be faster."""
HOW_TO_COMPILE: Final = "Install a C compiler and Python's headers, and install golore again without GOLORE_PURE."


def summary_lines(report: Report, counts: StoreCounts) -> list[str]:
    totals = ", ".join(
        (
            counted(report.packages, "package"),
            counted(report.files, "file"),
            counted(sum(counts.symbols.values()), "symbol"),
            counted(counts.edges["CALLS"], "call"),
        )
    )
    done = f"{counted(report.files_parsed, 'file')} parsed, {counted(report.rows_written, 'row')} written"
    if not report.rows_written:
        done = "nothing has changed since the last learn"
    parts = f": {', '.join(_parts(report))}" if report.seconds >= _LONG else ""
    lines = [styled(f"Learned {totals} in {report.seconds:.1f} s", "bold") + f"{parts} ({done})."]
    if counts.unresolved:
        lines.append(f"{counted(counts.unresolved_sites, 'use')} could not be resolved.")
    if report.missing_imports:
        lines.append(
            f"The source of {counted(len(report.missing_imports), 'imported package')} is not available: "
            f"{listed(report.missing_imports, _EXAMPLES)}. Uses that depend on their types stay unresolved."
        )
    if report.problems:
        lines.append(f"{counted(len(report.problems), 'problem')}:")
        for problem in report.problems[:_EXAMPLES]:
            line = f":{problem.line}" if problem.line else ""
            lines.append(f"  {problem.file}{line}: {problem.message}")
        if len(report.problems) > _EXAMPLES:
            lines.append(f"  and {len(report.problems) - _EXAMPLES:,} more")
    if report.seconds >= _SLOW and not compiled():
        lines.append(f"Learning is slower than it could be: the hot modules are not compiled. {HOW_TO_COMPILE}")
    return [*lines, *report.messages]


def _parts(report: Report) -> list[str]:
    """What took a tenth of a second or more, as in `reading 1.2 s`; the rest is the start of golore."""
    rest = report.seconds - sum(seconds for _, seconds in report.parts)
    parts = (("start", rest), *report.parts)
    return [f"{name.lower()} {seconds:.1f} s" for name, seconds in parts if seconds >= 0.05]
