"""Limits how much more memory this process may allocate, while it reads what it does not trust. Only Linux enforces it.

The limit is on private memory (RLIMIT_DATA) and not on the address space, of which a database engine reserves a large
part.
"""

import os

from golore.graph.safety.system import NO_LIMIT, data_limit, set_data_limit


def set_memory_limit(more: int) -> int | None:
    """Let the process allocate at most `more` bytes of private memory from now on. Returns the limit before, for
    `restore_memory_limit`; None if there is no such limit on this system."""
    before = data_limit()
    try:
        with open("/proc/self/statm", "rb") as file:
            used = int(file.read().split()[5]) * os.sysconf("SC_PAGESIZE")
        set_data_limit(min(limit for limit in (used + more, *before) if limit != NO_LIMIT))
    except (OSError, ValueError, IndexError):
        return None
    return before[0]


def restore_memory_limit(before: int | None) -> None:
    if before is not None:
        set_data_limit(before)
