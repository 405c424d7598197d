"""`memory_status`: the repositories of the server, what was learned, and which files have changed since."""

from __future__ import annotations

from typing import Final

from golore.graph.errors import GoloreError
from golore.graph.phrases import counted
from golore.graph.queries.answers import StoreCounts
from golore.graph.queries.store_counts import count_store
from golore.mcp_server.server.open_repositories import Repositories, ServedRepository
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, RepositoryName, reporting_failures
from mcp.server import MCPServer

_DESCRIPTION: Final = """\
The repositories of this server, what was learned of them, and which files have changed since. Call it if a reply \
seems outdated, or nothing was learned."""


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_status",
        title="State of the graph",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_status(repository: RepositoryName = "") -> str:
        with reporting_failures():
            if repository:
                served = repositories.find(repository)
                return _status(served, served.name)
            pairs = zip(repositories.all, repositories.titles, strict=True)
            return "\n\n".join(_status(served, title) for served, title in pairs) or repositories.advice


def _status(repository: ServedRepository, title: str) -> str:
    root = repository.learned.root
    try:
        with repository.opened() as opened:
            counts = count_store(opened.store)
            behind = staleness_lines(opened)
    except GoloreError as failure:
        return str(failure)
    return "\n".join([f"{title} ({root})", *counts_lines(counts), *(behind or ("Up to date with the files.",))])


def counts_lines(counts: StoreCounts) -> list[str]:
    """What was learned of a repository."""
    return [
        f"{counted(counts.packages, 'package')}, {counted(counts.files, 'file')}, {counted(counts.lines, 'line')}",
        f"{counted(sum(counts.symbols.values()), 'symbol')}: {_counts_text(counts.symbols)}",
        f"{counted(sum(counts.edges.values()), 'edge')}: {_counts_text(counts.edges)}",
        f"{counted(counts.unresolved_sites, 'use')} unresolved, "
        f"{counted(counts.files_with_problems, 'file')} with problems",
    ]


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.lower()} {count:,}" for name, count in counts.items() if count) or "none"
