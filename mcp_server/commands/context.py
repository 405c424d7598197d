"""`golore context`: prints the card of a file, a package, the repository or a symbol, and the related files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.target_context import ContextAnswer, context_of
from golore.mcp_server.text.output import print_answer, print_json

_SHOWN: Final = 10


def run_context(text: str, start: Path, *, as_json: bool, budget: int | None) -> int:
    path = Path(text)
    # An absolute path may be in another repository than `start`.
    inside = path if path.is_absolute() and path.exists() else start
    with open_repository(inside) as opened:
        context = context_of(opened, text, budget)
    if as_json:
        print_json(_document(context))
    else:
        print_answer(_lines(context))
    return 0


def _document(context: ContextAnswer) -> dict[str, Any]:
    return {
        "path": context.path,
        "kind": context.kind,
        "text": context.text,
        "related": [{"file": file, "why": why} for file, why in context.related],
        "stale": context.stale,
    }


def _lines(context: ContextAnswer) -> Iterator[str]:
    yield context.path or "the repository"
    if context.stale:
        yield "Changed since the last learn; lines may have moved. Run `golore learn` to update this."
    yield from (context.text or "There is nothing to add to its own text.").split("\n")
    if context.related:
        yield "Related:"
        yield from (f"- {file}: {why}" for file, why in context.related[:_SHOWN])
        if len(context.related) > _SHOWN:
            yield f"- {len(context.related) - _SHOWN} more: use --json to see them"
