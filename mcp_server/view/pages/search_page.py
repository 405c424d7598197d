"""The search page, and the results that the search field shows while one types."""

from __future__ import annotations

from typing import Any, Final

from golore.graph.search.results.hits import Hit, Hits, SearchRequest
from golore.graph.search.search import search
from golore.mcp_server.services.search_sources import sources_of
from golore.mcp_server.text.search_text import location_of
from golore.mcp_server.view.rendering import Page
from golore.mcp_server.view.visit import Visit

_LIMIT: Final = 40
_QUICK: Final = 10


def search_page(visit: Visit, text: str) -> Page:
    found = _found(visit, text, _LIMIT)
    rows = [
        (hit, title_of(visit, hit), address_of(visit, hit), _place(visit, hit), _inner(visit, hit))
        for hit in found.hits
    ]
    values: dict[str, Any] = {
        "text": text,
        "rows": rows,
        "left_out": found.left_out,
        "suggestions": [(name, visit.links.symbol(name)) for name in found.suggestions],
    }
    return Page("search.html", f"Search: {text}" if text else "Search", values, "search")


def quick_results(visit: Visit, text: str) -> list[dict[str, str]]:
    """The first results: kind, title, place and address."""
    return [
        {"kind": hit.kind, "title": title_of(visit, hit), "place": location_of(hit), "address": address_of(visit, hit)}
        for hit in _found(visit, text, _QUICK).hits
    ]


def _found(visit: Visit, text: str, limit: int) -> Hits:
    if not text.strip():
        return Hits((), 0)
    with sources_of(visit.opened.repository, visit.store, may_update=not visit.opened.published) as sources:
        return search(sources, SearchRequest(text, limit=limit))


def title_of(visit: Visit, hit: Hit) -> str:
    if hit.kind in ("file", "package", "note", "doc", "summary"):
        return hit.name
    return visit.short_text(hit.name)


def address_of(visit: Visit, hit: Hit) -> str:
    links = visit.links
    if hit.kind == "file":
        return links.file(hit.file, hit.line)
    if hit.kind == "package":
        return links.map(hit.file.rstrip("/"))
    if hit.kind == "note":
        return links.page("knowledge")
    if hit.kind in ("doc", "summary"):
        return links.file(hit.file, hit.line) if hit.file else links.page("knowledge")
    return links.symbol(hit.name)


def _place(visit: Visit, hit: Hit) -> str:
    """Where it is; for a file, only the line: its title is the path."""
    return location_of(hit).removeprefix(title_of(visit, hit))


def _inner(visit: Visit, hit: Hit) -> list[tuple[str, str, str]]:
    """The declarations inside a file that fit: kind, name and address."""
    return [(one.kind, visit.short_text(one.name), visit.links.symbol(one.name)) for one in hit.symbols]
