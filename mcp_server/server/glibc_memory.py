"""How a process that stays treats the memory it has freed; only where the C library is glibc.

A question may take tens of megabytes for a moment. Left to itself, glibc keeps what threads have freed.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGE: Final = 1 << 20


def keep_memory_together() -> None:
    """Let threads share their memory, and let large pieces go back to the system when they are freed."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_ARENA_MAX, 2)
        set_option(_MMAP_THRESHOLD, _LARGE)


def give_memory_back() -> None:
    """Return to the system what is free."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
