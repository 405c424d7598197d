"""`memory_search`: finds files, declarations, packages, notes and documents by name or by words."""

from __future__ import annotations

from typing import Annotated, Final

from golore.graph.lake.fleet_search import search_names
from golore.graph.phrases import counted
from golore.graph.search.results.hits import KINDS, LIMIT, Hit, Hits, SearchRequest
from golore.graph.search.search import search
from golore.mcp_server.server.open_repositories import RepositoryAccess
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, Scope, reporting_failures, within
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.text.fleet_text import fleet_search_reply
from golore.mcp_server.text.replies import DEFAULT_BUDGET, Reply, Section, agent_text
from golore.mcp_server.text.search_text import location_of
from mcp.server import MCPServer
from pydantic import Field, WithJsonSchema

_DESCRIPTION: Final = """\
Call this instead of grep to find where something is declared or done: by a name, typos tolerated, or by words."""

Query = Annotated[str, Field(min_length=1, description="A name or words.")]
Kind = Annotated[str, Field(description="Only this kind.", json_schema_extra={"enum": ["", *KINDS]})]
Limit = Annotated[int, within(1, 200), Field(description="Most results.")]
Path = Annotated[str, Field(description="Only below this path or glob.")]
Tests = Annotated[
    bool | None, WithJsonSchema({"type": "boolean"}), Field(description="true: only tests; false: no tests.")
]
Generated = Annotated[bool, Field(description="Also generated files.")]


def register(server: MCPServer, repositories: RepositoryAccess) -> None:
    @server.tool(
        name="memory_search",
        title="Search files and names",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_search(
        query: Query,
        kind: Kind = "",
        limit: Limit = LIMIT,
        path: Path = "",
        tests: Tests = None,
        generated: Generated = False,
        budget: Budget = DEFAULT_BUDGET,
        repository: RepositoryName = "",
        scope: Scope = "",
    ) -> str:
        if scope:
            with reporting_failures(can_learn=repositories.can_learn), repositories.fleet() as fleet:
                found = search_names(fleet, query, kind=kind, limit=limit)
            return agent_text(fleet_search_reply(found), budget)
        request = SearchRequest(query, kind=kind, limit=limit, path=path, tests=tests, generated=generated)
        with (
            reporting_failures(can_learn=repositories.can_learn),
            repositories.opened(repository) as opened,
            sources_of(opened.repository, opened.store, may_update=not opened.published) as sources,
        ):
            return agent_text(_reply(query, search(sources, request), staleness_lines(opened)), budget)


def _reply(query: str, found: Hits, behind: tuple[str, ...]) -> Reply:
    if not found.hits:
        nothing = f"No results for {query!r}. Try a part of the name, or other words."
        return Reply((nothing,), (), behind)
    rows = tuple((_row(hit),) for hit in found.hits)
    more = [f"Did you mean: {', '.join(found.suggestions)}?"] if found.suggestions else []
    if found.left_out:
        more.append(f"{counted(found.left_out, 'weaker result')} not listed; raise `limit` or give a `kind`.")
    return Reply((), (Section(f"{counted(len(found.hits), 'result')} for {query!r}", rows),), (*more, *behind))


def _row(hit: Hit) -> str:
    name = "" if hit.name == hit.file else f" {hit.name}"
    declarations = [f"{symbol.name.rpartition('/')[2]}:{symbol.line}" for symbol in hit.symbols]
    listed = f"  [{', '.join(declarations)}]" if declarations else ""
    return f"{hit.kind}{name}  {location_of(hit)}  {hit.snippet}{listed}"
