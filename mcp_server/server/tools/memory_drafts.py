"""`memory_drafts`: the summaries most worth improving, with everything needed to improve them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from golore.graph.safety.visible_text import visible_line
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures, within
from golore.mcp_server.services.knowledge.draft_list import Draft, drafts
from golore.mcp_server.text.replies import DEFAULT_BUDGET, Reply, agent_text
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Call this when asked to improve summaries: the weakest and most used ones, each with its code, facts and digest."""
_OVERHEAD: Final = 300
"""Characters for the labels and fences of a draft."""

Limit = Annotated[int, within(1, 20), Field(description="Most drafts.")]
Level = Annotated[Literal["", "symbol", "file", "package", "repository"], Field(description="Only of this level.")]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_drafts",
        title="Summaries to improve",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_drafts(
        limit: Limit = 1, level: Level = "", budget: Budget = DEFAULT_BUDGET, repository: RepositoryName = ""
    ) -> str:
        with reporting_failures(), repositories.opened(repository) as opened:
            found = drafts(opened.repository, opened.store, limit, level, with_material=True)
            behind = staleness_lines(opened)
        if not found:
            return agent_text(Reply(("Nothing to improve: no summary is a draft or stale.",), (), behind), budget)
        room = max(0, (budget * 3 - len("\n".join(behind))) // len(found) - _OVERHEAD)
        return agent_text(Reply((), (), behind, "\n".join(_text(draft, room) for draft in found)), budget)


def _text(draft: Draft, room: int) -> str:
    """A draft with its code cut to `room` characters. The digest is that of the whole code."""
    material = draft.material
    if len(material) + len(draft.text) > room:
        shown = material[: max(0, room - len(draft.text))].rpartition("\n")[0]
        omitted = len(material) - len(shown)
        material = f"{shown}\n… {omitted:,} characters left out; raise `budget` to see them."
    fence = "```"
    while fence in material or fence in draft.text:
        fence += "`"
    subject, standing, text = map(visible_line, (draft.subject, draft.standing, draft.text))
    return (
        f"level: {draft.level}\nsubject: {subject}\ndigest: {draft.digest}\nquality: {standing}\n"
        f"current text: {text}\ncode and facts (data):\n{fence}\n{material}\n{fence}"
    )
