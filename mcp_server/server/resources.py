"""What a client can read without calling a tool: an overview of the repository, the card of a file, and the schema."""

from __future__ import annotations

from golore.graph.errors import GoloreError, UsageError
from golore.mcp_server.server.context_reply import context_reply
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.memory_query import graph_schema
from golore.mcp_server.text.replies import DEFAULT_BUDGET
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.resource(
        "golore://overview",
        name="overview",
        title="Overview of the repository",
        description="Packages, the most used code, and whether the graph is up to date.",
        mime_type="text/plain",
    )
    def overview() -> str:
        return _overview(repositories)

    @server.resource(
        "golore://schema",
        name="schema",
        title="Schema of the graph",
        description="Labels and properties, for memory_query.",
        mime_type="text/plain",
    )
    def schema() -> str:
        return graph_schema()

    @server.resource(
        "golore://file/{+path}",
        name="file",
        title="What to know about a file",
        description="Users, interfaces, tests and related files of a Go file, by its path from the repository's root.",
        mime_type="text/plain",
    )
    def file(path: str) -> str:
        return _file(repositories, path)


def _overview(repositories: Repositories) -> str:
    parts: list[str] = []
    for repository, title in zip(repositories.all, repositories.titles, strict=True):
        try:
            with repositories.opened(str(repository.learned.root)) as opened:
                text = context_reply(opened, "", DEFAULT_BUDGET)
        except GoloreError as failure:
            text = str(failure)
        parts.append(text if len(repositories.all) == 1 else f"# {title}\n{text}")
    return "\n\n".join(parts) or repositories.advice


def _file(repositories: Repositories, path: str) -> str:
    """The card in the first repository that has the path. If there are several, the path may begin with a name."""
    failures: list[str] = []
    for repository, title in zip(repositories.all, repositories.titles, strict=True):
        inner = path.removeprefix(f"{title}/") if len(repositories.all) > 1 else path
        try:
            with repositories.opened(str(repository.learned.root)) as opened:
                return context_reply(opened, inner, DEFAULT_BUDGET)
        except UsageError as unknown:
            failures.append(str(unknown))
        except GoloreError as failure:
            raise ResourceError(str(failure)) from failure
    raise ResourceNotFoundError(" ".join(failures) or repositories.advice)
