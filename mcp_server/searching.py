"""`golore search`: find symbols, packages and files by words."""

from __future__ import annotations

from pathlib import Path

from golore.graph.names import Names
from golore.graph.search import Hits, search
from golore.mcp_server.freshness import told_stale
from golore.mcp_server.output import columns, counted, print_json, print_lines
from golore.mcp_server.place import find_place
from golore.mcp_server.renewing import open_renewed


def run_search(words: list[str], start: Path, *, kind: str, limit: int, as_json: bool) -> int:
    place = find_place(start)
    with open_renewed(place) as store:
        stale = told_stale(place.root, store)
        found = search(store, Names(store), " ".join(words), kind=kind, limit=limit)
    if as_json:
        print_json({"results": found.hits, "left_out": found.left_out, "stale": stale})
    else:
        print_lines(_lines(found))
    return 0


def _lines(found: Hits) -> list[str]:
    if not found.hits:
        return ["Nothing found."]
    places = [f"{hit.file}:{hit.line}" if hit.line else hit.file for hit in found.hits]
    rows = [(hit.kind, where, hit.name, hit.snippet) for hit, where in zip(found.hits, places, strict=True)]
    more = [f"and {counted(found.left_out, 'weaker result')}: use --limit to see them"] if found.left_out else []
    return [*columns(rows, indent=0), *more]
