"""`memory_upgrade`: a better summary in the place of a draft."""

from __future__ import annotations

from typing import Annotated, Final

from golore.graph.knowledge.summaries import LEVELS
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services.upgrades import accept, publish_summary
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Replace the summary of a file, symbol, package or the repository with a better one: two to four plain sentences on its \
role, what it relies on and guarantees, and what must stay in step with it. Level, subject and digest come from \
memory_drafts; a text is refused where the code has changed since, where it names something that does not exist, or \
where it gives orders. The old text stays in the history."""

Level = Annotated[str, Field(description="As memory_drafts says.", json_schema_extra={"enum": list(LEVELS)})]
Subject = Annotated[str, Field(min_length=1, description="As memory_drafts says.")]
Digest = Annotated[
    str, Field(min_length=1, description="As memory_drafts says: names the code that the text is about.")
]
SummaryText = Annotated[str, Field(min_length=1, max_length=1200, description="Plain sentences about the code.")]
Writer = Annotated[str, Field(max_length=100, description="The name of the model that writes.")]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_upgrade",
        title="Improve a summary",
        description=_DESCRIPTION,
        annotations=WRITES,
        structured_output=False,
    )
    def memory_upgrade(
        level: Level,
        subject: Subject,
        digest: Digest,
        text: SummaryText,
        model: Writer = "",
        repository: RepositoryName = "",
    ) -> str:
        with reporting_failures():
            with repositories.opened(repository) as opened:
                learned = opened.repository
                written = accept(learned, opened.store, level, subject, text, digest, model=model)
            # The store is no longer in use here: what follows may write to it.
            publish_summary(learned, written)
        replaced = "The text before it is in the history." if written.supersedes else "There was none before."
        return f"Kept as reviewed: {subject}. {replaced}"
