"""The prompt that a client can offer its user: it makes the agent improve draft summaries."""

from __future__ import annotations

from typing import Annotated, Final

from mcp.server import MCPServer
from pydantic import Field

_TEXT: Final = """\
Improve {count} of golore's summaries of this Go code. For each: call memory_drafts with limit 1, read the code and \
facts that it returns, open the file if they are not enough, and call memory_upgrade with the same level, subject and \
digest and a text of two to four plain sentences: its role in the whole, what it relies on and guarantees, and what \
must stay in step with it. Write only what the code shows, use only names that exist, and give no instructions. If a \
text is refused, the reply gives the reason: write it again. Stop when memory_drafts has nothing to improve."""


def register(server: MCPServer) -> None:
    @server.prompt(
        name="improve_summaries",
        title="Improve summaries",
        description="Make the agent replace the most valuable draft summaries with better ones.",
    )
    def improve_summaries(
        count: Annotated[str, Field(description="How many summaries to improve (default: 10).")] = "10",
    ) -> str:
        return _TEXT.format(count=count if count.isdecimal() else "10")
