"""Limits of requests for each token: how many in a second, and how many at once. Each process counts by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from golore.mcp_server.team.token_file import Grant

_BURST_SECONDS: Final = 3.0
"""A token may save up the requests of so many seconds."""
_MOST_KNOWN: Final = 10_000


@dataclass(slots=True)
class _Use:
    left: float
    at: float
    running: int = 0


class RequestLimits:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    def enter(self, grant: Grant) -> float:
        """Count a request that begins, and must be ended with `leave`. Returns 0. If it is refused, returns the seconds
        after which to try again, and counts nothing."""
        now = self._clock()
        most = grant.per_second * _BURST_SECONDS
        use = self._uses.get(grant.digest)
        if use is None:
            if len(self._uses) >= _MOST_KNOWN:
                self._uses = {digest: one for digest, one in self._uses.items() if one.running}
            use = self._uses[grant.digest] = _Use(most, now)
        use.left = min(most, use.left + (now - use.at) * grant.per_second)
        use.at = now
        if use.running >= grant.at_once:
            return 1.0
        if use.left < 1.0:
            return (1.0 - use.left) / grant.per_second
        use.left -= 1.0
        use.running += 1
        return 0.0

    def leave(self, grant: Grant) -> None:
        use = self._uses.get(grant.digest)
        if use is not None:
            use.running -= 1
