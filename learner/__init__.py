"""Learning: from a tree of Go files to the rows of the graph.

Holds the Go project model, discovery, extraction and resolution. Does not talk to people; that is `mcp_server`.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def compiled() -> bool:
    """Whether the hot modules run as C extensions, rather than as the Python they are written in.

    Python prefers an extension to the source beside it, so that being there is being used.
    """
    hot = (
        source.with_suffix(suffix) for source in Path(__file__).parent.rglob("*.py") for suffix in EXTENSION_SUFFIXES
    )
    return any(library.exists() for library in hot)
