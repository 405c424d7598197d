"""Drafts in the background of a watch: a process of its own with the least priority, a few minutes at a time.

Only where the settings say so (`watch = true` in `[models]`). A server that is not there is tried again later, each
time after a longer pause; nothing is said of it, for nobody has asked.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Final

from golore.graph.errors import GoloreError
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.settings import model_settings

_MINUTES: Final = 5
_FIRST: Final = 10.0
"""Seconds of quiet before the first drafts."""
_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 3600.0
_RUN: Final = "import sys; from golore.mcp_server.cli.main import main; sys.exit(main(sys.argv[1:]))"


class BackgroundDrafts:
    """Call `look` now and then, and `stop` in the end."""

    def __init__(self, repository: LearnedRepository, *, first: float = _FIRST) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = _PAUSE
        self._due = time.monotonic() + first if _is_wanted(repository) else float("inf")

    @property
    def running(self) -> subprocess.Popen[bytes] | None:
        """The run that goes on, as far as the last look knows."""
        return self._process

    def look(self) -> None:
        """Start a run where one is due, and notice when one has ended."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            self._pause = _PAUSE if code == 0 else min(self._pause * 2, _LONGEST_PAUSE)
            self._due = time.monotonic() + self._pause
        if time.monotonic() >= self._due:
            options = ["summarize", "--background", "--minutes", str(_MINUTES), "--repo", str(self._repository.root)]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _RUN, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the run; what it has written is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _is_wanted(repository: LearnedRepository) -> bool:
    try:
        return model_settings(repository.store, {}).watch
    except GoloreError:
        return False
