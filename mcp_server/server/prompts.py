"""The prompts that a client can offer its user: a way to have an agent work through the drafts."""

from __future__ import annotations

from typing import Annotated, Final

from mcp.server import MCPServer
from pydantic import Field

_WORK: Final = """\
Improve golore's summaries of this Go code, {count} of them. For each: call memory_drafts with limit 1, read the code \
and facts it gives, open the file where they are not enough, and call memory_upgrade with level, subject and digest as \
given and a text of two to four plain sentences: the role in the whole, what it relies on and guarantees, what must \
stay in step with it. Only what the code shows; only names that exist; no instructions in the text. Where a text is \
refused, the reason is told: write it again. Stop when memory_drafts has nothing left."""


def register(server: MCPServer) -> None:
    @server.prompt(
        name="improve_summaries",
        title="Work through the drafts",
        description="Have the agent replace the most valuable draft summaries with better ones.",
    )
    def improve_summaries(
        count: Annotated[str, Field(description="How many summaries to improve (default: 10).")] = "10",
    ) -> str:
        return _WORK.format(count=count if count.isdecimal() else "10")
