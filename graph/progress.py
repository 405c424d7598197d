"""How long-running work reports how far it is."""

from __future__ import annotations

import time
from typing import Protocol


class Progress(Protocol):
    """`begin` says that this many files and bytes of Go code are learned for the first time. `stage` begins a stage of
    `total` units (0: unknown), `tick` reports units of it as done. `running` names the steps that run beside the stage;
    it is called from several threads."""

    def begin(self, files: int, size: int) -> None: ...

    def stage(self, name: str, total: int) -> None: ...

    def tick(self, units: int) -> None: ...

    def running(self, steps: tuple[str, ...]) -> None: ...


class NoProgress:
    """Reports nothing."""

    def begin(self, files: int, size: int) -> None:
        pass

    def stage(self, name: str, total: int) -> None:
        pass

    def tick(self, units: int) -> None:
        pass

    def running(self, steps: tuple[str, ...]) -> None:
        pass


class TimedStages:
    """Measures how long each stage takes, and passes everything on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._name = ""
        self._since = time.monotonic()
        self._seconds: dict[str, float] = {}

    def begin(self, files: int, size: int) -> None:
        self._progress.begin(files, size)

    def stage(self, name: str, total: int) -> None:
        self._end_stage()
        self._name = name
        self._progress.stage(name, total)

    def tick(self, units: int) -> None:
        self._progress.tick(units)

    def running(self, steps: tuple[str, ...]) -> None:
        self._progress.running(steps)

    def parts(self) -> tuple[tuple[str, float], ...]:
        """The stages in the order in which they began, with their seconds. The time before the first is left out."""
        self._end_stage()
        return tuple(self._seconds.items())

    def _end_stage(self) -> None:
        now = time.monotonic()
        if self._name:
            self._seconds[self._name] = self._seconds.get(self._name, 0.0) + now - self._since
        self._since = now
