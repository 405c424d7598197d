"""Import and directory cycles as text."""

from __future__ import annotations

from typing import Final

from golore.graph.analysis.cycles import HERE, Cycles, DirectoryCut, DirectoryCycle, ImportCycle, ImportReason
from golore.graph.phrases import counted, joined, listed
from golore.graph.queries.names.short_names import Naming
from golore.mcp_server.text.replies import Reply, Section

_USES: Final = 3
_NAMED: Final = 8


def cycles_reply(cycles: Cycles, naming: Naming) -> Reply:
    imports, directories = len(cycles.imports), len(cycles.directories)
    found = [
        counted(number, noun) if number else f"no {noun}"
        for number, noun in ((imports, "import cycle"), (directories, "directory cycle"))
    ]
    head = f"{joined(found).capitalize()} in {counted(cycles.packages, 'package')}."
    sections = [_import_section(cycle) for cycle in cycles.imports]
    sections += [_directory_section(cycle, naming) for cycle in cycles.directories]
    return Reply((head,), tuple(sections))


def _import_section(cycle: ImportCycle) -> Section:
    where = ", closed by the tests of one" if cycle.in_test else ""
    title = f"import cycle of {counted(len(cycle.packages), 'package')}{where}: {listed(cycle.packages, _NAMED)}"
    rows = [(f"{one.file}:{one.line}", f"{one.source} imports {one.target}", one.constraint) for one in cycle.steps]
    return Section(title, tuple(rows))


def _directory_section(cycle: DirectoryCycle, naming: Naming) -> Section:
    parent = cycle.parent or "the root"
    directories = listed([_shown(directory) for directory in cycle.directories], _NAMED)
    removed = sum(cut.imports for cut in cycle.cuts)
    fewest = "" if cycle.exact else ", perhaps fewer"
    title = (
        f"directories below {parent} depend on each other by {counted(cycle.imports, 'import')}: {directories}; "
        f"without these {removed:,}{fewest}, they do not"
    )
    return Section(title, tuple(row for cut in cycle.cuts for row in _cut_rows(cut, naming)))


def _cut_rows(cut: DirectoryCut, naming: Naming) -> list[tuple[str, ...]]:
    arc = f"{_shown(cut.source)} → {_shown(cut.target)}"
    rows = [(arc, f"{one.file}:{one.line}", one.package, _reason(one, naming)) for one in cut.reasons]
    left = cut.imports - len(cut.reasons)
    return [*rows, (arc, f"and {counted(left, 'import')} more", "", "")] if left else rows


def _reason(reason: ImportReason, naming: Naming) -> str:
    counts: dict[str, int] = {}
    for use in reason.uses:
        counts[use.symbol] = counts.get(use.symbol, 0) + max(1, len(use.sites))
    used = [
        f"{naming(symbol)} ({count})" for symbol, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]
    return f"for {listed(used, _USES)}" if used else "for no use that is known"


def _shown(directory: str) -> str:
    return directory if directory == HERE else f"{directory}/"
