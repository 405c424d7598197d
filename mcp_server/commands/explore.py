"""`golore explore`: prints the source that explains something, in one reply."""

from __future__ import annotations

import sys
from pathlib import Path

from golore.graph.errors import UsageError
from golore.graph.explore.explore import explore
from golore.graph.queries.symbol_steps import open_steps
from golore.mcp_server.services.open_store import open_repository
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.output import is_terminal, print_answer, print_json

_STANDARD_INPUT = "-"


def run_explore(words: list[str], start: Path, *, as_json: bool, budget: int) -> int:
    text = _read_input() if words == [_STANDARD_INPUT] else " ".join(words)
    with open_repository(start) as opened, sources_of(opened.repository, opened.store) as sources:
        warn_if_stale(opened.repository.root, opened.store)
        found = explore(sources, opened.names, open_steps(opened.store), opened.repository.root, text, budget)
    if as_json:
        print_json({"text": found.text, "parts": found.parts, "tokens": found.tokens})
    else:
        print_answer(found.text.split("\n"))
    return 0


def _read_input() -> str:
    if is_terminal(sys.stdin):
        raise UsageError("There is nothing on standard input. Pipe a stack trace into `golore explore -`.")
    return sys.stdin.read()
