"""`memory_graph`: callers, callees, implementers, users, tests, impact, and the path from one function to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.queries import impact, questions
from golore.graph.queries.answers import Answer, Meaning
from golore.graph.queries.symbol_steps import Steps, open_steps
from golore.mcp_server.server.open_repositories import OpenServedRepository, Repositories
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, reporting_failures
from golore.mcp_server.services.targets import only_meaning
from golore.mcp_server.text.replies import (
    DEFAULT_BUDGET,
    Reply,
    agent_text,
    answer_reply,
    impact_reply,
    route_reply,
    short_name,
)
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Who calls, uses, implements or tests a Go symbol, what it calls, what a change may affect, and how one function comes \
to call another. Resolved by Go's own rules, with file and line. Answers have three values: resolved edges, candidates \
(possible through an interface), and unresolved uses of the name. "No callers are known" without unresolved uses means \
that the repository has none, except through reflection or function values."""
_MAX_REACHED: Final = 200
_MAX_STEPS: Final = 1_000
_MAX_UNRESOLVED: Final = 10
_IMPLEMENTING: Final = questions.TYPES | {"imethod"}
_DIRECT_QUESTIONS: Final[dict[str, tuple[Callable[[Store, Meaning], Answer], frozenset[str]]]] = {
    "callers": (questions.callers, questions.CALLABLE),
    "callees": (questions.callees, questions.CALLING),
    "implementers": (questions.implementers, questions.TYPES),
    "users": (questions.users, frozenset()),
    "tests": (questions.tests, frozenset()),
}

Question = Annotated[
    Literal["callers", "callees", "implementers", "users", "tests", "impact", "path"],
    Field(
        description="callers, callees: calls with lines. implementers: types that implement an interface; for another "
        "type, the interfaces it implements. users: calls, references and embeddings. tests: tests that reach it. "
        "impact: everything a change may affect, step by step. path: how `symbol` comes to call `to`."
    ),
]
Symbol = Annotated[
    str,
    Field(
        description="As `go doc` prints it, or any unambiguous suffix: Save, Store.Save, store.Memory.Save, io.Reader."
    ),
]
Target = Annotated[str, Field(description="For path only: the function at its end.")]
Depth = Annotated[int, Field(ge=1, le=10, description="For impact only: number of steps to follow.")]


def register(server: MCPServer, repositories: Repositories) -> None:
    @server.tool(
        name="memory_graph",
        title="Callers, implementers, tests, impact",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_graph(
        question: Question,
        symbol: Symbol,
        to: Target = "",
        depth: Depth = 3,
        budget: Budget = DEFAULT_BUDGET,
        repository: RepositoryName = "",
    ) -> str:
        with reporting_failures(), repositories.opened(repository) as opened:
            reply = _reply(opened, question, symbol, to, depth)
            return agent_text(reply.with_tail(*staleness_lines(opened)), budget)


def _reply(opened: OpenServedRepository, question: str, symbol: str, to: str, depth: int) -> Reply:
    if question in ("path", "impact"):
        steps = open_steps(opened.store)
        reply = _search_reply(opened, steps, question, symbol, to, depth)
        opened.adjacency_job.consider(opened.store.directory, steps)
        return reply
    answer_to, kinds = _DIRECT_QUESTIONS[question]
    subject = only_meaning(opened.names, symbol, kinds)
    if question == "implementers" and subject.first.kind not in _IMPLEMENTING and not subject.first.external:
        raise UsageError(f"{subject.name} is a {subject.first.kind}. Ask for the implementers of a type or interface.")
    reply = answer_reply(answer_to(opened.store, subject), short_name)
    return reply.with_tail(*_unresolved_lines(opened.store, subject)) if question == "callees" else reply


def _search_reply(opened: OpenServedRepository, steps: Steps, question: str, symbol: str, to: str, depth: int) -> Reply:
    """The reply to a question over several steps."""
    if question == "impact":
        return impact_reply(
            impact.impact(opened.store, only_meaning(opened.names, symbol), depth, _MAX_REACHED, steps), short_name
        )
    if not to:
        raise UsageError("A path needs two functions. Give the one at its end as `to`.")
    source = only_meaning(opened.names, symbol, questions.CALLING)
    target = only_meaning(opened.names, to, questions.CALLABLE)
    return route_reply(impact.path(opened.store, source, target, _MAX_STEPS, steps), short_name)


def _unresolved_lines(store: Store, subject: Meaning) -> list[str]:
    """The unresolved uses in a declaration, one line each."""
    statement = "MATCH (u:Unresolved) WHERE u.source IN $ids RETURN u.name, u.file, u.sites, u.reason ORDER BY u.id"
    rows = [
        f"  {file}:{','.join(sites.split())}  {name}  {reason}"
        for name, file, sites, reason in store.rows(statement, {"ids": list(subject.ids)})
    ]
    more = [f"  … {len(rows) - _MAX_UNRESOLVED:,} more"] if len(rows) > _MAX_UNRESOLVED else []
    return ["Unresolved in it:", *rows[:_MAX_UNRESOLVED], *more] if rows else []
