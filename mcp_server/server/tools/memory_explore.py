"""`memory_explore`: the source that explains something, in one reply."""

from __future__ import annotations

from typing import Annotated, Final

from golore.graph.explore.explore import BUDGET, explore
from golore.graph.queries.symbol_steps import open_steps
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures
from golore.mcp_server.services.search_sources import sources_of
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Call this first to learn how something works: the source of the declarations that explain it, calls among them, who \
enters, tests and notes, in one reply instead of search and reading files."""

Question = Annotated[
    str, Field(min_length=1, description="Words, symbols, file:line, file:first-last, or a stack trace.")
]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_explore",
        title="The source that explains something",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_explore(question: Question, budget: Budget = BUDGET, repository: RepositoryName = "") -> str:
        with (
            reporting_failures(),
            repositories.opened(repository) as opened,
            sources_of(opened.repository, opened.store) as sources,
        ):
            steps = open_steps(opened.store)
            found = explore(sources, opened.names, steps, opened.repository.root, question, budget)
            opened.adjacency_job.consider(opened.store.directory, steps)
            return "\n".join([found.text, *staleness_lines(opened)])
