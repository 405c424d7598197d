"""`memory_graph`: callers, callees, implementers, users, tests, impact, paths, and what a change affects."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from golore.graph.changes.affected import AffectedLimits
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.lake.fleet import Fleet
from golore.graph.queries.answers import Meaning
from golore.graph.queries.names.short_names import ShortNames
from golore.graph.queries.symbol_steps import Steps, open_steps
from golore.learner.changes.compared_files import Request
from golore.mcp_server.server.open_repositories import OpenServedRepository, RepositoryAccess
from golore.mcp_server.server.staleness import staleness_lines
from golore.mcp_server.server.tools.common import READS, Budget, RepositoryName, Scope, reporting_failures, within
from golore.mcp_server.services.change_effects import affected
from golore.mcp_server.services.fleet.fleet_asking import FLEET_QUESTIONS, ask_fleet
from golore.mcp_server.services.fleet.fleet_here import affected_elsewhere
from golore.mcp_server.services.name_questions import ask, ask_impact, ask_path
from golore.mcp_server.text.affected_text import affected_reply
from golore.mcp_server.text.fleet_text import fleet_reply, with_fleet
from golore.mcp_server.text.replies import (
    DEFAULT_BUDGET,
    Reply,
    agent_text,
    answer_reply,
    impact_reply,
    route_reply,
)
from mcp.server import MCPServer
from pydantic import Field

_DESCRIPTION: Final = """\
Call this instead of grep for who calls, uses, implements or tests a symbol, what a change may affect, and how A \
comes to call B. No callers and no unresolved uses means unused, except by reflection or function values."""
_MAX_REACHED: Final = 200
_MAX_STEPS: Final = 1_000
_MAX_UNRESOLVED: Final = 10
_NO_WORKING_TREE: Final = (
    "This server has published commits and no working tree, so it does not know your change. Ask `golore affected` in "
    "your checkout."
)

Question = Annotated[
    Literal["callers", "callees", "implementers", "users", "reads", "writes", "tests", "impact", "path", "affected"],
    Field(
        description="implementers: also the interfaces of a type. reads, writes: of a field. path: from symbol to `to`."
        " affected: symbol empty or A..B."
    ),
]
Symbol = Annotated[str, Field(description="Such as Save, store.Memory.Save.")]
Target = Annotated[str, Field(description="End of a path.")]
Depth = Annotated[int, within(1, 10), Field(description="Steps of impact.")]


def register(server: MCPServer, repositories: RepositoryAccess) -> None:
    @server.tool(
        name="memory_graph",
        title="Callers, tests, impact",
        description=_DESCRIPTION,
        annotations=READS,
        structured_output=False,
    )
    def memory_graph(
        question: Question,
        symbol: Symbol = "",
        to: Target = "",
        depth: Depth = 3,
        budget: Budget = DEFAULT_BUDGET,
        repository: RepositoryName = "",
        scope: Scope = "",
    ) -> str:
        with reporting_failures(can_learn=repositories.can_learn):
            if scope and not repository and repositories.needs_name:
                with repositories.fleet() as fleet:
                    return agent_text(_fleet_answer(None, fleet, question, symbol, to, depth), budget)
        with reporting_failures(can_learn=repositories.can_learn), repositories.opened(repository) as opened:
            if question == "affected" and opened.published:
                raise UsageError(_NO_WORKING_TREE)
            if scope:
                with repositories.fleet() as fleet:
                    reply = _fleet_reply(opened, fleet, question, symbol, to, depth)
            else:
                reply = _reply(opened, question, symbol, to, depth)
            return agent_text(reply.with_tail(*staleness_lines(opened)), budget)


def _reply(opened: OpenServedRepository, question: str, symbol: str, to: str, depth: int) -> Reply:
    if question == "affected":
        return _affected_reply(opened, symbol, depth)
    if not symbol:
        raise UsageError(f"Give the symbol whose {question} you ask for.")
    if question in ("path", "impact"):
        steps = open_steps(opened.store)
        reply = _search_reply(opened, steps, question, symbol, to, depth)
        opened.adjacency_job.consider(opened.store.directory, steps)
        return reply
    answer = ask(opened, question, symbol)
    reply = answer_reply(answer, ShortNames(opened.store))
    return reply.with_tail(*_unresolved_lines(opened.store, answer.subject)) if question == "callees" else reply


def _fleet_reply(opened: OpenServedRepository, fleet: Fleet, question: str, symbol: str, to: str, depth: int) -> Reply:
    """The reply about all repositories of the fleet."""
    if question == "affected":
        request = Request(revisions=symbol) if ".." in symbol else Request(base=symbol)
        root, store = opened.repository.root, opened.store
        found = affected(root, store, request, AffectedLimits(depth, _MAX_REACHED))
        elsewhere = affected_elsewhere(root, store, fleet, found, depth)
        return with_fleet(affected_reply(found, ShortNames(store)), elsewhere)
    return _fleet_answer(opened, fleet, question, symbol, to, depth)


def _fleet_answer(
    opened: OpenServedRepository | None, fleet: Fleet, question: str, symbol: str, to: str, depth: int
) -> Reply:
    if question not in FLEET_QUESTIONS or to:
        raise UsageError(f"With scope fleet, ask for {', '.join(FLEET_QUESTIONS)} or affected.")
    if not symbol:
        raise UsageError(f"Give the symbol whose {question} you ask for.")
    access = question if question in ("reads", "writes") else ""
    return fleet_reply(ask_fleet(fleet, "users" if access else question, symbol, opened, access=access, depth=depth))


def _search_reply(opened: OpenServedRepository, steps: Steps, question: str, symbol: str, to: str, depth: int) -> Reply:
    """The reply to a question over several steps."""
    if question == "impact":
        reached = ask_impact(opened, symbol, depth=depth, most=_MAX_REACHED, steps=steps)
        return impact_reply(reached, ShortNames(opened.store))
    if not to:
        raise UsageError("A path needs two functions. Give the one at its end as `to`.")
    return route_reply(ask_path(opened, symbol, to, most=_MAX_STEPS, steps=steps), ShortNames(opened.store))


def _affected_reply(opened: OpenServedRepository, revisions: str, depth: int) -> Reply:
    steps = open_steps(opened.store)
    request = Request(revisions=revisions) if ".." in revisions else Request(base=revisions)
    limits = AffectedLimits(depth, _MAX_REACHED)
    found = affected(opened.repository.root, opened.store, request, limits, steps=steps)
    opened.adjacency_job.consider(opened.store.directory, steps)
    return affected_reply(found, ShortNames(opened.store))


def _unresolved_lines(store: Store, subject: Meaning) -> list[str]:
    """The unresolved uses in a declaration, one line each."""
    statement = "MATCH (u:Unresolved) WHERE u.source IN $ids RETURN u.name, u.file, u.sites, u.reason ORDER BY u.id"
    rows = [
        f"  {file}:{','.join(sites.split())}  {name}  {reason}"
        for name, file, sites, reason in store.rows(statement, {"ids": list(subject.ids)})
    ]
    more = [f"  … {len(rows) - _MAX_UNRESOLVED:,} more"] if len(rows) > _MAX_UNRESOLVED else []
    return ["Unresolved in it:", *rows[:_MAX_UNRESOLVED], *more] if rows else []
