"""`memory_status` of a team server: the repositories that the caller may read, and what is known of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from golore.graph.lake.keys import HeadKey, time_of
from golore.graph.phrases import counted
from golore.graph.queries.store_counts import count_store
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, RepositoryName, reporting_failures
from golore.mcp_server.server.tools.memory_status import counts_lines
from golore.mcp_server.team.caller import current_caller
from golore.mcp_server.team.lake_repositories import LakeRepositories
from golore.mcp_server.text.ages import age
from mcp.server import MCPServer

_DESCRIPTION: Final = """\
The repositories of this server that you may ask about, with the published commit of each; or of one, what is known."""
_MOST: Final = 500


def register(server: MCPServer, repositories: LakeRepositories) -> None:
    @server.tool(
        name="memory_status",
        title="Repositories of this server",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_status(repository: RepositoryName = "") -> str:
        with reporting_failures(can_learn=False):
            if repository:
                with repositories.opened(repository) as opened:
                    return "\n".join([*counts_lines(count_store(opened.store)), *staleness_lines(opened)])
            return "\n".join(_lines(repositories))


def _lines(repositories: LakeRepositories) -> list[str]:
    newest = {name: keys[-1] for name, keys in repositories.publications().items()}
    notes = "read, and write notes" if current_caller().grant.may_write else "read"
    lines = [f"{counted(len(newest), 'repository')} that you may {notes}"]
    lines += [f"  {name} at {key.commit[:12]}, published {_age(key)}" for name, key in list(newest.items())[:_MOST]]
    if len(newest) > _MOST:
        lines.append(f"  … {len(newest) - _MOST:,} more")
    if repositories.failure:
        lines.append("The lake cannot be reached at the moment; answers come from what was fetched before.")
    return lines


def _age(key: HeadKey) -> str:
    return age(int((datetime.now(UTC) - time_of(key.stamp)).total_seconds()))
