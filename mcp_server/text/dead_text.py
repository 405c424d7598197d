"""Dead code as text."""

from __future__ import annotations

from typing import Final

from golore.graph.analysis.dead_code import DeadCode, DeadDeclaration, Roots
from golore.graph.analysis.hidden_uses import ASSEMBLY, CGO, LINKNAME
from golore.graph.analysis.reachability import REFLECTION, UNRESOLVED
from golore.graph.phrases import counted, joined, listed
from golore.mcp_server.text.replies import Reply, Section

_NAMED: Final = 5
_MEANS: Final = {
    REFLECTION: "reflection",
    LINKNAME: "//go:linkname",
    CGO: "C code",
    ASSEMBLY: "assembly",
    UNRESOLVED: "code that could not be resolved",
}


def dead_reply(found: DeadCode) -> Reply:
    dead, uncertain = len(found.dead), len(found.uncertain)
    head = [
        f"{dead:,} of {counted(found.judged, 'declaration')} {'is' if dead == 1 else 'are'} dead: "
        f"nothing reaches {'it' if dead == 1 else 'them'} from {_roots(found.roots)}."
    ]
    if uncertain:
        head.append(f"{uncertain:,} more {'is' if uncertain == 1 else 'are'} reached by uncertain means only.")
    sections = [Section("dead", tuple(_row(one) for one in found.dead))] if dead else []
    for reason, means in _MEANS.items():
        rows = tuple(_row(one) for one in found.uncertain if one.reason == reason)
        if rows:
            sections.append(Section(f"dead unless used by {means}", rows))
    return Reply(tuple(head), tuple(sections), _unlinked(found))


def _roots(roots: Roots) -> str:
    parts = [f"main and init of {counted(len(roots.programs), 'program')}"] if roots.programs else []
    if roots.tests:
        parts.append(counted(roots.tests, "test"))
    if roots.exported:
        parts.append("the exported API")
    if roots.elsewhere:
        parts.append(f"{counted(roots.elsewhere, 'declaration')} that other repositories use")
    return joined(parts) or "any root"


def _row(one: DeadDeclaration) -> tuple[str, ...]:
    needed = f"needed to satisfy {listed(one.satisfies, 2)}" if one.satisfies else ""
    return (f"{one.file}:{one.line}", one.kind, one.qualified_name, needed)


def _unlinked(found: DeadCode) -> tuple[str, ...]:
    if not found.unlinked:
        return ()
    packages = f"{counted(len(found.unlinked), 'package')}: {listed(found.unlinked, _NAMED)}"
    more = [
        flag for flag, is_set in (("--tests", found.roots.tests), ("--exported", found.roots.exported)) if not is_set
    ]
    hint = f" (see {' and '.join(more)})" if more else ""
    return (f"Not judged, because nothing that was started from imports them{hint}: {packages}.",)
