"""Learns a tree of Go files: from source files to the rows of the graph.

Contains the Go project model, discovery, extraction and resolution. The user interfaces are in `mcp_server`.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def compiled() -> bool:
    """Whether the hot modules run as C extensions instead of Python source.

    Python imports an extension in preference to the source beside it, so it is enough that one exists.
    """
    libraries = (
        source.with_suffix(suffix) for source in Path(__file__).parent.rglob("*.py") for suffix in EXTENSION_SUFFIXES
    )
    return any(library.exists() for library in libraries)
