"""glibc allocator settings for long-running processes; no effect with other C libraries.

A question may use tens of megabytes for a moment. By default, glibc keeps the memory that threads have freed.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGE_BLOCK: Final = 1 << 20


def limit_arenas() -> None:
    """Let threads share two arenas, and return large blocks to the system as soon as they are freed."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_ARENA_MAX, 2)
        set_option(_MMAP_THRESHOLD, _LARGE_BLOCK)


def trim_memory() -> None:
    """Collect garbage and return free memory to the system."""
    gc.collect()
    return_free_memory()


def return_free_memory() -> None:
    """Return free memory to the system. Takes up to 5 ms at 250 MB."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
