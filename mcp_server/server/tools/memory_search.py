"""`memory_search`: finds files, declarations, packages, notes and documents by name or by words."""

from __future__ import annotations

from typing import Annotated, Any, Final

from golore.graph.phrases import counted
from golore.graph.search.search import KINDS, LIMIT, Hit, Hits, SearchRequest, search
from golore.mcp_server.server.open_repositories import Repositories
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.text.replies import DEFAULT_BUDGET, Reply, Section, agent_text
from golore.mcp_server.text.search_text import explained, location_of, result_of
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

_DESCRIPTION: Final = """\
Find where something is in this Go repository. A name (`Save`, `Memory.Save`, `store.Put`) finds what has that name, \
typos tolerated. Words or a sentence find files, by text, names, paths and commit messages, with the declarations that \
match. Prefer this to grep to find where something is declared or done."""

Query = Annotated[str, Field(min_length=1, description="A name, a part of one, words, or a sentence.")]
Kind = Annotated[
    str,
    Field(
        description=f"Only this kind: {', '.join(KINDS)}. With a kind of declaration, a file may occur repeatedly.",
        json_schema_extra={"enum": ["", *KINDS]},
    ),
]
Limit = Annotated[int, Field(ge=1, le=200, description="Maximum number of results.")]
Path = Annotated[str, Field(description="Only below this directory or import path, or matching this glob.")]
Module = Annotated[str, Field(description="Only in the module with this path.")]
Tests = Annotated[bool | None, Field(description="true: only test files; false: no test files.")]
Generated = Annotated[bool, Field(description="Include generated files.")]
Explain = Annotated[bool, Field(description="Show how each score is composed.")]


class SearchPart(BaseModel):
    """A declaration in a file that was found."""

    kind: str
    name: str
    line: int
    snippet: str


class Result(BaseModel):
    kind: str
    name: str
    file: str
    line: int
    score: float
    snippet: str
    symbols: list[SearchPart] = []
    signals: dict[str, float] = {}


class Results(BaseModel):
    """Best first. `behind`: files that changed since they were learned; null if unknown."""

    results: list[Result]
    left_out: int
    suggestions: list[str]
    behind: list[str] | None


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(name="memory_search", title="Search files and names", description=_DESCRIPTION, annotations=READS)
    def memory_search(
        query: Query,
        kind: Kind = "",
        limit: Limit = LIMIT,
        path: Path = "",
        module: Module = "",
        tests: Tests = None,
        generated: Generated = False,
        explain: Explain = False,
        budget: Budget = DEFAULT_BUDGET,
        repository: RepositoryName = "",
    ) -> Annotated[CallToolResult, Results]:
        request = SearchRequest(
            query,
            kind=kind,
            limit=limit,
            path=path,
            module=module,
            tests=tests,
            generated=generated,
            explain=explain,
        )
        with (
            reporting_failures(),
            repositories.opened(repository) as opened,
            sources_of(opened.repository, opened.store) as sources,
        ):
            found = search(sources, request)
            behind = staleness_lines(opened)
            changed = None if opened.changes is None else list(opened.changes.paths)
        hits = _fitting_hits(found.hits, budget)
        document: dict[str, Any] = {
            "results": [result_of(hit) for hit in hits],
            "left_out": found.left_out + len(found.hits) - len(hits),
            "suggestions": list(found.suggestions),
            "behind": changed,
        }
        text = agent_text(_reply(query, found, behind), budget)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)


def _fitting_hits(hits: tuple[Hit, ...], budget: int) -> tuple[Hit, ...]:
    """The hits that fit the budget as objects, which are longer than lines of text."""
    room = budget * 3
    for index, hit in enumerate(hits):
        room -= len(str(result_of(hit)))
        if room < 0:
            return hits[:index]
    return hits


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
    why = f"  ({explained(hit.signals)})" if hit.signals else ""
    return f"{hit.kind}{name}  {location_of(hit)}  {hit.snippet}{listed}{why}"
