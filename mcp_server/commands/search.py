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
from golore.mcp_server.text.output import columns, print_json, print_lines
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
        print_lines(_lines(found))
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
    rows = [(hit.kind, location_of(hit), "" if hit.name == hit.file else hit.name, hit.snippet) for hit in found.hits]
    for hit, line in zip(found.hits, columns(rows, indent=0), strict=True):
        yield line
        for one in hit.symbols:
            if one.line != hit.line or hit.kind == "file":
                yield f"    {one.line}: {one.kind} {one.name.rpartition('/')[2]}"
        if hit.signals:
            yield f"    score {hit.score:.3f}: {explained(hit.signals)}"
