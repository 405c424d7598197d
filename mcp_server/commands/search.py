"""`golore search`: finds files, symbols, packages, notes and documents by name or by words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from golore.graph.model.entities import SYMBOL_KINDS
from golore.graph.phrases import counted
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.graph.search.results.hits import Hits, SearchRequest
from golore.graph.search.search import search
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.services.stale_notice import warn_if_stale
from golore.mcp_server.text.output import line_width, print_answer, print_json, shortened
from golore.mcp_server.text.search_text import explained, location_of, result_of

_INDENT: Final = 10


def run_search(request: SearchRequest, start: Path, *, as_json: bool) -> int:
    repository = find_repository(start)
    with open_current_store(repository) as store:
        stale = warn_if_stale(repository.root, store)
        with sources_of(repository, store) as sources:
            found = search(sources, request)
        lines = [] if as_json else _lines(found, ShortNames(store))
    if as_json:
        results = [result_of(hit) for hit in found.hits]
        document = {"results": results, "left_out": found.left_out, "suggestions": found.suggestions, "stale": stale}
        print_json(document)
    else:
        print_answer(lines)
    return 0


def _lines(found: Hits, naming: Naming) -> list[str]:
    if not found.hits:
        return ["Nothing found."]
    lines = list(_result_lines(found, naming))
    if found.suggestions:
        lines.append(f"Perhaps meant: {', '.join(found.suggestions)}")
    if found.left_out:
        lines.append(f"and {counted(found.left_out, 'weaker result')}: use --limit to see them")
    return lines


def _result_lines(found: Hits, naming: Naming) -> Iterator[str]:
    """A line for each result, and below it, as wide as the terminal, its snippet and the declarations that fit."""
    width = line_width()
    for hit in found.hits:
        short = naming(hit.name) if hit.kind in SYMBOL_KINDS else hit.name.rpartition("/")[2]
        name = "" if hit.kind in ("file", "doc") else f"  {short}"
        yield shortened(f"{hit.kind:<{_INDENT}}{location_of(hit)}{name}", width)
        if hit.snippet:
            yield shortened(f"{'':{_INDENT}}{hit.snippet}", width)
        for one in hit.symbols:
            if one.line != hit.line or hit.kind == "file":
                yield shortened(f"{'':{_INDENT}}{one.line}: {one.kind} {naming(one.name)}", width)
        if hit.signals:
            yield f"{'':{_INDENT}}score {hit.score:.3f}: {explained(hit.signals)}"
