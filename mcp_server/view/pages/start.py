"""The start page: what this repository is, where it starts, and which of its files are the riskiest to change."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from golore.graph.history.recent_commits import date_of, open_recent_commits
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.phrases import counted
from golore.mcp_server.services.knowledge.current_summary import STRUCTURAL, written_summary
from golore.mcp_server.view.file_facts import NOT_USED, reasons, used_from
from golore.mcp_server.view.overview import Overview
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
            "test_packages": overview.test_packages,
            "symbols": overview.symbols,
        },
        "programs": _programs(visit, overview),
        "entries": _called(visit, overview),
        **_careful(visit, overview),
        "unresolved": overview.unresolved,
        "missing": overview.missing,
        "has_history": overview.has_history,
        "commits": _commits(visit),
    }
    return Page("start.html", visit.repository_name, values, "start")


class _Program(NamedTuple):
    """`main` is the address of its function `main`, declared at `place`; `packages` is the number of its packages."""

    directory: str
    address: str
    main: str
    place: str
    place_address: str
    sentence: str
    packages: int


def _programs(visit: Visit, overview: Overview) -> list[_Program]:
    """The largest programs, documented ones first, those beside the code last."""
    links = visit.links
    programs: list[_Program] = []
    found = sorted(overview.programs(), key=lambda item: (_is_aside(item[0].dir), not item[0].doc))
    for one, packages in found[:_FEW]:
        main = overview.mains.get(one.id)
        address, place, place_address = "", "", ""
        if main is not None:
            address, place = links.symbol(main.id), f"{main.file}:{main.line}"
            place_address = links.file(main.file, main.line)
        directory = one.dir or "."
        programs.append(
            _Program(directory, links.map(one.dir), address, place, place_address, _sentence(one.doc), packages)
        )
    return programs


def _is_aside(directory: str) -> bool:
    """Whether a program is an example or a tool of the repository."""
    return any(part in _ASIDE or part.startswith("_") for part in directory.split("/"))


def _called(visit: Visit, overview: Overview) -> list[tuple[str, str, int]]:
    """The exported functions that are called most: name, address and number of callers."""
    return [(visit.short_name(one.symbol), visit.links.symbol(one.symbol.id), one.callers) for one in overview.called]


def _careful(visit: Visit, overview: Overview) -> dict[str, Any]:
    """The riskiest files, with the reasons, and the most important ones, with their importance."""
    risky = overview.riskiest(_RISKS)
    code = [one for one in overview.files if not one.test and not one.generated]
    code.sort(key=lambda one: (-one.rank, one.path))
    used = used_from(visit.store, [one.path for one in risky])
    return {
        "risks": [
            (
                one.path,
                visit.links.file(one.path),
                [
                    *reasons(used.get(one.path, NOT_USED), one.commits, one.functions, one.tested),
                    counted(one.lines, "line"),
                ],
            )
            for one in risky
        ],
        "central": [(one.path, visit.links.file(one.path), f"{one.rank:.1f}") for one in code[:_FEW]],
    }


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
