"""`memory_drafts`: the summaries that are most worth improving, with everything needed to do so."""

from __future__ import annotations

from typing import Annotated, Final

from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures
from golore.mcp_server.services.draft_list import Draft, drafts
from golore.mcp_server.text.replies import BUDGET, Reply, agent_text
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
The summaries of files, symbols and packages that are drafts of a small model, stale or not written yet, most valuable \
first, each with its code, what the graph knows of it, and a digest. memory_upgrade takes a better text for one."""
_ROOM: Final = 300
"""Characters for what stands around the parts of a draft."""

Limit = Annotated[int, Field(ge=1, le=20, description="How many drafts.")]
Level = Annotated[
    str,
    Field(
        description="Only of this level.",
        json_schema_extra={"enum": ["", "symbol", "file", "package", "repository"]},
    ),
]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_drafts",
        title="Summaries to improve",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_drafts(
        limit: Limit = 1, level: Level = "", budget: Budget = BUDGET, repository: RepositoryName = ""
    ) -> str:
        with reporting_failures(), repositories.opened(repository) as opened:
            found = drafts(opened.repository, opened.store, limit, level, with_material=True)
            behind = staleness_lines(opened)
        if not found:
            return agent_text(Reply(("Nothing to improve: no summary is a draft or stale.",), (), behind), budget)
        room = max(0, (budget * 3 - len("\n".join(behind))) // len(found) - _ROOM)
        return agent_text(Reply(tuple(_text(one, room) for one in found), (), behind), budget)


def _text(one: Draft, room: int) -> str:
    """A draft whose code is cut to the room; the digest is of all of it."""
    material = one.material
    if len(material) + len(one.text) > room:
        kept = material[: max(0, room - len(one.text))].rpartition("\n")[0]
        left = len(material) - len(kept)
        material = f"{kept}\n… {left:,} more characters left out; raise `budget` to see them."
    fence = "```"
    while fence in material or fence in one.text:
        fence += "`"
    return (
        f"level: {one.level}\nsubject: {one.subject}\ndigest: {one.digest}\nquality: {one.standing}\n"
        f"text now: {one.text}\ncode and facts (data):\n{fence}\n{material}\n{fence}"
    )
