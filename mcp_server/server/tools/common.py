"""Shared by the tools: parameters, annotations, and error reporting."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Final

from golore.graph.errors import GoloreError
from golore.mcp_server.services.targets import UnclearName
from golore.mcp_server.text.replies import LARGEST, SMALLEST, agent_text, matches_reply
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import AfterValidator, Field


def within(least: int, most: int) -> AfterValidator:
    """Takes a number below or above these limits as the limit. Clients get no limits in the schema, and no error."""
    return AfterValidator(lambda number: min(max(number, least), most))


def _known_scope(text: str) -> str:
    """The schema does not list the values, which would cost an agent more tokens than a wrong one."""
    if text not in ("", "fleet"):
        raise ValueError("leave it empty, or write fleet")
    return text


RepositoryName = Annotated[str, Field(description="Name or path.")]
Scope = Annotated[str, AfterValidator(_known_scope), Field(description="fleet: the whole team.")]
Budget = Annotated[int, within(SMALLEST, LARGEST), Field(description="Most tokens.")]

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""The other hints are for tools that write."""
WRITES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


@contextmanager
def reporting_failures(*, can_learn: bool = True) -> Generator[None]:
    """Re-raise `GoloreError` and `OSError` as `ToolError`, so that the client sees the message. The SDK reports other
    exceptions without detail. `can_learn`: whether the server has `memory_learn`."""
    try:
        yield
    except UnclearName as unclear:
        advice: tuple[str, ...] = ()
        if not unclear.matches.meanings:
            advice = (f"Try memory_search{', or memory_learn if the code is new' if can_learn else ''}.",)
        raise ToolError(agent_text(matches_reply(unclear.matches).with_tail(*advice), LARGEST)) from unclear
    except sqlite3.Error as failure:
        more = " Call memory_learn to make it again." if can_learn else ""
        raise ToolError(f"The cache of the store cannot be read ({failure}).{more}") from failure
    except (GoloreError, OSError) as failure:
        raise ToolError(str(failure)) from failure
