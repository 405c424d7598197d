"""The lines at the end of a reply that say that the graph is behind the files."""

from __future__ import annotations

from typing import Final

from golore.graph.phrases import counted, listed
from golore.mcp_server.server.open_repositories import OpenServedRepository

_MAX_NAMED: Final = 5


def staleness_lines(opened: OpenServedRepository) -> tuple[str, ...]:
    """Empty if the graph is up to date. Of a published store, what it describes."""
    if opened.published:
        return (opened.published,)
    lines: list[str] = []
    changes = opened.changes
    advice = (
        "A learn is running now." if opened.is_being_learned else "Call memory_learn to bring the graph up to date."
    )
    if opened.is_outdated:
        lines.append(f"An older golore made this graph. {advice}")
    if changes is None:
        lines.append("Cannot tell whether files changed since the last learn. Call memory_learn to be sure.")
    elif len(changes):
        count = counted(len(changes), "file")
        lines.append(
            f"Behind the files: {count} changed since the last learn ({listed(changes.paths, _MAX_NAMED)}). {advice}"
        )
    return tuple(lines)
