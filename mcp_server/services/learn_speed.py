"""How long a first learn will take, from the bytes of Go code and the speed of the last first learn on this machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.files.atomic_write import replace_file
from golore.graph.safety.regular_file import read_regular
from golore.graph.safety.state_directory import create_state_directory, state_directory
from golore.learner import compiled

SPEED_NAME: Final = "learn-speed"
"""File in the state directory with the seconds per megabyte of the last learn that was large enough to measure."""
_START: Final = 1.0
"""Seconds that a learn takes whatever its size."""
_COMPILED: Final = 0.6
_PURE: Final = 2.5
"""Seconds per megabyte on two cores, for machines that have not learned yet: Prometheus took 8 s for 12 MB."""
_SMALLEST: Final = 1_000_000
"""Bytes below which a learn says little about the speed."""


def estimated_seconds(size: int) -> float:
    """The time to learn this many bytes of Go code for the first time."""
    return _START + size / 1e6 * (_measured() or (_COMPILED if compiled() else _PURE))


def record_speed(size: int, seconds: float) -> None:
    """Record how long a first learn took. Never fails."""
    if size >= _SMALLEST:
        with suppress(OSError):
            speed = max(seconds - _START, 0.01) / (size / 1e6)
            replace_file(Path(create_state_directory(), SPEED_NAME), f"{speed:.4f}\n".encode())


def _measured() -> float:
    with suppress(OSError, ValueError):
        speed = float(read_regular(Path(state_directory(), SPEED_NAME), 100))
        if 0 < speed < 1000:
            return speed
    return 0.0
