"""What the tools have in common: parameters, hints about what a tool does, and how failures are told."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Final

from golore.graph.errors import GoloreError
from golore.graph.queries.answers import Meaning
from golore.graph.queries.name_resolver import Names
from golore.mcp_server.server.reply_text import LARGEST, SMALLEST, not_one_text
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

RepositoryName = Annotated[
    str, Field(description="Which repository, by name or path. Only needed where the server has several.")
]
Budget = Annotated[int, Field(ge=SMALLEST, le=LARGEST, description="About how many tokens the answer may have.")]

READS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


@contextmanager
def reporting_failures() -> Generator[None]:
    """Let the caller read what went wrong and what to do; of any other exception it would only learn that it was."""
    try:
        yield
    except (GoloreError, OSError) as failure:
        raise ToolError(str(failure)) from failure


def meant(names: Names, text: str, kinds: frozenset[str] = frozenset()) -> Meaning:
    """The one thing that a name means, or a failure that shows what it may mean."""
    found = names.find(text, kinds)
    if len(found.meanings) != 1:
        raise ToolError(not_one_text(found))
    return found.meanings[0]
