"""The layout of search results: the parts that the command line and the MCP tool share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from golore.graph.search.results.hits import Hit
from golore.mcp_server.text.output import to_json_value


def result_of(hit: Hit) -> dict[str, Any]:
    """A hit as a JSON object, without `symbols` or `signals` if they are empty."""
    document: dict[str, Any] = to_json_value(hit)
    for name in ("symbols", "signals"):
        if not document[name]:
            del document[name]
    return document


def explained(signals: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in signals.items())


def location_of(hit: Hit) -> str:
    return f"{hit.file}:{hit.line}" if hit.line and hit.file else hit.file
