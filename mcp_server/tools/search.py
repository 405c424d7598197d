"""`memory_search`: find symbols, packages and files by their names and by words of their documentation."""

from __future__ import annotations

from typing import Annotated, Any, Final

from golore.graph.search import KINDS, LIMIT, Hit, search
from golore.mcp_server.output import counted, plain
from golore.mcp_server.replies import BUDGET, Reply, Section, fitted, standing
from golore.mcp_server.repositories import Repositories
from golore.mcp_server.tools.parameters import READS, Budget, RepositoryName, failures_told
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

_DESCRIPTION: Final = """\
Find Go symbols, packages and files by name: exact names first, then beginnings, then parts, then doc comments that \
have all the words. Words are compared as written, in any capitals; synonyms and meaning are not looked for. Prefer \
this over grep to find where something is declared."""

Query = Annotated[str, Field(min_length=1, description="A name, a part of one, or a few words.")]
Kind = Annotated[
    str, Field(description=f"Only this kind: {', '.join(KINDS)}.", json_schema_extra={"enum": ["", *KINDS]})
]
Limit = Annotated[int, Field(ge=1, le=200, description="At most so many results.")]


class Result(BaseModel):
    kind: str
    name: str
    file: str
    line: int
    score: float
    snippet: str


class Results(BaseModel):
    """Best first. `behind` are files that changed since they were learned; null where that cannot be told."""

    results: list[Result]
    left_out: int
    behind: list[str] | None


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_search",
        title="Search names and documentation",
        description=_DESCRIPTION,
        annotations=READS,
    )
    def memory_search(
        query: Query, kind: Kind = "", limit: Limit = LIMIT, budget: Budget = BUDGET, repository: RepositoryName = ""
    ) -> Annotated[CallToolResult, Results]:
        with failures_told(), repositories.opened(repository) as asked:
            found = search(asked.store, asked.names, query, kind=kind, limit=limit)
            behind = standing(asked)
            changed = None if asked.changes is None else list(asked.changes.paths)
        hits = _within(found.hits, budget)
        left_out = found.left_out + len(found.hits) - len(hits)
        document: dict[str, Any] = {"results": plain(hits), "left_out": left_out, "behind": changed}
        text = fitted(_reply(query, found.hits, found.left_out, behind), budget)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)


def _within(hits: tuple[Hit, ...], budget: int) -> tuple[Hit, ...]:
    """Those that fit as objects, which take more room than the lines of the text."""
    room = budget * 3
    for at, hit in enumerate(hits):
        room -= len(str(plain(hit)))
        if room < 0:
            return hits[:at]
    return hits


def _reply(query: str, hits: tuple[Hit, ...], left_out: int, behind: tuple[str, ...]) -> Reply:
    if not hits:
        nothing = f"Nothing is named or documented with {query!r}. Try a part of the name, or fewer words."
        return Reply((nothing,), (), behind)
    rows = tuple(f"{hit.kind} {hit.name}  {_place(hit)}  {hit.snippet}" for hit in hits)
    more = (f"{counted(left_out, 'weaker result')} not listed; raise `limit` or name a `kind`.",) if left_out else ()
    return Reply((), (Section(f"{counted(len(hits), 'result')} for {query!r}:", rows),), (*more, *behind))


def _place(hit: Hit) -> str:
    return f"{hit.file}:{hit.line}" if hit.line else hit.file
