"""`memory_status`: the repositories of the server, what was learned, and which files have changed since."""

from __future__ import annotations

from typing import Annotated, Any, Final

from golore.graph.errors import GoloreError, StoreMissing
from golore.graph.phrases import counted
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.questions import count_store
from golore.mcp_server.server.open_repositories import Repositories, ServedRepository
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, RepositoryName, reporting_failures
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

_DESCRIPTION: Final = """\
The repositories of this server, the size of their graphs, the number of unresolved uses, and the files that changed \
since they were learned. Call it first if an answer seems outdated or a repository may not have been learned yet."""
_MAX_LISTED: Final = 50


class RepositoryStatus(BaseModel):
    """`behind`: files that changed since they were learned; null if unknown."""

    name: str
    root: str
    is_learned: bool
    is_being_learned: bool = False
    packages: int = 0
    files: int = 0
    lines: int = 0
    symbols: dict[str, int] = {}
    edges: dict[str, int] = {}
    unresolved_uses: int = 0
    files_with_problems: int = 0
    behind: list[str] | None = None
    behind_count: int = 0
    message: str = ""


class Statuses(BaseModel):
    repositories: list[RepositoryStatus]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(name="memory_status", title="State of the graph", description=_DESCRIPTION, annotations=READS)
    def memory_status(repository: RepositoryName = "") -> Annotated[CallToolResult, Statuses]:
        with reporting_failures():
            wanted = (repositories.find(repository),) if repository else repositories.all
            titles = dict(zip(repositories.all, repositories.titles, strict=True))
            statuses = [_status(served, titles[served]) for served in wanted]
        document: dict[str, Any] = {"repositories": [status.model_dump() for status, _ in statuses]}
        text = "\n\n".join(text for _, text in statuses)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)


def _status(repository: ServedRepository, title: str) -> tuple[RepositoryStatus, str]:
    root = repository.learned.root
    try:
        with repository.opened() as opened:
            counts = count_store(opened.store)
            changes, lines = opened.changes, staleness_lines(opened)
            is_being_learned = opened.is_being_learned
    except GoloreError as failure:
        is_learned = not isinstance(failure, StoreMissing)
        return RepositoryStatus(name=title, root=str(root), is_learned=is_learned, message=str(failure)), str(failure)
    behind = None if changes is None else list(changes.paths)
    status = RepositoryStatus(
        name=title,
        root=str(root),
        is_learned=True,
        is_being_learned=is_being_learned,
        packages=counts.packages,
        files=counts.files,
        lines=counts.lines,
        symbols=counts.symbols,
        edges=counts.edges,
        unresolved_uses=counts.unresolved_sites,
        files_with_problems=counts.files_with_problems,
        behind=None if behind is None else behind[:_MAX_LISTED],
        behind_count=len(behind or ()),
        message="\n".join(lines),
    )
    return status, "\n".join([*_lines(title, str(root), counts), *(lines or ("Up to date with the files.",))])


def _lines(title: str, root: str, counts: StoreCounts) -> list[str]:
    return [
        f"{title} ({root})",
        f"{counted(counts.packages, 'package')}, {counted(counts.files, 'file')}, {counted(counts.lines, 'line')}",
        f"{counted(sum(counts.symbols.values()), 'symbol')}: {_counts_text(counts.symbols)}",
        f"{counted(sum(counts.edges.values()), 'edge')}: {_counts_text(counts.edges)}",
        f"{counted(counts.unresolved_sites, 'use')} unresolved, "
        f"{counted(counts.files_with_problems, 'file')} with problems",
    ]


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.lower()} {count:,}" for name, count in counts.items() if count) or "none"
