"""Diagrams of what a change affects and of cycles, and printing diagrams as Mermaid or DOT."""

from __future__ import annotations

from golore.graph.analysis.cycles import Cycles
from golore.graph.changes.affected import Affected
from golore.graph.diagrams.diagram import Diagram
from golore.graph.diagrams.dot import dot_lines
from golore.graph.diagrams.mermaid import mermaid_lines
from golore.graph.queries.answer_diagrams import Drawing
from golore.mcp_server.text.output import print_lines


def print_diagram(diagram: Diagram, format: str) -> None:
    """`format` is `mermaid` or `dot`."""
    print_lines((mermaid_lines if format == "mermaid" else dot_lines)(diagram))


def affected_diagram(found: Affected, limit: int | None = None) -> Diagram:
    """The changed declarations and what uses them; tests only if they changed. `limit`: most users."""
    drawing = Drawing(symbol for one in found.changed for symbol in one.symbols)
    users = (*found.resolved, *found.candidates)
    for one in users[:limit]:
        source = drawing.box(one.symbol)
        drawing.arrow(source, drawing.named(one.through), one.how, is_dashed=not one.certain)
    left = len(users) - len(users[:limit])
    return drawing.finished(f"{left:,} more users are not drawn" if left else "")


def cycles_diagram(cycles: Cycles) -> Diagram:
    """A shortest cycle of imports for each group of packages; of directories, the imports to remove, dashed."""
    drawing = Drawing()
    for cycle in cycles.imports:
        for step in cycle.steps:
            label = f"{step.file}:{step.line}"
            drawing.arrow(drawing.named(step.source), drawing.named(step.target), label, is_dashed=False)
    for group in cycles.directories:
        for directory in group.directories:
            drawing.named(directory)
        for cut in group.cuts:
            label = f"remove {cut.imports:,}"
            drawing.arrow(drawing.named(cut.source), drawing.named(cut.target), label, is_dashed=True)
    return drawing.finished()
