"""Writes the byte code of the modules that a hook loads: compiling them in every hook would double its time.

Python writes it at the first import, except with PYTHONDONTWRITEBYTECODE, as in many containers, or in a directory of
another user. So `golore learn` and `golore install` write it in advance.
"""

from __future__ import annotations

import contextlib
import os
import py_compile
from importlib.util import cache_from_source
from pathlib import Path

_LOADED_BY_HOOKS = (
    "__init__.py",
    "graph/__init__.py",
    "graph/cards/__init__.py",
    "graph/cards/card_store.py",
    "graph/files/__init__.py",
    "graph/safety/*.py",
    "graph/search/__init__.py",
    "graph/search/prompt_recall.py",
    "graph/search/terms.py",
    "mcp_server/__init__.py",
    "mcp_server/entry.py",
    "mcp_server/hooks/*.py",
)


def compile_ahead() -> int:
    """Compile the modules whose byte code is missing or old, and return how many. Modules that fail are skipped."""
    compiled = 0
    for source in hook_modules():
        with contextlib.suppress(OSError, py_compile.PyCompileError):
            target = Path(cache_from_source(os.fspath(source)))
            if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                py_compile.compile(os.fspath(source), doraise=True)
                compiled += 1
    return compiled


def hook_modules() -> list[Path]:
    """Source files of all modules that a hook may load."""
    root = Path(__file__).parents[2]  # of the package: an import of it would depend on all its public names
    return sorted(path for pattern in _LOADED_BY_HOOKS for path in root.glob(pattern))
