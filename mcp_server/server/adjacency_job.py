"""Builds the files that long searches read (see `graph.changes.program_builder`), in a separate process.

Only after a question that would have been faster with them, so that a small repository never pays for them.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

from golore.graph.changes.program_builder import start_program_build
from golore.graph.changes.program_file import open_program_file
from golore.graph.queries.symbol_steps import Steps

_RETRY_AFTER: Final = 60.0
"""Seconds before a failed build is tried again: a writer may have interrupted it, or the store is not writable."""


class AdjacencyJob:
    """Builds the files of one repository, in at most one process at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def consider(self, directory: Path, steps: Steps) -> None:
        """Start a build if the search would have been faster with the files, or with newer ones."""
        has_half = steps.adjacency is not None and open_program_file(directory, steps.adjacency.generation) is None
        if not steps.is_adjacency_worth_building and not has_half:
            return
        if self.process is not None:
            if self.process.poll() is None:
                return
            if self.process.returncode and time.monotonic() - self._started < _RETRY_AFTER:
                return
        self._started = time.monotonic()
        self.process = start_program_build(directory)

    def close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.terminate()  # has no effect on a process that has ended
            process.wait()
