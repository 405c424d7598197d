"""`memory_upgrade`: replaces a draft summary with a better one."""

from __future__ import annotations

from typing import Annotated, Final

from golore.graph.knowledge.summaries import LEVELS
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.tools.common import WRITES, RepositoryName, reporting_failures
from golore.mcp_server.services.knowledge.upgrades import accept_summary, publish_summary
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Replace a draft of memory_drafts by two to four plain sentences: its role, what it relies on, what must stay in step. \
Refused if the code has changed since, or if it names what does not exist or gives orders."""

Level = Annotated[str, Field(description="As drafted.", json_schema_extra={"enum": list(LEVELS)})]
Subject = Annotated[str, Field(min_length=1, description="As drafted.")]
Digest = Annotated[str, Field(min_length=1, description="As drafted.")]
SummaryText = Annotated[str, Field(min_length=1, max_length=1200, description="The better text.")]
Writer = Annotated[str, Field(max_length=100, description="Your name.")]


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
                written = accept_summary(learned, opened.store, level, subject, text, digest, model=model)
            # Only after the store is free: this writes to it.
            publish_summary(learned, written)
        replaced = "The previous text is in the history." if written.supersedes else "There was no text before."
        return f"Stored as reviewed: {subject}. {replaced}"
