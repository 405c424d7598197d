"""Imports pyarrow without numpy, which pyarrow imports if it is installed, and which takes longer than pyarrow itself.

Nothing in golore uses the two together. What imports numpy later gets it as usual.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any


def import_arrow(*more: str) -> Any:
    """`pyarrow`, with these other modules of it. It has no type annotations."""
    # Another thread may be importing numpy.
    is_hidden = "numpy" not in sys.modules and threading.active_count() == 1
    if is_hidden:
        sys.modules["numpy"] = None  # pyright: ignore[reportArgumentType]  as Python marks what cannot be imported
    try:
        for name in ("pyarrow", *more):
            importlib.import_module(name)
    finally:
        if is_hidden:
            del sys.modules["numpy"]
    return sys.modules["pyarrow"]
