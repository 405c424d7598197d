"""Has the file made that long searches read (see `graph.queries.adjacency_builder`), by a process beside the server.

Only after a question that would have been quicker with it, so that a small repository never pays for one.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

from golore.graph.queries.adjacency_builder import start_mapping
from golore.graph.queries.symbol_steps import Steps

_AGAIN: Final = 60.0
"""Seconds before what failed is tried again: a writer may have come, or the directory may not be ours to write in."""


class AdjacencyJob:
    """Of one repository: at most one process at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def consider(self, directory: Path, steps: Steps) -> None:
        """After a search: start to make the file if it was missed."""
        if not steps.is_mapping_worth_it:
            return
        if self.process is not None:
            if self.process.poll() is None:
                return
            if self.process.returncode and time.monotonic() - self._started < _AGAIN:
                return
        self._started = time.monotonic()
        self.process = start_mapping(directory)

    def close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.terminate()  # nothing happens where it has ended by itself
            process.wait()
