"""Disables the cyclic garbage collector during bulk allocation."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Generator[None]:
    """Disable the collector for the block. For code that creates and keeps many small objects without cycles: scanning
    them again and again would free nothing. If blocks of several threads overlap, the first that ends enables it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
