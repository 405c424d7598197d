"""`golore search`: finds files, symbols, packages, notes and documents by name or by words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from golore.graph.phrases import counted
from golore.graph.search.results.hits import Hits, SearchRequest
from golore.graph.search.search import search
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.output import line_width, print_answer, print_json, shortened
from golore.mcp_server.text.search_text import explained, location_of, result_of


def run_search(request: SearchRequest, start: Path, *, as_json: bool) -> int:
    repository = find_repository(start)
    with open_current_store(repository) as store:
        stale = warn_if_stale(repository.root, store)
        with sources_of(repository, store) as sources:
            found = search(sources, request)
    if as_json:
        results = [result_of(hit) for hit in found.hits]
        document = {"results": results, "left_out": found.left_out, "suggestions": found.suggestions, "stale": stale}
        print_json(document)
    else:
        print_answer(_lines(found))
    return 0


def _lines(found: Hits) -> list[str]:
    if not found.hits:
        return ["Nothing found."]
    lines = list(_result_lines(found))
    if found.suggestions:
        lines.append(f"Perhaps meant: {', '.join(found.suggestions)}")
    if found.left_out:
        lines.append(f"and {counted(found.left_out, 'weaker result')}: use --limit to see them")
    return lines


def _result_lines(found: Hits) -> Iterator[str]:
    """A line for each result, and below it, as wide as the terminal, its snippet and the declarations that fit."""
    width = line_width()
    for hit in found.hits:
        name = "" if hit.kind in ("file", "doc") else f"  {hit.name.rpartition('/')[2]}"
        yield shortened(f"{hit.kind:<8}{location_of(hit)}{name}", width)
        if hit.snippet:
            yield shortened(f"        {hit.snippet}", width)
        for one in hit.symbols:
            if one.line != hit.line or hit.kind == "file":
                yield shortened(f"        {one.line}: {one.kind} {one.name.rpartition('/')[2]}", width)
        if hit.signals:
            yield f"        score {hit.score:.3f}: {explained(hit.signals)}"
