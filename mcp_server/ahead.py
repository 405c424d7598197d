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

import golore.graph
import golore.mcp_server

_LOADED = {
    golore.mcp_server: (
        "__init__",
        "entry",
        "hook",
        "hooksettings",
        "mentions",
        "payloads",
        "relearning",
        "whereabouts",
    ),
    golore.graph: ("__init__", "deck"),
}


def compile_ahead() -> int:
    """How many modules had to be compiled; none where that is not possible."""
    compiled = 0
    for package, names in _LOADED.items():
        assert package.__file__ is not None
        for name in names:
            source = Path(package.__file__).with_name(f"{name}.py")
            with contextlib.suppress(OSError, py_compile.PyCompileError):
                target = Path(cache_from_source(os.fspath(source)))
                if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                    py_compile.compile(os.fspath(source), doraise=True)
                    compiled += 1
    return compiled
