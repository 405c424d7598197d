"""Writes drafts while a watch runs, in a separate process of the lowest priority, a few minutes at a time.

Only if the settings ask for it (`watch = true` in `[models]`). After a run that failed, for example because the model's
server is not running, the pause before the next one doubles. Failures are not reported.
"""

from __future__ import annotations

import subprocess
import time
from typing import Final

from golore.graph.errors import GoloreError
from golore.graph.safety.child_processes import python_command
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.settings import model_settings

_MINUTES: Final = 5
_FIRST_PAUSE: Final = 10.0
"""Seconds before the first run."""
_PAUSE: Final = 60.0
_MAX_PAUSE: Final = 3600.0
_PROGRAM: Final = "import sys; from golore.mcp_server.cli.main import main; sys.exit(main(sys.argv[1:]))"


class BackgroundDrafts:
    """Runs `golore summarize` repeatedly. Call `look` periodically, and `stop` at the end."""

    def __init__(self, repository: LearnedRepository, *, first: float = _FIRST_PAUSE) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = _PAUSE
        self._due = time.monotonic() + first if _is_wanted(repository) else float("inf")

    @property
    def running(self) -> subprocess.Popen[bytes] | None:
        """The current run, as of the last call of `look`."""
        return self._process

    def look(self) -> None:
        """Start a run if one is due, and notice if one has ended."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            self._pause = _PAUSE if code == 0 else min(self._pause * 2, _MAX_PAUSE)
            self._due = time.monotonic() + self._pause
        if time.monotonic() >= self._due:
            options = ["summarize", "--background", "--minutes", str(_MINUTES), "--repo", str(self._repository.root)]
            self._process = subprocess.Popen(
                python_command("-c", _PROGRAM, *options),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Kill the current run. The drafts that it has written are kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _is_wanted(repository: LearnedRepository) -> bool:
    try:
        return model_settings(repository.store, {}).watch
    except GoloreError:
        return False
