"""Who asks: the grant of the token that the current request brought, and what is recorded about the request.

The gate sets it before anything of the server runs. Tools run in other tasks and threads, which get a copy of the
context. Without a caller nothing is permitted.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from golore.graph.errors import GoloreError
from golore.mcp_server.team.token_file import Grant


@dataclass(slots=True)
class Caller:
    """`tool` and `outcome` are filled in while the request is answered."""

    grant: Grant
    tool: str = ""
    outcome: str = ""


CALLER: ContextVar[Caller] = ContextVar("golore_team_caller")


def current_caller() -> Caller:
    caller = CALLER.get(None)
    if caller is None:
        raise GoloreError("Nobody is known to have asked this, so it is not answered.")
    return caller
