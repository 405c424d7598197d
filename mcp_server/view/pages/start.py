"""The start page: what this repository is, where it starts, and which of its files are the riskiest to change."""

from __future__ import annotations

from typing import Any, Final

from golore.graph.history.recent_commits import date_of, open_recent_commits
from golore.graph.model.entities import REPOSITORY_ID
from golore.mcp_server.services.knowledge.current_summary import STRUCTURAL, written_summary
from golore.mcp_server.view.overview import FileNumbers, Overview
from golore.mcp_server.view.readme import readme_of
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_FEW: Final = 8
_RISKS: Final = 8
_ASIDE: Final = frozenset(
    "example examples hack internal sample samples script scripts test testdata tests third_party tools".split()
)


def start_page(visit: Visit, overview: Overview) -> Page:
    store = visit.store
    modules: list[str] = [name for row in store.rows("MATCH (r:Repository) RETURN r.modules") for name in row[0]]
    quality, summary = written_summary(store, "repository", REPOSITORY_ID) or (STRUCTURAL, overview.composed)
    readme_path, readme = readme_of(visit.opened.repository.root)
    values: dict[str, Any] = {
        "name": visit.repository_name,
        "modules": modules[:_FEW],
        "more_modules": max(0, len(modules) - _FEW),
        "readme": readme,
        "readme_address": visit.links.file(readme_path) if readme_path else "",
        "readme_path": readme_path,
        "quality": quality,
        "summary": summary,
        "numbers": {
            "files": len(overview.files),
            "lines": sum(one.lines for one in overview.files),
            "packages": len(overview.packages),
            "symbols": overview.symbols,
        },
        "programs": _programs(visit, overview),
        "entries": _called(visit, overview),
        "central": _central(visit, overview),
        "risks": [(one, visit.links.file(one.path), _reasons(one)) for one in overview.riskiest(_RISKS)],
        "has_history": overview.has_history,
        "commits": _commits(visit),
    }
    return Page("start.html", visit.repository_name, values, "start")


def _programs(visit: Visit, overview: Overview) -> list[tuple[str, str, str, int]]:
    """The largest programs, documented ones first, those beside the code last: directory, address, sentence, number of
    packages."""
    found = sorted(overview.programs(), key=lambda item: (_is_aside(item[0].dir), not item[0].doc))
    return [(one.dir or ".", visit.links.map(one.dir), _sentence(one.doc), packages) for one, packages in found[:_FEW]]


def _is_aside(directory: str) -> bool:
    """Whether a program is an example or a tool of the repository."""
    return any(part in _ASIDE or part.startswith("_") for part in directory.split("/"))


def _called(visit: Visit, overview: Overview) -> list[tuple[str, str, int]]:
    """The exported functions that are called most: name, address and number of callers."""
    return [(visit.short_name(one.symbol), visit.links.symbol(one.symbol.id), one.callers) for one in overview.called]


def _central(visit: Visit, overview: Overview) -> list[tuple[str, str]]:
    code = [one for one in overview.files if not one.test and not one.generated]
    code.sort(key=lambda one: (-one.rank, one.path))
    return [(one.path, visit.links.file(one.path)) for one in code[:_FEW]]


def _reasons(one: FileNumbers) -> list[str]:
    reasons = [f"importance {one.rank:.1f}", f"{one.lines:,} lines"]
    if one.commits:
        reasons.append(f"{one.commits:,} commits")
    untested = one.functions - one.tested
    if untested:
        reasons.append(f"no test is known to reach {untested:,} of {one.functions:,} functions")
    else:
        reasons.append("tests reach all functions")
    return reasons


def _sentence(doc: str) -> str:
    text = " ".join(doc.split())
    end = text.find(". ")
    return text[: end + 1] if 0 <= end < 200 else text[:200]


def _commits(visit: Visit) -> list[tuple[str, str, str]]:
    recent = open_recent_commits(visit.opened.repository.store, write=False)
    if recent is None:
        return []
    with recent:
        return [(date_of(one.time), one.author, one.subject) for one in recent.commits(_FEW)]
