"""`memory_context`: facts to know before working on a file, a package or a symbol."""

from __future__ import annotations

from typing import Annotated, Final

from golore.mcp_server.server.context_reply import context_reply
from golore.mcp_server.server.open_repositories import RepositoryAccess
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures
from golore.mcp_server.services.knowledge.ratings import record_shown
from golore.mcp_server.text.replies import DEFAULT_BUDGET
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Call this before you change a Go file, package or symbol: its users, implementations, tests, the files that change \
with it, and notes. None of that is in its own text."""

Target = Annotated[
    str, Field(description="File (store/store.go), package (store/) or symbol (Memory.Save). Empty: the repository.")
]


def register(server: MCPServer, repositories: RepositoryAccess) -> None:
    @server.tool(
        name="memory_context",
        title="Facts about a file, package or symbol",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_context(target: Target = "", budget: Budget = DEFAULT_BUDGET, repository: RepositoryName = "") -> str:
        with (
            reporting_failures(can_learn=repositories.can_learn),
            repositories.opened(repository or repositories.root_containing(target)) as opened,
        ):
            text = context_reply(opened, target, budget)
            if not opened.published:
                record_shown(opened.repository.store, target, len(text))
            return text
