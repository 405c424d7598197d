"""Byte code of what a hook loads, written ahead: compiling it anew would double the hook's time.

Python writes it by itself at the first run, but not where it is told not to (PYTHONDONTWRITEBYTECODE, as in many
containers) and not into a directory of another user. So those who prepare for hooks do it: a learn and an install.
"""

from __future__ import annotations

import contextlib
import os
import py_compile
from importlib.util import cache_from_source
from pathlib import Path

import golore

_LOADED = (
    "graph/__init__.py",
    "graph/cards/__init__.py",
    "graph/cards/card_store.py",
    "graph/search/__init__.py",
    "graph/search/prompt_recall.py",
    "graph/search/terms.py",
    "mcp_server/__init__.py",
    "mcp_server/entry.py",
    "mcp_server/hooks/*.py",
)


def compile_ahead() -> int:
    """How many modules had to be compiled; none where that is not possible."""
    compiled = 0
    for source in hook_modules():
        with contextlib.suppress(OSError, py_compile.PyCompileError):
            target = Path(cache_from_source(os.fspath(source)))
            if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                py_compile.compile(os.fspath(source), doraise=True)
                compiled += 1
    return compiled


def hook_modules() -> list[Path]:
    """The sources of all modules that a hook may load."""
    (root,) = golore.__path__
    return sorted(path for pattern in _LOADED for path in Path(root).glob(pattern))
